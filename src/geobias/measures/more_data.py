"""What would halve the smallest detectable difference: more texts, more draws of each, or longer lists of names.

The variance of a country's difference from the mean of countries has three parts: texts / T for T texts, draws / (T D)
for D draws of each, and what texts share through names. The third stays however many texts and draws there are: a
country has as many names as its lists. A difference half as large needs a quarter of the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

QUARTER: Final = 0.25
MOST_TIMES: Final = 25  # as many texts, draws or names: more is no advice


class VarianceParts(NamedTuple):
    """The variance of a country's difference from the mean of countries, averaged over countries."""

    texts: float
    draws: float
    names: float

    @property
    def total(self) -> float:
        return self.texts + self.draws + self.names


@dataclass(frozen=True)
class HalfAsLarge:
    """What would find a difference half as large, all else equal; null where it cannot, or takes more than 25 times."""

    texts: int | None
    """Texts that name somebody."""
    draws: int | None
    """Renamed versions of each text."""
    times_names: float | None
    """How many times as many names in each list."""
    share_of_names: float
    """Of the variance of a country's difference, what stays however many texts and draws there are."""


def find_half_as_large(parts: VarianceParts, texts: int, draws: int) -> HalfAsLarge | None:
    """The number of texts, of draws, or of names that gives a quarter of the variance; None without any variance."""
    total = parts.total
    if not total:
        return None

    def solve(shrinking: float) -> float | None:
        """How many times as much of what this part of the variance shrinks with."""
        room = QUARTER * total - (total - shrinking)
        return shrinking / room if room > shrinking / MOST_TIMES else None

    times_texts, times_draws, times_names = solve(parts.texts + parts.draws), solve(parts.draws), solve(parts.names)
    return HalfAsLarge(
        texts=None if times_texts is None else math.ceil(times_texts * texts),
        draws=None if times_draws is None else math.ceil(times_draws * draws),
        times_names=times_names,
        share_of_names=parts.names / total,
    )
