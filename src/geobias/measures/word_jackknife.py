"""How a measure that rests on words would move, had other words been drawn: every word is left out once.

What the measure loses without a word is the word's influence; their squares add up to its variance (the jackknife's).
So the measure is computed once for every word, and not thousands of times, however large the tree.

Distances between normalised vectors come out a little too short on few words. How much shorter they get by one word
less tells how much: intervals are moved by that, values stay as they are defined. Intervals are as wide as Student's t
with so many words; those of distances, which cannot fall below 0, are the same of their root.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from geobias.measures.estimates import CONFIDENCE_LEVEL, RESAMPLES, Estimates, benjamini_hochberg
from geobias.measures.threads import map_threaded

FEWEST_WORDS = 5  # of fewer, the one that is left out decides everything
MOST_THREADS = 8  # each holds some copies of all answers: 0.1 GB for the whole world

WordMeasure = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class WordJackknife:
    """A measure of any shape, and the same without each of the words (words x that shape)."""

    value: np.ndarray
    without: np.ndarray

    def linear(self, part: Callable[[np.ndarray], np.ndarray]) -> WordJackknife:
        """The same of some of the measure's numbers, or of differences between them (taken from the last axes)."""
        return WordJackknife(part(self.value), part(self.without))

    def deviations(self) -> np.ndarray:
        """resamples x the measure's shape: how the measure moves with the words drawn anew."""
        words = len(self.without)
        influence = (words - 1) / words * (self.without.mean(axis=0) - self.without)
        return np.tensordot(drawn(np.random.default_rng(0), words), influence, axes=1)

    def distances(self, templates: np.ndarray | None = None) -> Estimates:
        """Measures that are 0 or more; `templates` is what each template adds to them, where they were drawn too."""
        nothing = np.full(self.value.shape, np.nan)
        if len(self.without) < FEWEST_WORDS:
            return Estimates.unknown(self.value)
        root = np.sqrt(self.value)
        slope = np.divide(0.5, root, out=np.zeros_like(root), where=root > 0)
        centre, reach = _jackknife(root, np.sqrt(self.without), None if templates is None else templates * slope)
        low, high = (np.maximum(centre + side * reach, 0) ** 2 for side in (-1, 1))
        return Estimates(self.value, *_extend_to_value(self.value, low, high), nothing, nothing)

    def differences(self, templates: np.ndarray | None = None) -> Estimates:
        """Measures that may be 0, with p-values of their being so.

        No p is below that of a coin which falls on one side as often as there are words.
        """
        words = len(self.without)
        if words < FEWEST_WORDS:
            return Estimates.unknown(self.value)
        centre, reach = _jackknife(self.value, self.without, templates)
        error = reach / _t_quantile(words - 1)
        far = np.divide(np.abs(centre), error, out=np.where(centre == 0, 0.0, np.inf), where=error > 0)
        p = np.maximum(2 * stats.t.sf(far, words - 1), 0.5 ** (words - 1))
        p = np.where(np.isnan(centre), np.nan, p)
        low, high = _extend_to_value(self.value, centre - reach, centre + reach)
        return Estimates(self.value, low, high, p, benjamini_hochberg(p))


def _jackknife(value: np.ndarray, without: np.ndarray, templates: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The value without its bias, and how far its interval reaches to both sides.

    Words and templates are each known as well as there are of them: Satterthwaite's degrees of freedom.
    """
    words, mean = len(without), without.mean(axis=0)
    of_words = (words - 1) / words * ((without - mean) ** 2).sum(axis=0)
    centre, freedom = value - (words - 1) * (mean - value), np.full(value.shape, words - 1.0)
    if templates is None or len(templates) < 2:
        return centre, _t_quantile(words - 1) * np.sqrt(of_words)
    count = len(templates)
    of_templates = count / (count - 1) * (templates**2).sum(axis=0)
    unsure = of_words**2 / (words - 1) + of_templates**2 / (count - 1)
    both = of_words + of_templates
    freedom = np.divide(both**2, unsure, out=freedom, where=unsure > 0)
    return centre, _t_quantile(freedom) * np.sqrt(both)


def _extend_to_value(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of few words the bias may be larger than the reach, and an interval without its value would tell nobody."""
    return np.minimum(low, value), np.maximum(high, value)


def _t_quantile(freedom: np.ndarray | float) -> np.ndarray:
    return np.asarray(stats.t.ppf((1 + CONFIDENCE_LEVEL) / 2, freedom))


def jackknife_words(measure: WordMeasure, words: int) -> WordJackknife:
    """Of a measure of some of the words, given by their positions; two words at least."""
    return WordJackknife(measure(np.arange(words)), leave_out_each_word(measure, words))


def leave_out_each_word(measure: WordMeasure, words: int, *, at_once: int | None = None) -> np.ndarray:
    """The measure without each word, in threads; or of so many sets of words `at_once`, a value for each of them."""
    without = np.stack([np.delete(np.arange(words), word) for word in range(words)])
    if at_once is None:
        return np.stack(map_threaded(measure, without, most=MOST_THREADS))
    return np.concatenate([measure(without[start : start + at_once]) for start in range(0, words, at_once)])


def drawn(rng: np.random.Generator, units: int) -> np.ndarray:
    """resamples x units: how often each unit is drawn, less the once that it is there."""
    return rng.multinomial(units, np.full(units, 1 / units), size=RESAMPLES) - 1.0
