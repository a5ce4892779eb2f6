"""Rank statistics: Spearman's correlation, Kendall's W, and intervals of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from geobias.measures.arrays import map_threaded
from geobias.measures.estimates import CONFIDENCE_LEVEL, RESAMPLES, Estimates, bootstrap_estimates

FEWEST_RESAMPLES = 200
MOST_DRAWS = 2 * 10**7  # resamples times objects
CHUNK = 2**21  # numbers held at once


class KendallsW(NamedTuple):
    """Kendall's W and the p-value of its chi-square test."""

    w: float
    p: float


def mean_rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Mean over words (columns) of Spearman's correlation over regions (rows).

    A word with the same score for all regions on one side has no order and is left out; None if no word is left.
    """
    if first.shape != second.shape:
        return None
    by_word = map(rank_correlation, first.T, second.T)
    correlations = [correlation for correlation in by_word if correlation is not None]
    return float(np.mean(correlations)) if correlations else None


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's correlation where both are known; None for fewer than three values, or where one is constant."""
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    if len(first) < 3 or not np.ptp(first) or not np.ptp(second):
        return None
    return float(stats.spearmanr(first, second).statistic)


def rank_intervals(value: np.ndarray, resampled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rank of each value (1 is the highest), and the 95 % bounds of its rank over resamples x values."""
    quantiles = [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2]
    ranks = stats.rankdata(-resampled, axis=1, method="min")
    low, high = np.quantile(ranks, quantiles, axis=0, method="inverted_cdf")
    return stats.rankdata(-value, method="min"), low, high


def bootstrap_rank_correlations(values: np.ndarray, others: Mapping[str, np.ndarray]) -> Estimates:
    """Spearman's correlation of the values with each of the others; bootstrap intervals over the objects.

    The p-values are those of Spearman's test, adjusted as one family.
    """
    rng = np.random.default_rng(0)
    n = len(values)
    rows = np.array([values, *others.values()])
    codes = np.stack([np.unique(row, return_inverse=True)[1] for row in rows])
    resamples = int(np.clip(MOST_DRAWS // n, FEWEST_RESAMPLES, RESAMPLES))
    observed = _rank_correlations(codes, np.arange(n)[None])[0]
    step = max(1, CHUNK // n)
    draws = [rng.integers(n, size=(min(step, resamples - start), n)) for start in range(0, resamples, step)]
    deviations = np.concatenate(map_threaded(lambda objects: _rank_correlations(codes, objects) - observed, draws))
    unknown = np.isnan(rows[1:]).any(axis=1) | np.isnan(values).any()
    observed[unknown], deviations[:, unknown] = np.nan, np.nan
    p = [stats.spearmanr(values, other).pvalue if len(set(other)) > 1 else np.nan for other in rows[1:]]
    return bootstrap_estimates(observed, deviations, np.array(p))


def kendalls_w(scores: np.ndarray) -> KendallsW:
    """Kendall's W of raters x objects, corrected for ties: 12 S / (m² (n³ - n) - m T) (Kendall and Smith 1939).

    S is the sum of squared deviations of the rank sums, T the sum of t³ - t over all ties. 1: all raters agree on the
    order; 0: no agreement. NaN where no rater distinguishes any two objects.
    """
    raters, n = scores.shape
    ranks = stats.rankdata(scores, axis=1)
    sums = ranks.sum(axis=0)
    ties = sum((count**3 - count).sum() for count in (np.unique(row, return_counts=True)[1] for row in ranks))
    most = raters**2 * (n**3 - n) - raters * ties
    if most <= 0:
        return KendallsW(np.nan, np.nan)
    w = float(12 * ((sums - sums.mean()) ** 2).sum() / most)
    return KendallsW(w, float(stats.chi2.sf(raters * (n - 1) * w, n - 1)))


def _rank_correlations(codes: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """draws x others: the correlation of the first row's ranks with those of every other, among the drawn objects.

    `codes` are positions among the distinct values of a row: ranks then follow from counting instead of sorting.
    """
    draws, n = objects.shape
    ranks = []
    for row in codes:
        distinct = int(row.max()) + 1
        cells = row[objects] + distinct * np.arange(draws)[:, None]
        count = np.bincount(cells.ravel(), minlength=draws * distinct).reshape(draws, distinct)
        centred = np.cumsum(count, axis=1) - (count - 1) / 2 - (n + 1) / 2  # ties share their mean rank
        ranks.append(centred.ravel()[cells])
    first, *others = ranks
    norm, *other_norms = (np.sqrt(np.einsum("ij,ij->i", row, row)) for row in ranks)
    with np.errstate(invalid="ignore"):  # a constant row has no order, and no correlation
        correlations = [
            np.einsum("ij,ij->i", first, other) / (norm * other_norm)
            for other, other_norm in zip(others, other_norms, strict=True)
        ]
    return np.stack(correlations, axis=1)
