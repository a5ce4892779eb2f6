"""Differences between two runs on the same texts, names or words, with intervals and tests.

What both runs have in common (the effect of a text, or of a name) cancels in their difference.

The same for two means of one run over different answers to its texts, such as women's and men's (`subtract_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from geobias.measures.arrays import divide
from geobias.measures.change import predict_classes, tone_difference
from geobias.measures.crossed_variance import (
    FEWEST_EFFECTIVE_TEXTS,
    CrossedVariance,
    LinearMeasure,
    NameUnits,
    effective_count,
)
from geobias.measures.estimates import Estimates, benjamini_hochberg, bootstrap_means, satterthwaite_df
from geobias.measures.name_blocks import ValueSums
from geobias.measures.uncertainty import ROUNDING, Family, Uncertainty
from geobias.measures.word_jackknife import jackknife_words, template_influence

FEWEST_WITH_CLASS = 5  # texts of a class in each run below which a change in per cent is not compared


class MeasureKey(NamedTuple):
    """What is measured, and against which reference."""

    measure: str
    reference: str


ORIGINALS, MEAN = "originals", "mean of countries"


@dataclass(frozen=True)
class PairedDifference:
    """A measure in both runs, and the second minus the first."""

    first: np.ndarray
    second: np.ndarray
    difference: Estimates

    def part(self, index: int) -> PairedDifference:
        """The difference at a position of the first axis."""
        return PairedDifference(self.first[index], self.second[index], self.difference.part(index))


@dataclass(frozen=True)
class NamesAnswers:
    """A classifier's probabilities of the original texts, and of their versions by country and draw."""

    original: np.ndarray = field(repr=False)  # texts x classes
    versions: np.ndarray = field(repr=False)  # texts x countries x draws x classes


def stack_as_family(parts: Sequence[PairedDifference]) -> PairedDifference:
    """Stack several parts of one measure, and adjust their p-values as one family."""
    value, low, high, p = (
        np.stack([getattr(part.difference, name) for part in parts]) for name in ("value", "low", "high", "p")
    )
    first, second = np.stack([part.first for part in parts]), np.stack([part.second for part in parts])
    return PairedDifference(first, second, Estimates(value, low, high, p, benjamini_hochberg(p)))


def names_differences(
    first: NamesAnswers,
    second: NamesAnswers,
    names: NameUnits,
    *,
    positive: list[int],
    negative: list[int],
    threshold: float | None,
    names_fixed: bool = False,
) -> dict[MeasureKey, PairedDifference]:
    """Differences of Delta (countries) and of the change of every class (classes x countries), against both references.

    Both runs show the same names in the same texts: their answers are subtracted one by one.
    """
    texts, countries, draws, classes = first.versions.shape
    design = CrossedVariance(
        names, (texts, countries, draws), np.ones((texts, draws), dtype=bool), names_fixed=names_fixed
    )
    differences: dict[MeasureKey, PairedDifference] = {}
    if positive and negative:
        differences = delta_differences(first, second, design, positive=positive, negative=negative)
    predictions = [
        (predict_classes(run.original, threshold), predict_classes(run.versions, threshold).astype(float))
        for run in (first, second)
    ]
    by_class = [
        _class_changes([(before[..., k], after[..., k]) for before, after in predictions], design)
        for k in range(classes)
    ]
    for reference in (ORIGINALS, MEAN):
        pairs = [changes[reference] for changes in by_class]
        differences[MeasureKey("change", reference)] = _compare_family(pairs, design)
    return differences


def delta_differences(
    first: NamesAnswers, second: NamesAnswers, design: CrossedVariance, *, positive: list[int], negative: list[int]
) -> dict[MeasureKey, PairedDifference]:
    """Differences of Delta (countries), against both references."""
    countries = design.countries
    tones = [100 * tone_difference(run.original, run.versions, positive, negative) for run in (first, second)]
    values = np.stack([tone.mean(axis=(0, 2)) for tone in tones])
    differences = {}
    for reference, coefficients in ((ORIGINALS, np.eye(countries)), (MEAN, np.eye(countries) - 1 / countries)):
        measures = [LinearMeasure(tone, coefficients) for tone in tones]
        difference = _compare_family([RunPair(values @ coefficients.T, measures)], design)
        differences[MeasureKey("delta", reference)] = difference.part(0)
    return differences


class RunPair(NamedTuple):
    """A measure in two runs (runs x countries), and as a linear measure of each."""

    values: np.ndarray
    measures: Sequence[LinearMeasure]
    is_estimable: bool = True


def _class_changes(runs: Sequence[tuple[np.ndarray, np.ndarray]], design: CrossedVariance) -> dict[str, RunPair]:
    """A class's change in per cent, by reference.

    Each run is its predictions (0 or 1) of the original texts and of their versions. A class that fewer than
    `FEWEST_WITH_CLASS` texts have in one of the runs has no difference.
    """
    before = np.array([original.mean() for original, _ in runs])[:, None]
    after = np.stack([versions.mean(axis=(0, 2)) for _, versions in runs])
    mean = after.mean(axis=1, keepdims=True)
    texts_before = min(original.sum() for original, _ in runs)
    texts_after = min(versions.any(axis=2).sum(axis=0).mean() for _, versions in runs)
    return {
        ORIGINALS: RunPair(
            100 * divide(after - before, before),
            [design.linearize_change(versions, original) for original, versions in runs],
            is_estimable=bool(texts_before >= FEWEST_WITH_CLASS),
        ),
        MEAN: RunPair(
            100 * divide(after - mean, mean),
            [design.linearize_change_from_mean(versions) for _, versions in runs],
            is_estimable=bool(texts_after >= FEWEST_WITH_CLASS),
        ),
    }


def _difference_uncertainty(pair: RunPair, design: CrossedVariance) -> Uncertainty:
    """Of the second run minus the first.

    Coefficients differ between runs by how far a country's share of predictions is from the mean of countries. Texts
    enter with those of each run; names with their mean, since the same name has one effect on the difference.
    """
    first, second = pair.measures
    coefficients = (first.coefficients + second.coefficients) / 2
    assert isinstance(first.values, np.ndarray) and isinstance(second.values, np.ndarray)
    difference = LinearMeasure(second.values - first.values, coefficients)
    if not design.reacts_enough(difference):
        return Uncertainty.unknown(len(coefficients))
    first_influence, second_influence = (design.text_influence(m.values) @ m.coefficients.T for m in (first, second))
    name_covariance = None
    if not design.names_fixed:
        name_covariance = coefficients @ design.name_covariance(difference.values) @ coefficients.T
    return design.combine(second_influence - first_influence, name_covariance, design.names_by_country)


def _compare_family(pairs: Sequence[RunPair], design: CrossedVariance) -> PairedDifference:
    """Both runs' values (pairs x countries), and their differences, adjusted together."""
    first, second = np.stack([pair.values for pair in pairs], axis=1)
    is_estimable = np.array([pair.is_estimable for pair in pairs])[:, None]
    differences = np.where(is_estimable, second - first, np.nan)
    if not design.is_estimable:
        return PairedDifference(first, second, Estimates.unknown(differences))
    family = Family(list(differences), [_difference_uncertainty(pair, design) for pair in pairs])
    return PairedDifference(first, second, family.all_estimates())


def text_differences(first: np.ndarray, second: np.ndarray, *, seed: int = 0) -> PairedDifference:
    """Means over texts (texts x columns) of both runs; the interval of the difference is over texts."""
    return PairedDifference(first.mean(axis=0), second.mean(axis=0), bootstrap_means(second - first, seed=seed))


def word_differences(measure: Callable[[np.ndarray], np.ndarray], words: int) -> PairedDifference:
    """A measure of both runs (templates x 2 x regions) on the words at given positions; the interval is over words."""

    def subtract_runs(values: np.ndarray) -> np.ndarray:
        return values[..., 1, :] - values[..., 0, :]

    by_template = measure(np.arange(words))
    jackknife = jackknife_words(lambda positions: measure(positions).mean(axis=0), words)
    influence = template_influence(subtract_runs(by_template))
    difference = jackknife.transform(subtract_runs).estimate_differences(influence)
    return PairedDifference(jackknife.value[0], jackknife.value[1], difference)


class CountedMean(NamedTuple):
    """Means of countries over the answers that a design counts, and what is made of them."""

    design: CrossedVariance
    values: ValueSums
    coefficients: np.ndarray  # measures x countries

    @property
    def value(self) -> np.ndarray:
        return np.asarray(self.coefficients @ self.design.means(self.values))


def subtract_means(first: CountedMean, second: CountedMean) -> tuple[np.ndarray, Uncertainty]:
    """first - second, with its uncertainty: unknown where either part cannot be estimated or too few texts react.

    Texts are shared, so a text's influence is the difference of its influences on both means. Names add the variance of
    both: last names that both show would cancel in part, so this is conservative.
    """
    value = first.value - second.value
    if not (first.design.is_estimable and second.design.is_estimable):
        return value, Uncertainty.unknown(len(value))
    parts = [each.design.text_influence(each.values) @ each.coefficients.T for each in (first, second)]
    influence = parts[0] - parts[1]
    by_text = (influence**2).sum(axis=1)
    if (by_text >= ROUNDING**2).any() and effective_count(by_text) < FEWEST_EFFECTIVE_TEXTS:
        return value, Uncertainty.unknown(len(value))
    covariance = influence.T @ influence
    variances: list[tuple[np.ndarray, np.ndarray | float]] = []  # with their degrees of freedom
    for each, part in zip((first, second), parts, strict=True):
        variances.append(((part**2).sum(axis=0), each.design.text_count - 1.0))
        if not each.design.names_fixed:
            of_names = each.coefficients @ each.design.name_covariance(each.values) @ each.coefficients.T
            np.fill_diagonal(of_names, np.maximum(np.diag(of_names), 0))
            covariance = covariance + of_names
            names = each.design.names_by_country[np.abs(each.coefficients).argmax(axis=1)]
            variances.append((np.diag(of_names), np.maximum(names - each.design.kinds, 1)))
    total = np.sum([variance for variance, _ in variances], axis=0)
    squares_over_df = np.sum([variance**2 / df for variance, df in variances], axis=0)
    fewest = min(first.design.text_count, second.design.text_count) - 1
    return value, Uncertainty(covariance, satterthwaite_df(total, squares_over_df, fewest))
