"""Two runs on the same units: how their measures differ, and how far that would move with other texts, names or words.

A deviation is a sum of influences: a unit drawn w times instead of once moves a measure by (w - 1) times its influence.
Both runs take the same draws, so what they have in common drops out of their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from geobias.measures.bootstrap import bootstrap_means
from geobias.measures.change import predict_classes, tone_difference
from geobias.measures.estimates import Estimates, benjamini_hochberg, bootstrap_estimates, bootstrap_p_values
from geobias.measures.names_bootstrap import NamesBootstrap, NameUnits, raise_to_mean_variance
from geobias.measures.region_intervals import template_influence
from geobias.measures.word_jackknife import jackknife_words

FEWEST_TEXTS = 5  # texts of a class in each run: by how much fewer of them change tells nothing
ORIGINALS, MEAN = "originals", "mean of countries"
MeasureKey = tuple[str, str]  # what is measured, and against what


@dataclass(frozen=True)
class PairedDifference:
    """A measure in both runs, and the second minus the first."""

    first: np.ndarray
    second: np.ndarray
    difference: Estimates


def stack_as_family(parts: Sequence[PairedDifference]) -> PairedDifference:
    """Several parts of one measure as one, whose p-values are corrected together."""

    def stacked(name: str) -> np.ndarray:
        return np.stack([getattr(part.difference, name) for part in parts])

    p = stacked("p")
    together = Estimates(stacked("value"), stacked("low"), stacked("high"), p, benjamini_hochberg(p))
    first, second = np.stack([part.first for part in parts]), np.stack([part.second for part in parts])
    return PairedDifference(first, second, together)


@dataclass(frozen=True)
class NamesAnswers:
    """What a classifier said: of each text as it was, and of its versions by country and draw."""

    original: np.ndarray = field(repr=False)  # texts x classes
    versions: np.ndarray = field(repr=False)  # texts x countries x draws x classes


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
    """Delta (countries) and change of every class (classes x countries), against the originals and against the mean.

    Class by class, since the deviations of all of them at once would take much memory.
    """
    shape = first.versions.shape[:3]
    everything = np.ones((shape[0], shape[2]), dtype=bool)
    resampling = NamesBootstrap(names, shape, everything, seed=seed, names_fixed=names_fixed)
    found: dict[MeasureKey, PairedDifference] = {}
    if positive and negative:
        moved = [100 * tone_difference(run.original, run.versions, positive, negative) for run in (first, second)]
        value = np.stack([of_run.mean(axis=(0, 2)) for of_run in moved])
        from_mean = value - value.mean(axis=1, keepdims=True)
        each = np.eye(shape[1])
        off = resampling.deviations([[(moved[1] - moved[0], combine)] for combine in (each, each - 1 / shape[1])])
        found["delta", ORIGINALS] = _paired_difference(value, off[0], resampling)
        found["delta", MEAN] = _paired_difference(from_mean, off[1], resampling)
    said = [[predict_classes(p, threshold) for p in (run.original, run.versions)] for run in (first, second)]
    by_class = [
        _class_change_differences([(was[..., k], share[..., k].astype(float)) for was, share in said], resampling)
        for k in range(first.versions.shape[3])
    ]
    return found | {
        ("change", against): stack_as_family([pairs[against] for pairs in by_class]) for against in (ORIGINALS, MEAN)
    }


def _class_change_differences(
    runs: Sequence[tuple[np.ndarray, np.ndarray]], resampling: NamesBootstrap
) -> dict[str, PairedDifference]:
    """Of predictions (0 or 1) of texts and of their versions: per cent more of them than before, or than in the mean of
    countries. A class that hardly any text has in one of the runs has no difference."""
    before = _nan_where_zero(np.array([was.mean() for was, _ in runs]))[:, None]
    after = np.stack([share.mean(axis=(0, 2)) for _, share in runs])
    mean = _nan_where_zero(after.mean(axis=1, keepdims=True))
    enough = [
        min(was.sum() for was, _ in runs) >= FEWEST_TEXTS,
        min(share.any(axis=2).sum(axis=0).mean() for _, share in runs) >= FEWEST_TEXTS,
    ]
    of_runs = [
        [resampling.change(share, was) for was, share in runs],
        [resampling.change_from_mean(share) for _, share in runs],
    ]
    measures = [[(-first, of_first), (second, of_second)] for (first, of_first), (second, of_second) in of_runs]
    rng = np.random.default_rng(resampling.seed + 3)
    off = [raise_to_mean_variance(deviations, rng) for deviations in resampling.deviations(measures)]
    return {
        ORIGINALS: _paired_difference(100 * (after / before - 1), off[0], resampling, told=enough[0]),
        MEAN: _paired_difference(100 * (after / mean - 1), off[1], resampling, told=enough[1]),
    }


def _nan_where_zero(whole: np.ndarray) -> np.ndarray:
    """Nothing can be told in shares of nothing."""
    return np.where(whole == 0, np.nan, whole)


def _paired_difference(
    value: np.ndarray, off: np.ndarray, resampling: NamesBootstrap, *, told: bool = True
) -> PairedDifference:
    """`off` says how far off the difference would lie. Where nothing can be told of it, there is none, though there are
    two values."""
    difference = value[1] - value[0] if told else np.full(value[0].shape, np.nan)
    if not resampling.is_known:
        return PairedDifference(value[0], value[1], Estimates.unknown(difference))
    return PairedDifference(
        value[0], value[1], bootstrap_estimates(difference, off, bootstrap_p_values(difference, off, resampling.drawn))
    )


def text_differences(first: np.ndarray, second: np.ndarray, *, seed: int = 0) -> PairedDifference:
    """Means over texts (texts x columns each), and how their difference moves with other texts."""
    return PairedDifference(first.mean(axis=0), second.mean(axis=0), bootstrap_means(second - first, seed=seed))


def word_differences(measure: Callable[[np.ndarray], np.ndarray], words: int) -> PairedDifference:
    """A measure of both runs (templates x 2 x regions) of some of the words, given by their positions."""

    def difference(runs: np.ndarray) -> np.ndarray:
        return runs[..., 1, :] - runs[..., 0, :]

    by_template = measure(np.arange(words))
    found = jackknife_words(lambda some: measure(some).mean(axis=0), words)
    templates = template_influence(difference(by_template))
    return PairedDifference(found.value[0], found.value[1], found.linear(difference).differences(templates))
