"""The jackknife over words: how a measure varies with the choice of words.

Leaving out each of n words once gives the estimates θ_(i). Their variance (n - 1) / n * sum (θ_(i) - mean)² is the
jackknife's (Efron and Stein 1981), and (n - 1) (mean - θ) is the bias. The measure is computed n times, not thousands
of times as for a bootstrap, however large the tree.

Distances between normalised vectors are biased downwards on few words. Intervals are centred on the value corrected for
bias; values stay as they are defined. Half-widths use Student's t. Distances cannot be negative: their intervals are
computed for the square root and squared.

**Scores of regions.** The words are a sample of all words that might be said of people: each is left out once, and
everything from Eq. 2 on is computed again. Several templates are a sample of templates: a score is their mean.
Sub-regions are not a sample of anything: see `random_regions`. Trees too large for this have no intervals; that depends
on size alone: the same question always gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from geobias.measures.arrays import as_index, compute_on_gpu, gpu_capacity, map_threaded, to_numpy
from geobias.measures.estimates import Estimates, benjamini_hochberg, draw_counts, satterthwaite_df, t_quantile, t_test
from geobias.measures.herb import (
    FORMS,
    Children,
    centroid_distances,
    descriptive_vectors,
    flat_sparseness,
    herb_scores,
    pair_count,
)

FEWEST_WORDS = 5  # with fewer, a single word decides the result
FEWEST_WORDS_TO_TEST = 100  # with 60, some of 24 like countries was marked in 15 % of simulated worlds; with 112 in 4 %
MOST_THREADS = 8  # each holds some copies of all answers: 0.1 GB for the whole world

WordMeasure = Callable[[np.ndarray], np.ndarray]  # a measure computed on the words at these positions


@dataclass(frozen=True)
class WordJackknife:
    """A measure of any shape, and the same measure without each of the words (words x that shape)."""

    value: np.ndarray
    leave_one_out: np.ndarray

    def transform(self, function: Callable[[np.ndarray], np.ndarray]) -> WordJackknife:
        """Apply a linear function of the last axes: a selection of the measure's numbers, or differences of them."""
        return WordJackknife(function(self.value), function(self.leave_one_out))

    def bootstrap_deviations(self) -> np.ndarray:
        """resamples x the measure's shape: bootstrap deviations, linearised by the words' influences."""
        words = len(self.leave_one_out)
        influence = (words - 1) / words * (self.leave_one_out.mean(axis=0) - self.leave_one_out)
        return np.tensordot(draw_counts(np.random.default_rng(0), words) - 1.0, influence, axes=1)

    def estimate_distances(self, template_influence: np.ndarray | None = None) -> Estimates:
        """Intervals of measures that cannot be negative, over words and, if their influence is given, templates."""
        unknown = Estimates.unknown(self.value)
        if len(self.leave_one_out) < FEWEST_WORDS:
            return unknown
        root = np.sqrt(self.value)
        slope = np.divide(0.5, root, out=np.zeros_like(root), where=root > 0)
        root_influence = None if template_influence is None else template_influence * slope
        centre, half_width = _interval(root, np.sqrt(self.leave_one_out), root_influence)
        low, high = (np.maximum(centre + side * half_width, 0) ** 2 for side in (-1, 1))
        return self._extend_to_value(low, high, unknown.p)

    def estimate_differences(self, template_influence: np.ndarray | None = None) -> Estimates:
        """Intervals of differences, and t-tests against 0; p is never below 0.5 ** (words - 1), a sign test's."""
        words = len(self.leave_one_out)
        if words < FEWEST_WORDS:
            return Estimates.unknown(self.value)
        centre, half_width = _interval(self.value, self.leave_one_out, template_influence)
        standard_error = half_width / t_quantile(words - 1)
        p = np.maximum(t_test(centre, standard_error, words - 1), 0.5 ** (words - 1))
        return self._extend_to_value(centre - half_width, centre + half_width, p)

    def _extend_to_value(self, low: np.ndarray, high: np.ndarray, p: np.ndarray) -> Estimates:
        """Extend intervals that do not contain their value: on few words the bias may exceed the half-width."""
        low, high = np.minimum(low, self.value), np.maximum(high, self.value)
        return Estimates(self.value, low, high, p, benjamini_hochberg(p))


def jackknife_words(measure: WordMeasure, words: int) -> WordJackknife:
    """Compute a measure on all of at least two words, and without each of them."""
    return WordJackknife(measure(np.arange(words)), leave_out_each_word(measure, words))


def leave_out_each_word(measure: WordMeasure, words: int, *, at_once: int | None = None) -> np.ndarray:
    """The measure without each word, in threads; with `at_once`, for so many sets of words in one call."""
    kept_words = np.stack([np.delete(np.arange(words), word) for word in range(words)])
    if at_once is None:
        return np.stack(map_threaded(measure, kept_words, most=MOST_THREADS))
    return np.concatenate([measure(kept_words[start : start + at_once]) for start in range(0, words, at_once)])


def _interval(
    value: np.ndarray, leave_one_out: np.ndarray, template_influence: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The value corrected for bias, and the half-width of its interval.

    With templates, the variances of words and templates add up; the degrees of freedom are Satterthwaite's.
    """
    words, mean = len(leave_one_out), leave_one_out.mean(axis=0)
    word_variance = (words - 1) / words * ((leave_one_out - mean) ** 2).sum(axis=0)
    centre = value - (words - 1) * (mean - value)
    if template_influence is None or len(template_influence) < 2:
        return centre, t_quantile(words - 1) * np.sqrt(word_variance)
    templates = len(template_influence)
    template_variance = templates / (templates - 1) * (template_influence**2).sum(axis=0)
    variance = word_variance + template_variance
    squares_over_df = word_variance**2 / (words - 1) + template_variance**2 / (templates - 1)
    return centre, t_quantile(satterthwaite_df(variance, squares_over_df, words - 1)) * np.sqrt(variance)


SCORES = tuple(f"{variant}.{form}" for variant in ("c_w", "c_z") for form in FORMS)
FLAT = "flat"
MOST_SCORE_PAIRS = 10**10  # over all words and templates: minutes
MOST_FLAT_PAIRS = 5 * 10**8  # some ten seconds


@dataclass(frozen=True)
class RegionJackknife:
    """Measures of regions (measures x regions), jackknifed over words, and each template's influence on them."""

    names: tuple[str, ...]
    rows: np.ndarray
    words: WordJackknife
    templates: np.ndarray  # templates x measures x regions

    def estimates(self, name: str, regions: int) -> Estimates:
        """One measure with its intervals over all regions of the tree; NaN for those without."""
        k = self.names.index(name)
        known = self.words.transform(lambda values: values[..., k, :]).estimate_distances(self.templates[:, k])
        columns = np.full((len(vars(known)), regions), np.nan)
        columns[:, self.rows] = list(vars(known).values())
        return Estimates(*columns)

    def bootstrap_values(self, name: str, rows: np.ndarray) -> np.ndarray:
        """resamples x rows: one measure with words and templates resampled."""
        k, columns = self.names.index(name), np.searchsorted(self.rows, rows)
        words = self.words.transform(lambda values: values[..., k, columns])
        weights = draw_counts(np.random.default_rng(1), len(self.templates)) - 1.0
        return words.value + words.bootstrap_deviations() + weights @ self.templates[:, k, columns]


def find_affordable(likelihoods: np.ndarray, children: Children) -> tuple[bool, bool]:
    """Whether the scores, and whether the flat baseline are small enough to compute again without each word."""
    templates, _, words = likelihoods.shape
    size = np.ones(len(children), dtype=np.int64)
    for row in range(len(children) - 1, -1, -1):
        size[row] += size[children[row]].sum()
    score_pairs = sum(pair_count(len(below)) for below in children)
    flat_pairs = sum(pair_count(int(n)) for n in size)
    repeats = templates * words if words >= FEWEST_WORDS else np.inf
    return bool(repeats * score_pairs <= MOST_SCORE_PAIRS), bool(repeats * flat_pairs <= MOST_FLAT_PAIRS)


def jackknife_regions(
    likelihoods: np.ndarray, name_likelihoods: np.ndarray, children: Children, *, flat: bool = True
) -> dict[str, RegionJackknife]:
    """Jackknife the affordable measures of all regions with a pair: the scores and, if wanted, the flat baseline."""
    rows = np.array([row for row, below in enumerate(children) if len(below) > 1])

    def measure_scores(f: Any) -> np.ndarray:
        scores = herb_scores(descriptive_vectors(f), name_likelihoods, children)
        variants = (scores.c_w, scores.c_z)
        return np.stack([to_numpy(variant[form])[..., rows] for variant in variants for form in FORMS], axis=-2)

    def measure_flat(f: Any) -> np.ndarray:
        return to_numpy(flat_sparseness(descriptive_vectors(f), children))[..., None, rows]

    has_scores, has_flat = find_affordable(likelihoods, children)
    by_measure: dict[str, RegionJackknife] = {}
    if has_scores:
        by_measure |= dict.fromkeys(SCORES, _jackknife(SCORES, rows, measure_scores, likelihoods))
    if has_flat and flat:
        by_measure[FLAT] = _jackknife((FLAT,), rows, measure_flat, likelihoods)
    return by_measure


def _jackknife(
    names: tuple[str, ...], rows: np.ndarray, measure: Callable[[Any], np.ndarray], likelihoods: np.ndarray
) -> RegionJackknife:
    def compute(likelihoods: Any) -> RegionJackknife:
        def mean(words: np.ndarray) -> np.ndarray:
            return np.asarray(np.mean([measure(_select_words(f, words)) for f in likelihoods], axis=0))

        _, regions, words = likelihoods.shape
        at_once = None if is_numpy_array(likelihoods) else max(1, gpu_capacity() // (regions * words))
        leave_one_out = leave_out_each_word(mean, words, at_once=at_once)
        by_template = np.stack([measure(f) for f in likelihoods])
        jackknife = WordJackknife(by_template.mean(axis=0), leave_one_out)
        return RegionJackknife(names, rows, jackknife, template_influence(by_template))

    return compute_on_gpu(compute, likelihoods)


def _select_words(f: Any, words: np.ndarray) -> Any:
    """regions x words; for several sets of words (sets x words), sets x regions x words."""
    xp = array_namespace(f)
    selection = xp.take(f, as_index(words.ravel(), f), axis=1)
    return selection if words.ndim == 1 else xp.moveaxis(xp.reshape(selection, (len(f), *words.shape)), 1, 0)


def template_influence(values: np.ndarray) -> np.ndarray:
    """(x_i - mean) / n: the influence of each template (the first axis) on the mean over templates."""
    return np.asarray((values - values.mean(axis=0)) / len(values))


def estimate_centroid_distances(likelihoods: np.ndarray, siblings: Children) -> Estimates:
    """How far each region lies from the centroid of its siblings, with its interval over words and templates.

    p is of the difference from the mean distance of all regions, adjusted for all. The likelihoods (templates x regions
    x words) are of these regions only.
    """

    def measure_by_template(words: np.ndarray) -> np.ndarray:
        return np.stack([centroid_distances(descriptive_vectors(f[:, words]), siblings) for f in likelihoods])

    words = likelihoods.shape[-1]
    by_template = measure_by_template(np.arange(words))
    if words < FEWEST_WORDS:
        return Estimates.unknown(by_template.mean(axis=0))
    jackknife = jackknife_words(lambda kept: measure_by_template(kept).mean(axis=0), words)
    influence = template_influence(by_template)
    distances = jackknife.estimate_distances(influence)
    against_mean = jackknife.transform(_centre).estimate_differences(_centre(influence))
    if words < FEWEST_WORDS_TO_TEST:
        against_mean = Estimates.unknown(against_mean.value)
    return replace(distances, p=against_mean.p, p_adjusted=against_mean.p_adjusted)


def _centre(values: np.ndarray) -> np.ndarray:
    """Minus the mean over regions, the last axis."""
    return np.asarray(values - values.mean(axis=-1, keepdims=True))
