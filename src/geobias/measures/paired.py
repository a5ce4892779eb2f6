"""Two runs on the same units: how their measures differ, and how far that would move with other texts, names or words.

A deviation is a sum of influences: a unit drawn w times instead of once moves a measure by (w - 1) times its influence.
Both runs take the same draws, so what they have in common drops out of their difference.

p is the inverted bootstrap's. Of thousands of places one that stands out must be told from chance with more than 2,000
resamples can count, so where none of them reaches as far as the difference, Student's tail with their spread goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import stats

from geobias.measures.change import predicted
from geobias.measures.inference import RESAMPLES, Estimates, benjamini_hochberg, estimates, p_value
from geobias.measures.word_influence import drawn, word_influence

FEWEST = 5  # texts of a class in each run: by how much fewer of them change tells nothing
AT_ONCE = 1000  # columns whose deviations are held at a time
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


@dataclass(frozen=True)
class NameUnits:
    """Which versions bear which names; for each country pairs of a version (text x draw) and the number of a name."""

    bearers: tuple[tuple[np.ndarray, np.ndarray], ...]

    @cached_property
    def counts(self) -> list[int]:
        return [int(names.max()) + 1 if len(names) else 0 for _, names in self.bearers]


class NameResamples:
    """Resampled texts and, within each country, names; the same for both runs and for every measure."""

    def __init__(self, texts: int, names: NameUnits, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.names = names
        self.units = max(1, min(texts, *names.counts))  # texts, or the names of the country with fewest
        self.by_text = drawn(rng, texts)
        self.standard = rng.standard_normal((RESAMPLES, len(names.bearers)))
        self.by_name = [drawn(rng, count) if count else np.zeros((RESAMPLES, 0)) for count in names.counts]

    def deviations(self, pair: np.ndarray) -> np.ndarray:
        """resamples x 2 x countries: how the sums over texts and draws move (pair: 2 x texts x countries x draws).

        What a name does shows in how its versions differ from their texts' means. Chance in single versions is in the
        texts' part already: the names' part is shrunk by the share of it that such chance explains, or it would be
        counted twice.
        """
        _, texts, countries, draws = pair.shape
        moved = (self.by_text @ pair.sum(axis=3).swapaxes(0, 1).reshape(texts, -1)).reshape(-1, 2, countries)
        if draws == 1:  # a version is its text's mean, and what its name does is in the texts' part
            return moved
        beyond = (pair - pair.mean(axis=3, keepdims=True)) * (draws / (draws - 1))
        for c, (versions, names) in enumerate(self.names.bearers):
            of_version = beyond[:, :, c].reshape(2, -1)[:, versions]
            count = self.names.counts[c]
            of_name = np.stack([np.bincount(names, run, minlength=count) for run in of_version])
            chance, whole = (float((np.diff(part, axis=0) ** 2).sum()) for part in (of_version, of_name))
            if whole > chance:
                moved[:, :, c] += np.sqrt(1 - chance / whole) * (self.by_name[c] @ of_name.T)
        return moved


def names_differences(
    first: Renamed,
    second: Renamed,
    names: NameUnits,
    *,
    positive: Sequence[int],
    negative: Sequence[int],
    threshold: float | None,
    seed: int = 0,
) -> dict[Measure, Paired]:
    """Delta (countries) and change of every class (classes x countries), against the originals and against the mean.

    Class by class, since the deviations of all of them at once would take much memory.
    """
    texts, _, draws, classes = first.versions.shape
    resamples = NameResamples(texts, names, seed)
    found: dict[Measure, Paired] = {}
    if positive and negative:
        scale = 100 / (texts * draws)
        before, after = (
            scale * (p[..., list(positive)].sum(axis=-1) - p[..., list(negative)].sum(axis=-1))
            for p in _pair(first, second)
        )
        found |= {("delta", against): pair for against, pair in _delta(before * draws, after, resamples).items()}
    by_class = []
    said = [predicted(p, threshold) for p in _pair(first, second)]
    for k in range(classes):
        before, after = (part[..., k].astype(float) for part in said)
        by_class.append(_change(before * draws, after, resamples))
    return found | {
        ("change", against): one_family([pairs[against] for pairs in by_class]) for against in (ORIGINALS, MEAN)
    }


def _pair(first: Renamed, second: Renamed) -> tuple[np.ndarray, np.ndarray]:
    return np.stack([first.original, second.original]), np.stack([first.versions, second.versions])


def _delta(before: np.ndarray, after: np.ndarray, resamples: NameResamples) -> dict[str, Paired]:
    """before: 2 x texts; after: 2 x texts x countries x draws; both so scaled that sums are means in points of 100."""
    value = after.sum(axis=(1, 3)) - before.sum(axis=1)[:, None]
    moved = resamples.deviations(after) - (resamples.by_text @ before.T)[:, :, None]
    centred = value - value.mean(axis=1, keepdims=True), moved - moved.mean(axis=2, keepdims=True)
    return {ORIGINALS: _paired(value, moved, resamples.units), MEAN: _paired(*centred, resamples.units)}


def _change(before: np.ndarray, after: np.ndarray, resamples: NameResamples) -> dict[str, Paired]:
    """The same of predictions (0 or 1): per cent more of them than before, or than in the mean of countries.

    A rare class may be absent from a country by chance, and then none of its texts varies, as if that were certain. So
    no country is taken to be surer than the countries are on average.
    """
    enough = [texts.min() >= FEWEST for texts in ((before > 0).sum(axis=1), after.any(axis=3).sum(axis=1).mean(axis=1))]
    count = after.sum(axis=(1, 3))
    mean = _known(count.mean(axis=1))
    after, before, share = after / mean[:, None, None, None], before / mean[:, None], count / mean[:, None]
    once = _known(before.sum(axis=1))[:, None]
    moved, moved_before = resamples.deviations(after), (resamples.by_text @ before.T)[:, :, None]
    against_originals = 100 * (moved - share / once * moved_before) / once
    against_mean = 100 * (moved - share * moved.mean(axis=2, keepdims=True))
    against_mean[:, 1] += 100 * resamples.standard * _lacking(np.diff(after.sum(axis=3), axis=0)[0])
    return {
        ORIGINALS: _paired(100 * (share / once - 1), against_originals, resamples.units, told=enough[0]),
        MEAN: _paired(100 * (share - 1), against_mean, resamples.units, told=enough[1]),
    }


def _lacking(apart: np.ndarray) -> np.ndarray:
    """What each country's spread over texts lacks to that of countries on average (apart: texts x countries)."""
    spread = ((apart - apart.mean(axis=1, keepdims=True)) ** 2).sum(axis=0)
    return np.sqrt(np.maximum(spread.mean() - spread, 0))


def _known(whole: np.ndarray) -> np.ndarray:
    """Nothing can be told in shares of nothing."""
    return np.where(whole == 0, np.nan, whole)


def _paired(value: np.ndarray, moved: np.ndarray, units: int, *, told: bool = True) -> Paired:
    """Where nothing can be told of it, there is no difference, though there are two values."""
    difference = value[1] - value[0] if told else np.full(value[0].shape, np.nan)
    return Paired(value[0], value[1], _estimates(difference, moved[:, 1] - moved[:, 0], units))


def _estimates(value: np.ndarray, moved: np.ndarray, units: int) -> Estimates:
    """With a p that is never below that of a coin which falls on one side as often as there are units."""
    counted, spread = p_value(np.abs(value), np.abs(moved)), moved.std(axis=0)
    reach = np.divide(np.abs(value), spread, out=np.full(value.shape, np.inf), where=spread != 0)
    tail = np.where(counted > 1 / (1 + RESAMPLES), counted, 2 * stats.t.sf(reach, max(units - 1, 1)))
    return estimates(value, moved, np.maximum(np.minimum(counted, tail), 0.5 ** (units - 1)))


def text_differences(first: np.ndarray, second: np.ndarray, *, seed: int = 0) -> Paired:
    """Means over texts (texts x columns each), and how their difference moves with other texts."""
    weights = drawn(np.random.default_rng(seed), len(first))
    value, apart = np.stack([first.mean(axis=0), second.mean(axis=0)]), (second - first) / len(first)
    blocks = [
        _estimates(value[1, at] - value[0, at], weights @ apart[:, at], len(first))
        for at in (slice(start, start + AT_ONCE) for start in range(0, first.shape[1], AT_ONCE))
    ]
    whole = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in ("value", "low", "high", "p")}
    return Paired(value[0], value[1], Estimates(**whole, p_adjusted=benjamini_hochberg(whole["p"])))


def word_differences(measure: Callable[[np.ndarray], np.ndarray], words: int) -> Paired:
    """A measure of both runs (2 x regions) of some of the words, given by their positions."""
    found = word_influence(measure, words)
    difference = found.linear(lambda runs: runs[..., 1, :] - runs[..., 0, :]).differences()
    return Paired(found.value[0], found.value[1], difference)
