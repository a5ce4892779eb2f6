"""What a names audit asks of single names, of few texts, and of more data.

**Single names**: which move the answers, against other names of the same country and gender in the same text. r_i is an
answer minus the median of its cell (its text, country and gender: a median, so that one large name does not move the
others), and the effect of a name is the mean of r over the answers that show it. It is tested whether the effect is
larger than `LARGE`, either way:

    t = (|effect| - LARGE) / s,    s the larger of two standard errors: over texts, and over permutations of r in cells

The largest |effect| / s of all names in each permutation, where no name matters, gives p-values that are adjusted for
all names (max-T, Westfall and Young 1993). A permutation keeps what differs between texts, countries and genders, and
how noisy each cell is. A name that stands in fewer than `FEWEST_TEXTS` texts is not tested.

**More data**: what would halve the smallest detectable difference, texts, draws or longer lists of names. The variance
of a country's difference from the mean of countries has three parts: texts / T for T texts, draws / (T D) for D draws
of each, and what texts share through names. The third stays however many texts and draws there are: a country has as
many names as its lists. A difference half as large needs a quarter of the variance.

**Few texts**: whether a mean rests on a few of them, so that its interval, by Student's t, is too short on one side.
With d_t the influence of text t on a mean and s² = sum of d_t², the skewness of the mean is sum of d_t³ / s³. To first
order (Hall 1992, Edgeworth) the share of intervals that miss on the long side is 2.5 % + 8.5 % * |skewness|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from geobias.measures.arrays import TextValues, divide
from geobias.measures.crossed_variance import CrossedVariance, VarianceParts
from geobias.measures.estimates import SIGNIFICANT

LARGE: Final = 5.0  # points
FEWEST_TEXTS: Final = 5
PERMUTATIONS, FEWEST_PERMUTATIONS = 199, 39
MOST_PERMUTED: Final = 200_000_000  # names of answers, over all permutations


@dataclass(frozen=True)
class NameEffects:
    """Names by their numbers in `NameUnits`; NaN where a name is not shown or not tested."""

    effect: np.ndarray
    standard_error: np.ndarray
    p_adjusted: np.ndarray
    answers: np.ndarray  # how many answers show the name
    texts: np.ndarray

    @property
    def is_tested(self) -> np.ndarray:
        return ~np.isnan(self.p_adjusted)

    @property
    def is_large(self) -> np.ndarray:
        """Whether the name moves answers by more than `LARGE`."""
        return np.nan_to_num(self.p_adjusted, nan=1.0) < SIGNIFICANT

    @property
    def share_of_large(self) -> float | None:
        """The share of the variance between names that comes from large ones; None without any variance."""
        excess = self.answers * (self.effect**2 - self.standard_error**2)
        total = float(excess[self.is_tested].sum())
        return min(float(excess[self.is_large].sum()) / total, 1.0) if total > 0 else None


def estimate_name_effects(
    design: CrossedVariance, values: TextValues, genders: np.ndarray, *, seed: int = 0
) -> NameEffects:
    """Effects of all names on values (texts x countries x draws); `genders` (texts x draws) are those of the names."""
    rng = np.random.default_rng(seed)
    entries = sum(len(block.answer) for block in design.blocks())
    permutations = int(np.clip(MOST_PERMUTED // max(entries, 1), FEWEST_PERMUTATIONS, PERMUTATIONS))
    names = int(design.cells.unit.max(initial=-1)) + 1
    sums = np.zeros((permutations + 1, names))  # first of the answers themselves
    answers, texts, squares, cross, counts = (np.zeros(names) for _ in range(5))
    for block in design.blocks():
        deviations, cells = _centre(values[block.texts], design.counted[block.texts], genders[block.texts])
        unit = design.cells.unit[block.cell]
        sums[0] += np.bincount(unit, deviations.ravel()[block.answer], names)
        answers += np.bincount(unit, minlength=names)
        text_of_entry = block.answer // (design.countries * design.shape[2])
        codes, position = np.unique(text_of_entry * names + unit, return_inverse=True)
        of_text, shown = np.bincount(position, deviations.ravel()[block.answer]), np.bincount(position)
        unit_of_text = codes % names
        texts += np.bincount(unit_of_text, minlength=names)
        squares += np.bincount(unit_of_text, of_text**2, names)
        cross += np.bincount(unit_of_text, of_text * shown, names)
        counts += np.bincount(unit_of_text, shown**2, names)
        for k in range(1, permutations + 1):
            sums[k] += np.bincount(unit, _rotate(deviations, cells, rng).ravel()[block.answer], names)
    is_tested = texts >= FEWEST_TEXTS
    with np.errstate(invalid="ignore", divide="ignore"):
        effects = sums / answers
        effect = effects[0]
        # The sum over texts of (sum of r - n * effect)².
        over_texts = (squares - 2 * effect * cross + effect**2 * counts) * texts / (texts - 1) / answers**2
    permuted = np.sqrt((effects[1:] ** 2).mean(axis=0))
    error = np.maximum(np.sqrt(np.maximum(over_texts, 0)), permuted)
    t = _divide(np.maximum(np.abs(effect) - LARGE, 0), error)
    largest = _divide(np.abs(effects[1:]), permuted)[:, is_tested].max(axis=1, initial=0)
    p = (1 + (largest[:, None] >= t[None, :]).sum(axis=0)) / (1 + permutations)
    return NameEffects(effect, error, np.where(is_tested, p, np.nan), answers, texts)


def _divide(numerator: np.ndarray, error: np.ndarray) -> np.ndarray:
    """0 / 0 is 0: a name that does nothing; more than nothing without any error is certain."""
    large = np.where(np.nan_to_num(numerator) > 0, np.inf, 0.0)
    return np.divide(np.nan_to_num(numerator), error, out=large, where=np.nan_to_num(error) > 0)


def _centre(values: np.ndarray, counted: np.ndarray, genders: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Values minus the median of their cell; and the cells: for each gender the texts x draws that it has."""
    centred, masks = np.zeros(values.shape), []
    for gender in np.unique(genders.astype(str)):
        mask = counted & (genders == gender)
        if not mask.any():
            continue
        of_cell = np.where(mask[:, None, :], values, np.nan)
        ordered, count = np.sort(of_cell, axis=-1), np.maximum(mask.sum(axis=1), 1)
        middle = [np.take_along_axis(ordered, each[:, None, None], axis=-1) for each in ((count - 1) // 2, count // 2)]
        centred = np.where(mask[:, None, :], values - (middle[0] + middle[1]) / 2, centred)
        masks.append(mask)
    return centred, masks


def _rotate(deviations: np.ndarray, masks: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Rotate the draws of every cell by a random number of places."""
    texts, countries, _ = deviations.shape
    rotated = np.zeros(deviations.shape)
    for mask in masks:
        order = np.argsort(~mask, axis=1, kind="stable")  # the draws of the cell come first
        count = mask.sum(axis=1)
        place = np.cumsum(mask, axis=1) - 1
        shift = (rng.random((texts, countries)) * np.maximum(count, 1)[:, None]).astype(int)
        source = (place[:, None, :] + shift[:, :, None]) % np.maximum(count, 1)[:, None, None]
        draw = np.take_along_axis(np.broadcast_to(order[:, None, :], deviations.shape), source, axis=-1)
        rotated = np.where(mask[:, None, :], np.take_along_axis(deviations, draw, axis=-1), rotated)
    return rotated


QUARTER: Final = 0.25
MOST_TIMES: Final = 25  # as many texts, draws or names: more is no advice


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


MOST_SKEWED: Final = 0.25  # twice as many miss on this side as should; chance gives it in 3 % at 20 texts


def skewness_of_mean(influence: np.ndarray) -> np.ndarray:
    """Of means with this influence of every text (texts x means); 0 where no text has any."""
    centred = influence - influence.mean(axis=0)
    return np.nan_to_num(divide((centred**3).sum(axis=0), (centred**2).sum(axis=0) ** 1.5))


def count_texts_of_half(contributions: np.ndarray) -> int:
    """How many texts, those that contribute most first, make up half of the sum."""
    total = contributions.sum()
    ordered = np.sort(contributions * np.sign(total))[::-1]
    return int(np.searchsorted(np.cumsum(ordered), abs(total) / 2) + 1) if total else 0
