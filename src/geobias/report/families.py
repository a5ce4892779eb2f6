"""Families: the effects of one model on one outcome, which are tested together, in the orders that reports need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from geobias.measures.estimates import SIGNIFICANT, Estimate, find_standing_out
from geobias.models.scorer import ModelIdentity
from geobias.report.page.charts import Valence
from geobias.report.rows import Effect
from geobias.world.countries import UN_STATES

Row = TypeVar("Row", bound=Effect)
COUNTRIES, CITIES = ("country", "countries"), ("city", "cities")


@dataclass(frozen=True)
class Family(Generic[Row]):
    """All places of one model, for one outcome."""

    model: ModelIdentity
    label: str
    effects: Sequence[Row]
    valence: Valence
    """What higher and lower mean, in words, and which is better for the person."""
    nouns: tuple[str, str] = COUNTRIES
    prefers_states: bool = False
    """Whether findings name territories only where no state stands out: unless the user chose the countries."""

    @cached_property
    def standing_out(self) -> list[Row]:
        return [effect for effect in self.effects if effect.stands_out]

    @cached_property
    def by_value(self) -> list[Row]:
        """From the highest to the lowest."""
        return sorted(self.effects, key=lambda effect: -effect.value)

    @cached_property
    def ranked(self) -> list[Row]:
        """Those to name in findings: what stands out by its size, then the others by their p-values."""
        effects = self.effects
        if self.prefers_states:
            states = [effect for effect in effects if effect.code in UN_STATES]
            if not self.standing_out or any(effect.stands_out for effect in states):
                effects = states or effects
        return sorted(effects, key=_rank)

    @property
    def first(self) -> Row:
        return self.ranked[0]

    def list_standing_out(self, sign: int) -> list[Row]:
        """Those above (1) or below (-1) that stand out, the farthest first."""
        return self.sort_by_size([effect for effect in self.standing_out if effect.value * sign > 0])

    def sort_by_size(self, effects: Sequence[Row]) -> list[Row]:
        """The farthest first; states before territories."""
        return sorted(
            effects, key=lambda effect: (self.prefers_states and effect.code not in UN_STATES, -abs(effect.value))
        )

    def count(self, number: int) -> str:
        """ "17 countries"."""
        return f"{number:,} {self.nouns[number != 1]}"

    @property
    def tested(self) -> str:
        return self.count(len(self.effects))


def _rank(effect: Effect) -> tuple[float, float]:
    if effect.stands_out:
        return 0.0, -abs(effect.value)
    return (1.0 if effect.p_adjusted is None else effect.p_adjusted), -abs(effect.value)


def find_mirrors(deviations: Sequence[Estimate]) -> dict[int, int]:
    """Which clear deviations from a common mean may only mirror another one: its position, by their positions.

    Deviations from a mean sum to 0, so a place far on one side moves all others to the other side of it
    (`find_standing_out`). The reason is the farthest place on the other side that stands out by itself, or the farthest
    of all where none is there.

    One rule for all audits: such a place does not stand out, its evidence is at most suggestive and its row names the
    other place; but it keeps the p-value of its test. That it differs from the mean is measured, and only the reason is
    in doubt, so that a p of 1 ("no difference") would be false in tables, frames and gates.
    """
    is_found = find_standing_out(deviations)
    found = [k for k, stands_out in enumerate(is_found) if stands_out]
    mirrors = {}
    for k, each in enumerate(deviations):
        if each.p_adjusted is not None and each.p_adjusted < SIGNIFICANT and not is_found[k]:
            opposite = [i for i in found if (deviations[i].value or 0) * (each.value or 0) < 0]
            mirrors[k] = max(opposite or found, key=lambda i: abs(deviations[i].value or 0))
    return mirrors
