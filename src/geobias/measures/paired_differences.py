"""Differences between two runs on the same texts, names or words, with intervals and tests.

Deviations are linear in the units: a unit drawn w times instead of once moves a measure by (w - 1) times its influence.
Both runs use the same resamples, so what they have in common cancels in their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from geobias.measures.bootstrap import bootstrap_means
from geobias.measures.change import predict_classes, tone_difference
from geobias.measures.estimates import Estimates, benjamini_hochberg, bootstrap_estimates, bootstrap_p_values
from geobias.measures.names_bootstrap import NamesBootstrap, NameUnits, raise_to_mean_variance
from geobias.measures.region_intervals import template_influence
from geobias.measures.word_jackknife import jackknife_words

FEWEST_TEXTS = 5  # texts of a class in each run below which a change in per cent is not compared


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
    seed: int = 0,
) -> dict[MeasureKey, PairedDifference]:
    """Differences of Delta (countries) and of the change of every class (classes x countries), against both references.

    Class by class: the deviations of all classes at once would take too much memory.
    """
    texts, countries, draws, classes = first.versions.shape
    counted = np.ones((texts, draws), dtype=bool)
    bootstrap = NamesBootstrap(names, (texts, countries, draws), counted, seed=seed, names_fixed=names_fixed)
    differences: dict[MeasureKey, PairedDifference] = {}
    if positive and negative:
        tones = [100 * tone_difference(run.original, run.versions, positive, negative) for run in (first, second)]
        value = np.stack([tone.mean(axis=(0, 2)) for tone in tones])
        from_mean = value - value.mean(axis=1, keepdims=True)
        identity = np.eye(countries)
        deviations = bootstrap.deviations(
            [[(tones[1] - tones[0], coefficients)] for coefficients in (identity, identity - 1 / countries)]
        )
        differences[MeasureKey("delta", ORIGINALS)] = _paired_difference(value, deviations[0], bootstrap)
        differences[MeasureKey("delta", MEAN)] = _paired_difference(from_mean, deviations[1], bootstrap)
    predictions = [
        (predict_classes(run.original, threshold), predict_classes(run.versions, threshold)) for run in (first, second)
    ]
    by_class = [
        _class_change_differences(
            [(before[..., k], after[..., k].astype(float)) for before, after in predictions], bootstrap
        )
        for k in range(classes)
    ]
    against_originals, against_mean = zip(*by_class, strict=True)
    differences[MeasureKey("change", ORIGINALS)] = stack_as_family(against_originals)
    differences[MeasureKey("change", MEAN)] = stack_as_family(against_mean)
    return differences


def _class_change_differences(
    runs: Sequence[tuple[np.ndarray, np.ndarray]], bootstrap: NamesBootstrap
) -> tuple[PairedDifference, PairedDifference]:
    """Differences of a class's change in per cent, against the original texts and against the mean of countries.

    Each run is its predictions (0 or 1) of the original texts and of their versions. A class that fewer than
    `FEWEST_TEXTS` texts have in one of the runs has no difference.
    """
    before = _nan_where_zero(np.array([original.mean() for original, _ in runs]))[:, None]
    after = np.stack([versions.mean(axis=(0, 2)) for _, versions in runs])
    mean = _nan_where_zero(after.mean(axis=1, keepdims=True))
    texts_before = min(original.sum() for original, _ in runs)
    texts_after = min(versions.any(axis=2).sum(axis=0).mean() for _, versions in runs)
    terms_by_reference = [
        [bootstrap.linearize_change(versions, original) for original, versions in runs],
        [bootstrap.linearize_change_from_mean(versions) for _, versions in runs],
    ]
    measures = [
        [(-first, first_coefficients), (second, second_coefficients)]
        for (first, first_coefficients), (second, second_coefficients) in terms_by_reference
    ]
    rng = np.random.default_rng(bootstrap.seed + 3)
    against_originals, against_mean = (
        raise_to_mean_variance(deviations, rng) for deviations in bootstrap.deviations(measures)
    )
    return (
        _paired_difference(
            100 * (after / before - 1), against_originals, bootstrap, is_estimable=texts_before >= FEWEST_TEXTS
        ),
        _paired_difference(100 * (after / mean - 1), against_mean, bootstrap, is_estimable=texts_after >= FEWEST_TEXTS),
    )


def _nan_where_zero(denominator: np.ndarray) -> np.ndarray:
    return np.where(denominator == 0, np.nan, denominator)


def _paired_difference(
    value: np.ndarray, deviations: np.ndarray, bootstrap: NamesBootstrap, *, is_estimable: bool = True
) -> PairedDifference:
    """Both runs' values (runs x countries) and their difference, with its deviations; NaN if it is not estimable."""
    difference = value[1] - value[0] if is_estimable else np.full(value[0].shape, np.nan)
    if bootstrap.is_estimable:
        p = bootstrap_p_values(difference, deviations, bootstrap.unit_count)
        return PairedDifference(value[0], value[1], bootstrap_estimates(difference, deviations, p))
    return PairedDifference(value[0], value[1], Estimates.unknown(difference))


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
