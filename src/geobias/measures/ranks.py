"""Rank statistics: Spearman's correlation, Kendall's W, intervals of ranks, and the area under the ROC curve.

**Separation.** How well a number separates two kinds of pairs (of a country and an attribute), when pairs share both.
The area under the ROC curve (AUC) is the probability that the number is higher for a random case than for a random
control, ties counted half (Mann and Whitney 1947). Cases are compared with controls of their own stratum only, so
that nothing that differs between strata counts:

    AUC_s = mean over cases i and controls j of s of [x_i > x_j] + [x_i = x_j] / 2
    AUC   = sum_s w_s AUC_s / sum_s w_s,    w_s = n_s m_s / (n_s + m_s)

with n_s cases and m_s controls; these weights (van Elteren 1960) keep a single large stratum from deciding. The same
with means, mean x_i - mean x_j, is the coefficient of a regression with fixed effects of strata.

**Uncertainty.** Pairs of one country are alike, and so are pairs of one attribute: a two-way cluster variance
(Cameron, Gelbach and Miller 2011) of the influences of pairs. With u_i the share of the stratum's controls below case i
(of its cases above control i; DeLong et al. 1988), k_i the number of pairs of the kind of i in its stratum,

    φ_i = w_s / (sum_s w_s) * (u_i - AUC_s + (AUC_s - AUC) / 2) / k_i
    variance = V(countries) + V(attributes) - V(pairs),    V(g) = G / (G - 1) * sum over clusters of (sum of φ_i)²

and never less than V(countries) or V(attributes) alone. The intervals are Student's t, those of an AUC on the logit
scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from geobias.measures.arrays import map_threaded
from geobias.measures.crossed_variance import effective_count
from geobias.measures.estimates import (
    NORMAL_QUANTILE,
    POWER_QUANTILE,
    QUANTILES,
    RESAMPLES,
    Estimate,
    Estimates,
    bootstrap_estimates,
    t_quantile,
    t_test,
)

FEWEST_RESAMPLES = 200
MOST_DRAWS = 2 * 10**7  # resamples times objects
CHUNK = 2**21  # numbers held at once


class KendallsW(NamedTuple):
    """Kendall's W and the p-value of its chi-square test."""

    w: float
    p: float


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's correlation where both are known; None for fewer than three values, or where one is constant."""
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    if len(first) < 3 or not np.ptp(first) or not np.ptp(second):
        return None
    return float(stats.spearmanr(first, second).statistic)


def rank_intervals(value: np.ndarray, resampled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rank of each value (1 is the highest), and the 95 % bounds of its rank over resamples x values."""
    ranks = stats.rankdata(-resampled, axis=1, method="min")
    low, high = np.quantile(ranks, QUANTILES, axis=0, method="inverted_cdf")
    return stats.rankdata(-value, method="min"), low, high


def bootstrap_rank_correlations(values: np.ndarray, others: Mapping[str, np.ndarray]) -> Estimates:
    """Spearman's correlation of the values with each of the others; bootstrap intervals over the objects.

    The p-values are those of Spearman's test, adjusted as one family.
    """
    rng = np.random.default_rng(0)
    n = len(values)
    rows = np.array([values, *others.values()])
    resamples = int(np.clip(MOST_DRAWS // n, FEWEST_RESAMPLES, RESAMPLES))
    observed = _rank_correlations(rows, np.arange(n)[None])[0]
    step = max(1, CHUNK // n)
    draws = [rng.integers(n, size=(min(step, resamples - start), n)) for start in range(0, resamples, step)]
    deviations = np.concatenate(map_threaded(lambda objects: _rank_correlations(rows, objects) - observed, draws))
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


def _rank_correlations(rows: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """draws x others: the correlation of the first row's ranks with those of every other, among the drawn objects."""
    ranks = [stats.rankdata(row[objects], axis=1) - (objects.shape[1] + 1) / 2 for row in rows]
    first, *others = ranks
    norm, *other_norms = (np.sqrt(np.einsum("ij,ij->i", row, row)) for row in ranks)
    with np.errstate(invalid="ignore"):  # a constant row has no order, and no correlation
        correlations = [
            np.einsum("ij,ij->i", first, other) / (norm * other_norm)
            for other, other_norm in zip(others, other_norms, strict=True)
        ]
    return np.stack(correlations, axis=1)


FEWEST_CLUSTERS = 5  # of a kind, for a variance between them
CHANCE = 0.5  # the AUC of a number that separates nothing
ROUNDING = 1e-9

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Contrast:
    """A comparison of cases with controls within strata: its value, and the influence of every pair on it."""

    value: float
    influences: np.ndarray

    def __sub__(self, other: Contrast) -> Contrast:
        return Contrast(self.value - other.value, self.influences - other.influences)


def compare_ranks(values: np.ndarray, is_case: np.ndarray) -> np.ndarray:
    """Of each case the share of controls below it, of each control the share of cases above it; ties count half."""
    ranks = stats.rankdata(values)
    cases, controls = values[is_case], values[~is_case]
    shares = np.empty(len(values))
    shares[is_case] = (ranks[is_case] - stats.rankdata(cases)) / len(controls)
    shares[~is_case] = 1 - (ranks[~is_case] - stats.rankdata(controls)) / len(cases)
    return shares


def compare_means(values: np.ndarray, is_case: np.ndarray) -> np.ndarray:
    """Of each case how far it is above the mean of controls, of each control how far below the mean of cases."""
    return np.where(is_case, values - values[~is_case].mean(), values[is_case].mean() - values)


def compare_within(
    values: np.ndarray,
    is_case: np.ndarray,
    strata: np.ndarray,
    kernel: Kernel = compare_ranks,
    weights: np.ndarray | None = None,
) -> Contrast:
    """The weighted mean over strata of `kernel`'s comparison: the AUC, or a difference of means.

    `strata` numbers the stratum of each pair from 0 on. `weights` are van Elteren's by default (`stratum_weights`).
    Strata without cases or without controls take no part; without any other the value is NaN.
    """
    van_elteren = stratum_weights(is_case, strata)
    weights = van_elteren if weights is None else np.where(van_elteren > 0, weights, 0.0)
    total = weights.sum()
    if total == 0:
        return Contrast(np.nan, np.zeros(len(values)))
    ordered, ends = np.argsort(strata, kind="stable"), np.cumsum(np.bincount(strata))
    rows_by_stratum = {int(s): rows for s, rows in enumerate(np.split(ordered, ends[:-1])) if weights[s] > 0}
    shares = {s: kernel(values[rows], is_case[rows]) for s, rows in rows_by_stratum.items()}
    means = {s: float(shares[s][is_case[rows]].mean()) for s, rows in rows_by_stratum.items()}
    value = sum(weights[s] * mean for s, mean in means.items()) / total
    influences = np.zeros(len(values))
    for s, rows in rows_by_stratum.items():
        kind_counts = np.where(is_case[rows], is_case[rows].sum(), (~is_case[rows]).sum())
        influences[rows] = weights[s] / total * (shares[s] - means[s] + (means[s] - value) / 2) / kind_counts
    return Contrast(float(value), influences)


def stratum_weights(is_case: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """n m / (n + m) of every stratum with n cases and m controls; 0 where there are none of either."""
    pairs = np.bincount(strata)
    cases = np.bincount(strata, weights=is_case)
    return np.asarray(cases * (pairs - cases) / np.maximum(pairs, 1))


def mean_contrast(values: np.ndarray) -> Contrast:
    """The plain mean, as a contrast with 0."""
    return Contrast(float(values.mean()), (values - values.mean()) / len(values))


def estimate_auc(contrast: Contrast, clusters: Sequence[np.ndarray]) -> Estimate:
    """An AUC with its interval, on the logit scale, and a test against 0.5."""
    error, df = cluster_error(contrast.influences, clusters)
    value = contrast.value
    if np.isnan(value) or np.isnan(error) or not 0 < value < 1:
        return Estimate(None if np.isnan(value) else value, None, None, None, None)
    logit, logit_error = np.log(value / (1 - value)), error / (value * (1 - value))
    bounds = logit + np.array([-1, 1]) * t_quantile(df) * logit_error
    low, high = (1 / (1 + np.exp(-bounds))).tolist()
    p = float(t_test(logit, logit_error, df))
    return Estimate(value, low, high, p, p)


def estimate_contrast(contrast: Contrast, clusters: Sequence[np.ndarray]) -> Estimate:
    """A difference with its interval and a test against 0."""
    error, df = cluster_error(contrast.influences, clusters)
    value = contrast.value
    if np.isnan(value) or np.isnan(error):
        return Estimate(None if np.isnan(value) else value, None, None, None, None)
    half_width = float(t_quantile(df)) * error
    p = float(t_test(value, error, df))
    return Estimate(value, value - half_width, value + half_width, p, p)


def find_detectable_auc(contrast: Contrast, clusters: Sequence[np.ndarray]) -> float | None:
    """The AUC above 0.5 that is told from 0.5 with a power of 80 %; None without a standard error."""
    error, df = cluster_error(contrast.influences, clusters)
    if np.isnan(error):
        return None
    return min(1.0, CHANCE + float(t_quantile(df) + POWER_QUANTILE) * error)


def cluster_error(influences: np.ndarray, clusters: Sequence[np.ndarray]) -> tuple[float, float]:
    """The standard error over one or two kinds of clusters, and its degrees of freedom; NaN where there are too few.

    Each array of `clusters` numbers the cluster of every pair from 0 on. A kind of fewer than five clusters is left
    out. The degrees of freedom are the smaller effective number of clusters (Kish 1965), minus 1.
    """
    takes_part = influences != 0
    phi = influences[takes_part]
    kinds = [cluster[takes_part] for cluster in clusters]
    kinds = [cluster for cluster in kinds if len(np.unique(cluster)) >= FEWEST_CLUSTERS]
    if not kinds:
        return np.nan, np.nan
    variances = [_sum_squares(phi, cluster) for cluster in kinds]
    if len(kinds) > 1:
        variances.append(sum(variances) - _sum_squares(phi, np.arange(len(phi))))
    sizes = [effective_count(np.bincount(cluster, weights=phi**2)) for cluster in kinds]
    return float(np.sqrt(max(variances))), max(min(sizes) - 1, 1.0)


def newcombe_interval(auc: float, cases: int, controls: int) -> tuple[float, float]:
    """The 95 % interval of the AUC of independent cases and controls (Newcombe 2006, method 5).

    The values θ with (AUC - θ)² <= z² V(θ), with N = (n + m) / 2 - 1 and

        V(θ) = θ (1 - θ) / (n m) * (1 + N (1 - θ) / (2 - θ) + N θ / (1 + θ)).

    It has nominal coverage for few cases, and width where all cases lie above all controls.
    """
    mean_count = (cases + controls) / 2 - 1

    def excess(theta: float) -> float:
        shape = 1 + mean_count * (1 - theta) / (2 - theta) + mean_count * theta / (1 + theta)
        variance = theta * (1 - theta) * shape / (cases * controls)
        return float((auc - theta) ** 2 - NORMAL_QUANTILE**2 * variance)

    inside = min(max(auc, ROUNDING), 1 - ROUNDING)  # the excess is 0 at an AUC of 0 or 1 itself
    low = optimize.brentq(excess, 0, inside) if auc > 0 else 0.0
    high = optimize.brentq(excess, inside, 1) if auc < 1 else 1.0
    return float(low), float(high)


def mann_whitney_p(values: np.ndarray, is_case: np.ndarray) -> float:
    """Two-sided p-value of the hypothesis that the AUC is 0.5, cases and controls being independent."""
    return float(stats.mannwhitneyu(values[is_case], values[~is_case], method="asymptotic").pvalue)


def _sum_squares(influences: np.ndarray, cluster: np.ndarray) -> float:
    count = len(np.unique(cluster))
    return float((np.bincount(cluster, weights=influences) ** 2).sum() * count / (count - 1))
