"""Intervals of the scores of regions, over words and templates.

The words are a sample of all words that might be said of people: each is left out once, and everything from Eq. 2 on
is computed again (`word_jackknife`). Several templates are a sample of templates: a score is their mean. Sub-regions
are not a sample of anything: see `random_regions`.

Trees too large for this have no intervals. That depends on size alone: the same question always gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from geobias.measures.arrays import as_index, compute_on_gpu, gpu_capacity, to_numpy
from geobias.measures.bootstrap import draw_counts
from geobias.measures.estimates import Estimates
from geobias.measures.herb import FORMS, Children, descriptive_vectors, flat_sparseness, herb_scores
from geobias.measures.pairs import pair_count
from geobias.measures.word_jackknife import FEWEST_WORDS, WordJackknife, leave_out_each_word

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


class Affordable(NamedTuple):
    """Which measures are small enough to compute again without each word."""

    scores: bool
    flat: bool


def find_affordable(likelihoods: np.ndarray, children: Children) -> Affordable:
    """Whether the scores and the flat baseline get intervals."""
    templates, _, words = likelihoods.shape
    size = np.ones(len(children), dtype=np.int64)
    for row in range(len(children) - 1, -1, -1):
        size[row] += size[children[row]].sum()
    score_pairs = sum(pair_count(len(below)) for below in children)
    flat_pairs = sum(pair_count(int(n)) for n in size)
    repeats = templates * words
    return Affordable(
        scores=words >= FEWEST_WORDS and repeats * score_pairs <= MOST_SCORE_PAIRS,
        flat=words >= FEWEST_WORDS and repeats * flat_pairs <= MOST_FLAT_PAIRS,
    )


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

    affordable = find_affordable(likelihoods, children)
    by_measure: dict[str, RegionJackknife] = {}
    if affordable.scores:
        by_measure |= dict.fromkeys(SCORES, _jackknife(SCORES, rows, measure_scores, likelihoods))
    if affordable.flat and flat:
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
