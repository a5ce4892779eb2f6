"""How a measure that rests on words would move, had other words been drawn: every word is left out once.

What the measure loses without a word is the word's influence; their squares add up to its variance (the jackknife's).
So the measure is computed once for every word, and not thousands of times, however large the tree.

Distances between normalised vectors come out a little too short on few words. How much shorter they get by one word
less tells how much: intervals are moved by that, values stay as they are defined. Intervals are as wide as Student's t
with so many words; those of distances, which cannot fall below 0, are taken on the scale of their logarithm.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import stats

from geobias.measures.inference import LEVEL, RESAMPLES, Estimates, benjamini_hochberg

Measure = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class WordInfluence:
    """A measure of any shape, what each word adds to it (words x that shape), and by how much few words shift it."""

    value: np.ndarray
    influence: np.ndarray
    bias: np.ndarray

    def linear(self, part: Callable[[np.ndarray], np.ndarray]) -> WordInfluence:
        """The same of some of the measure's numbers, or of differences between them (taken from the last axes)."""
        return WordInfluence(part(self.value), part(self.influence), part(self.bias))

    def deviations(self) -> np.ndarray:
        """resamples x the measure's shape: how the measure moves with the words drawn anew."""
        draws = drawn(np.random.default_rng(0), len(self.influence))
        return np.tensordot(draws, self.influence, axes=1)

    def distances(self, more: np.ndarray | float = 0.0) -> Estimates:
        """Measures that are 0 or more; `more` is the variance of what else was drawn, such as templates."""
        reach = self._t * np.sqrt(self._variance + more)
        known = np.where(self.value == 0, 1.0, self.value)
        low, high = (self.value * np.exp((side * reach - self.bias) / known) for side in (-1, 1))
        nothing = np.full(self.value.shape, np.nan)
        # Of a handful of words the shift may be larger than the reach: an interval without its value would tell nobody.
        return Estimates(self.value, np.minimum(low, self.value), np.maximum(high, self.value), nothing, nothing)

    def differences(self) -> Estimates:
        """Measures that may be 0, with p-values of their being so.

        No p is below that of a coin which falls on one side as often as there are words.
        """
        words, centre, error = len(self.influence), self.value - self.bias, np.sqrt(self._variance)
        reach = np.divide(np.abs(centre), error, out=np.where(centre == 0, 0.0, np.inf), where=error > 0)
        p = np.maximum(2 * stats.t.sf(reach, words - 1), 0.5 ** (words - 1))
        p = np.where(np.isnan(centre), np.nan, p)
        return Estimates(self.value, centre - self._t * error, centre + self._t * error, p, benjamini_hochberg(p))

    @property
    def _variance(self) -> np.ndarray:
        words = len(self.influence)
        return np.asarray(words / (words - 1) * (self.influence**2).sum(axis=0))

    @property
    def _t(self) -> float:
        return float(stats.t.ppf((1 + LEVEL) / 2, len(self.influence) - 1))


def word_influence(measure: Measure, words: int) -> WordInfluence:
    """Of a measure of some of the words, given by their positions; two words at least."""
    everything = np.arange(words)
    value = measure(everything)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        without = np.stack(list(pool.map(measure, (np.delete(everything, word) for word in everything))))
    mean = without.mean(axis=0)
    return WordInfluence(value, (words - 1) / words * (mean - without), (words - 1) * (mean - value))


def drawn(rng: np.random.Generator, units: int) -> np.ndarray:
    """resamples x units: how often each unit is drawn, less the once that it is there."""
    return rng.multinomial(units, np.full(units, 1 / units), size=RESAMPLES) - 1.0
