"""How sure a score of regions is: other words (and templates), ranks, and what goes with the names themselves.

The words stand for all words that might be said of people: each is left out once, the vectors normalised again on the
others, everything from Eq. 2 on computed again (`word_influence`). Several templates stand for other templates: a score
is their mean, and moves with them as a mean does. Sub-regions are not a sample of anything: see `region_null`.

What is too large for it, by its size alone so that the same question always gets the same answer, has no intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy import stats

from geobias.measures.arrays import as_index, compute_on_gpu, gpu_capacity, to_numpy
from geobias.measures.estimates import CONFIDENCE_LEVEL, RESAMPLES, Estimates, bootstrap_estimates
from geobias.measures.herb import FORMS, Children, descriptive_vectors, flat_sparseness, herb_scores
from geobias.measures.pairs import pair_count
from geobias.measures.threads import map_threaded
from geobias.measures.word_jackknife import FEWEST_WORDS, WordJackknife, drawn, leave_out_each_word

SCORES = tuple(f"{variant}.{form}" for variant in ("c_w", "c_z") for form in FORMS)
FLAT = "flat"
MOST_PAIRS = {"scores": 10**10, FLAT: 5 * 10**8}  # over all words and templates: minutes, and some ten seconds
FEWEST, CHUNK = 200, 2**21  # resamples of a correlation, and numbers held at once


@dataclass(frozen=True)
class RegionJackknife:
    """Some measures of some regions (measures x regions): what words do to them, and what each template adds."""

    names: tuple[str, ...]
    rows: np.ndarray
    words: WordJackknife
    templates: np.ndarray  # templates x measures x regions

    def estimate(self, name: str, regions: int) -> Estimates:
        """One measure with its intervals over all regions; NaN for those without."""
        k = self.names.index(name)
        some = self.words.linear(lambda values: values[..., k, :]).distances(self.templates[:, k])
        found = []
        for values in (some.value, some.low, some.high, some.p, some.p_adjusted):
            found.append(np.full(regions, np.nan))
            found[-1][self.rows] = values
        return Estimates(*found)

    def resampled(self, name: str, rows: np.ndarray) -> np.ndarray:
        """resamples x rows: one measure, the words and the templates drawn anew."""
        k, at = self.names.index(name), np.searchsorted(self.rows, rows)
        some = self.words.linear(lambda values: values[..., k, at])
        shares = drawn(np.random.default_rng(1), len(self.templates))
        return some.value + some.deviations() + shares @ self.templates[:, k, at]


def affordable(likelihoods: np.ndarray, children: Children, *, times: int = 1) -> dict[str, bool]:
    """Whether the scores, and the flat baseline, are measured again without each word; `times` for several wordings."""
    templates, _, words = likelihoods.shape
    size = np.ones(len(children), dtype=np.int64)
    for row in range(len(children) - 1, -1, -1):
        size[row] += size[children[row]].sum()
    pairs = {"scores": sum(pair_count(len(below)) for below in children), FLAT: sum(pair_count(int(n)) for n in size)}
    return {
        what: words >= FEWEST_WORDS and times * templates * words * pairs[what] <= MOST_PAIRS[what] for what in pairs
    }


def jackknife_regions(
    likelihoods: np.ndarray, name_likelihoods: np.ndarray, children: Children, *, flat: bool = True
) -> dict[str, RegionJackknife]:
    """What is affordable of the scores, and of flat if wanted, of all regions with a pair."""
    rows = np.array([row for row, below in enumerate(children) if len(below) > 1])

    def scores(f: Any) -> np.ndarray:
        found = herb_scores(descriptive_vectors(f), name_likelihoods, children)
        return np.stack([to_numpy(of[form])[..., rows] for of in (found.c_w, found.c_z) for form in FORMS], axis=-2)

    def flat_scores(f: Any) -> np.ndarray:
        return to_numpy(flat_sparseness(descriptive_vectors(f), children))[..., None, rows]

    can = affordable(likelihoods, children)
    found: dict[str, RegionJackknife] = {}
    if can["scores"]:
        found |= dict.fromkeys(SCORES, _jackknife(SCORES, rows, scores, likelihoods))
    if can[FLAT] and flat:
        found[FLAT] = _jackknife((FLAT,), rows, flat_scores, likelihoods)
    return found


def _jackknife(
    names: tuple[str, ...], rows: np.ndarray, measure: Callable[[Any], np.ndarray], likelihoods: np.ndarray
) -> RegionJackknife:
    def of(likelihoods: Any) -> RegionJackknife:
        def mean(words: np.ndarray) -> np.ndarray:
            return np.asarray(np.mean([measure(_select_words(f, words)) for f in likelihoods], axis=0))

        _, regions, words = likelihoods.shape
        at_once = None if is_numpy_array(likelihoods) else max(1, gpu_capacity() // (regions * words))
        without = leave_out_each_word(mean, words, at_once=at_once)
        by_template = np.stack([measure(f) for f in likelihoods])
        return RegionJackknife(
            names, rows, WordJackknife(by_template.mean(axis=0), without), template_influence(by_template)
        )

    return compute_on_gpu(of, likelihoods)


def _select_words(f: Any, words: np.ndarray) -> Any:
    """regions x some words; for several sets of words a set of that for each."""
    xp = array_namespace(f)
    taken = xp.take(f, as_index(words.ravel(), f), axis=1)
    return taken if words.ndim == 1 else xp.moveaxis(xp.reshape(taken, (len(f), *words.shape)), 1, 0)


def template_influence(values: np.ndarray) -> np.ndarray:
    """What each template (the first axis) adds to the mean over templates."""
    return np.asarray((values - values.mean(axis=0)) / len(values))


def rank_intervals(value: np.ndarray, resampled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rank of each value among them all (1 is the highest), and the bounds of its rank over the resamples."""
    bounds = [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2]
    ranks = stats.rankdata(-resampled, axis=1, method="min")
    low, high = np.quantile(ranks, bounds, axis=0, method="inverted_cdf")
    return stats.rankdata(-value, method="min"), low, high


def rank_correlations(distance: np.ndarray, others: Mapping[str, np.ndarray]) -> Estimates:
    """Spearman's correlation of the distances with each of the others; intervals from regions drawn anew.

    The p-values are those of Spearman's test, corrected together.
    """
    rng = np.random.default_rng(0)
    n = len(distance)
    values = np.array([distance, *others.values()])
    codes = np.stack([np.unique(row, return_inverse=True)[1] for row in values])
    count = int(np.clip(2 * 10**7 // n, FEWEST, RESAMPLES))
    found = _rank_correlations(codes, np.arange(n)[None])[0]
    step = max(1, CHUNK // n)
    regions = [rng.integers(n, size=(min(step, count - start), n)) for start in range(0, count, step)]
    deviations = np.concatenate(map_threaded(lambda some: _rank_correlations(codes, some) - found, regions))
    unknown = np.isnan(values[1:]).any(axis=1) | np.isnan(distance).any()
    found[unknown], deviations[:, unknown] = np.nan, np.nan
    p = [stats.spearmanr(distance, other).pvalue if len(set(other)) > 1 else np.nan for other in values[1:]]
    return bootstrap_estimates(found, deviations, np.array(p))


def centroid_distances(vectors: np.ndarray, children: Children) -> np.ndarray:
    """The distance of each region's v to the centroid of its siblings, itself included; NaN without a sibling."""
    found = np.full(len(vectors), np.nan)
    for below in children:
        if len(below) > 1:
            found[below] = np.linalg.norm(vectors[below] - vectors[below].mean(axis=0), axis=1)
    return found


def kendalls_w(scores: np.ndarray) -> tuple[float, float]:
    """Kendall's W of raters x objects, corrected for ties, and the p-value of its chi-square test.

    1: all put the objects in one order; 0: no agreement. NaN where no rater tells any two objects apart.
    """
    raters, n = scores.shape
    ranks = stats.rankdata(scores, axis=1)
    sums = ranks.sum(axis=0)
    ties = sum((count**3 - count).sum() for count in (np.unique(row, return_counts=True)[1] for row in ranks))
    most = raters**2 * (n**3 - n) - raters * ties
    if most <= 0:
        return np.nan, np.nan
    w = float(12 * ((sums - sums.mean()) ** 2).sum() / most)
    return w, float(stats.chi2.sf(raters * (n - 1) * w, n - 1))


def _rank_correlations(codes: np.ndarray, some: np.ndarray) -> np.ndarray:
    """draws x others: the correlation of the first row's ranks with those of every other, among some of the objects.

    Values are given by their places among the distinct ones of a row: then ranks are found by counting, not by sorting.
    """
    draws, n = some.shape
    ranks = []
    for row in codes:
        distinct = int(row.max()) + 1
        drawn = row[some] + distinct * np.arange(draws)[:, None]
        count = np.bincount(drawn.ravel(), minlength=draws * distinct).reshape(draws, distinct)
        centred = np.cumsum(count, axis=1) - (count - 1) / 2 - (n + 1) / 2  # equal ones share the middle of their ranks
        ranks.append(centred.ravel()[drawn])
    size = [np.sqrt(np.einsum("ij,ij->i", one, one)) for one in ranks]
    with np.errstate(invalid="ignore"):  # one value throughout has no order, and no correlation
        found = [np.einsum("ij,ij->i", ranks[0], one) / (size[0] * its) for one, its in zip(ranks, size, strict=True)]
    return np.stack(found[1:], axis=1)
