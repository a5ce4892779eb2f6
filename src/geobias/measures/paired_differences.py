"""Two runs on the same units: how their measures differ, and how far that would move with other texts, names or words.

A deviation is a sum of influences: a unit drawn w times instead of once moves a measure by (w - 1) times its influence.
Both runs take the same draws, so what they have in common drops out of their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from geobias.measures.change import predicted, tone_difference
from geobias.measures.estimates import Estimates, benjamini_hochberg, estimates, inverted
from geobias.measures.names_resampling import NameUnits, Resampling, none_surer
from geobias.measures.region_intervals import template_influence
from geobias.measures.text_resampling import text_estimates
from geobias.measures.word_influence import word_influence

FEWEST = 5  # texts of a class in each run: by how much fewer of them change tells nothing
ORIGINALS, MEAN = "originals", "mean of countries"
Measure = tuple[str, str]  # what is measured, and against what


@dataclass(frozen=True)
class Paired:
    """A measure in both runs, and the second minus the first."""

    first: np.ndarray
    second: np.ndarray
    difference: Estimates


def one_family(parts: Sequence[Paired]) -> Paired:
    """Several parts of one measure as one, whose p-values are corrected together."""

    def stacked(name: str) -> np.ndarray:
        return np.stack([getattr(part.difference, name) for part in parts])

    p = stacked("p")
    together = Estimates(stacked("value"), stacked("low"), stacked("high"), p, benjamini_hochberg(p))
    first, second = np.stack([part.first for part in parts]), np.stack([part.second for part in parts])
    return Paired(first, second, together)


@dataclass(frozen=True)
class Renamed:
    """What a classifier said: of each text as it was, and of its versions by country and draw."""

    original: np.ndarray = field(repr=False)  # texts x classes
    versions: np.ndarray = field(repr=False)  # texts x countries x draws x classes


def names_differences(
    first: Renamed,
    second: Renamed,
    names: NameUnits,
    *,
    positive: list[int],
    negative: list[int],
    threshold: float | None,
    names_fixed: bool = False,
    seed: int = 0,
) -> dict[Measure, Paired]:
    """Delta (countries) and change of every class (classes x countries), against the originals and against the mean.

    Class by class, since the deviations of all of them at once would take much memory.
    """
    shape = first.versions.shape[:3]
    everything = np.ones((shape[0], shape[2]), dtype=bool)
    resampling = Resampling(names, shape, everything, seed=seed, names_fixed=names_fixed)
    found: dict[Measure, Paired] = {}
    if positive and negative:
        moved = [100 * tone_difference(run.original, run.versions, positive, negative) for run in (first, second)]
        value = np.stack([of_run.mean(axis=(0, 2)) for of_run in moved])
        from_mean = value - value.mean(axis=1, keepdims=True)
        each = np.eye(shape[1])
        off = resampling.deviations([[(moved[1] - moved[0], combine)] for combine in (each, each - 1 / shape[1])])
        found["delta", ORIGINALS] = _paired(value, off[0], resampling)
        found["delta", MEAN] = _paired(from_mean, off[1], resampling)
    said = [[predicted(p, threshold) for p in (run.original, run.versions)] for run in (first, second)]
    by_class = [
        _change([(was[..., k], share[..., k].astype(float)) for was, share in said], resampling)
        for k in range(first.versions.shape[3])
    ]
    return found | {
        ("change", against): one_family([pairs[against] for pairs in by_class]) for against in (ORIGINALS, MEAN)
    }


def _change(runs: Sequence[tuple[np.ndarray, np.ndarray]], resampling: Resampling) -> dict[str, Paired]:
    """Of predictions (0 or 1) of texts and of their versions: per cent more of them than before, or than in the mean of
    countries. A class that hardly any text has in one of the runs has no difference."""
    before = _known(np.array([was.mean() for was, _ in runs]))[:, None]
    after = np.stack([share.mean(axis=(0, 2)) for _, share in runs])
    mean = _known(after.mean(axis=1, keepdims=True))
    enough = [
        min(was.sum() for was, _ in runs) >= FEWEST,
        min(share.any(axis=2).sum(axis=0).mean() for _, share in runs) >= FEWEST,
    ]
    of_runs = [
        [resampling.change(share, was) for was, share in runs],
        [resampling.change_from_mean(share) for _, share in runs],
    ]
    measures = [[(-first, of_first), (second, of_second)] for (first, of_first), (second, of_second) in of_runs]
    rng = np.random.default_rng(resampling.seed + 3)
    off = [none_surer(deviations, rng) for deviations in resampling.deviations(measures)]
    return {
        ORIGINALS: _paired(100 * (after / before - 1), off[0], resampling, told=enough[0]),
        MEAN: _paired(100 * (after / mean - 1), off[1], resampling, told=enough[1]),
    }


def _known(whole: np.ndarray) -> np.ndarray:
    """Nothing can be told in shares of nothing."""
    return np.where(whole == 0, np.nan, whole)


def _paired(value: np.ndarray, off: np.ndarray, resampling: Resampling, *, told: bool = True) -> Paired:
    """`off` says how far off the difference would lie. Where nothing can be told of it, there is none, though there are
    two values."""
    difference = value[1] - value[0] if told else np.full(value[0].shape, np.nan)
    if not resampling.is_known:
        return Paired(value[0], value[1], Estimates.unknown(difference))
    return Paired(value[0], value[1], estimates(difference, off, inverted(difference, off, resampling.drawn)))


def text_differences(first: np.ndarray, second: np.ndarray, *, seed: int = 0) -> Paired:
    """Means over texts (texts x columns each), and how their difference moves with other texts."""
    return Paired(first.mean(axis=0), second.mean(axis=0), text_estimates(second - first, seed=seed))


def word_differences(measure: Callable[[np.ndarray], np.ndarray], words: int) -> Paired:
    """A measure of both runs (templates x 2 x regions) of some of the words, given by their positions."""

    def difference(runs: np.ndarray) -> np.ndarray:
        return runs[..., 1, :] - runs[..., 0, :]

    by_template = measure(np.arange(words))
    found = word_influence(lambda some: measure(some).mean(axis=0), words)
    templates = template_influence(difference(by_template))
    return Paired(found.value[0], found.value[1], found.linear(difference).differences(templates))
