"""Correlation of a classifier's probabilities with a text's perplexity (Barriere and Cifuentes 2024, section 3.2).

A perplexity here is a log-perplexity: minus the mean (or sum) of log P of a text's tokens. NaN stands for a text whose
perplexity was not measured; it takes no part.

Intervals are those of a bootstrap of texts, each with all its versions. Everything follows from sums of products: for
each text the sums over its versions of 1, x, y, ... times each other. A resample adds up those sums, each text as often
as it was drawn.

A partial correlation is the correlation of the residuals of two variables after regressing both on control variables:
with the number of tokens and the length of a text as controls, a name that is merely long does not count as strange.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geobias.measures.arrays import divide
from geobias.measures.estimates import (
    RESAMPLES,
    Estimates,
    bootstrap_estimates,
    bootstrap_p_values,
    draw_counts,
    small_sample_factor,
)

FEWEST_DRAWS = 3  # the correlation of two points is always 1 or -1
FEWEST_TEXTS = 5
MOST_UNDEFINED = 0.05  # share of resamples without variance above which an interval is unknown
ROUNDING = 1e-6  # a spread below this is the rounding of a model's sums
NO_VARIANCE = 1e-12  # relative; a variance below this counts as none


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's correlation of x (n) with each column of y (n x k); NaN where either does not vary.

    Over all original texts of a language, this is the paper's global correlation (Tables 2 and 4).
    """
    known = ~np.isnan(x)
    x, y = x[known], y[known]
    if len(x) < 2:
        return np.full(y.shape[1], np.nan)
    return _row_correlations(x[None], y[None])[0]


def local_correlations(perplexity: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """texts x countries x classes: Pearson's correlation over the versions of one text and country.

    `perplexity` is texts x countries x draws, `probabilities` texts x countries x draws x classes. NaN for texts
    without variance and for those without a perplexity; fewer than three draws have none at all.
    """
    is_measured = ~np.isnan(perplexity).any(axis=2)
    by_text = np.full((*is_measured.shape, probabilities.shape[-1]), np.nan)
    if is_measured.any() and perplexity.shape[2] >= FEWEST_DRAWS:
        by_text[is_measured] = _row_correlations(perplexity[is_measured], probabilities[is_measured])
    return by_text


def estimate_correlations(
    x: np.ndarray, y: np.ndarray, controls: np.ndarray, text: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Estimates, Estimates]:
    """Pearson's r of x (n) with each column of y (n x k), and the partial r given `controls` (n x m).

    `text` says which text each of the n versions belongs to. NaN in x takes no part. Unknown for fewer than five texts.
    """
    known = ~np.isnan(x)
    x, y, controls, text = x[known], y[known], controls[known], text[known]
    texts, text_index = np.unique(text, return_inverse=True)
    unknown = Estimates.unknown(np.full(y.shape[1], np.nan))
    if len(x) < FEWEST_TEXTS or len(texts) < 2:
        return unknown, unknown
    weights = _text_weights(len(texts), seed, resamples)
    plain, partial = [], []
    for y_column in y.T:
        columns = np.column_stack([np.ones(len(x)), _standardize(x), _standardize(y_column), _standardize(controls)])
        products = (columns[:, :, None] * columns[:, None, :]).reshape(len(x), -1)
        sums = np.stack([np.bincount(text_index, weights=product) for product in products.T], axis=1)
        covariance = _covariance(_sum_resamples(weights, sums.reshape(-1, *[columns.shape[1]] * 2)))
        plain.append(_pearson(covariance[:, 0, 0], covariance[:, 1, 1], covariance[:, 0, 1]))
        partial.append(_partial_correlation(covariance))
    return (
        _bootstrap_correlations(np.stack(plain, axis=1), len(texts)),
        _bootstrap_correlations(np.stack(partial, axis=1), len(texts)),
    )


def estimate_within_correlations(
    by_text: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Estimates, Estimates]:
    """Means over texts of within-text correlations (texts x countries x classes): by country and class, and by class.

    A text without a correlation (NaN) takes no part: a resample divides by the number of drawn texts that have one.
    """
    by_text = by_text[~np.isnan(by_text).all(axis=(1, 2))]
    is_known = ~np.isnan(by_text)
    weights = _text_weights(len(by_text), seed, resamples)

    def estimate_mean(sums: np.ndarray, counts: np.ndarray) -> Estimates:
        means = divide(_sum_resamples(weights, sums), _sum_resamples(weights, counts))
        return _bootstrap_correlations(means, (counts > 0).sum(axis=0))

    values = np.where(is_known, by_text, 0)
    return estimate_mean(values, is_known), estimate_mean(values.sum(axis=1), is_known.sum(axis=1))


def estimate_pooled_correlations(
    x: np.ndarray, y: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES
) -> Estimates:
    """Pearson's r of x (texts x countries x draws) with each class of y (... x classes), over a country's texts."""
    has_x = ~np.isnan(x).all(axis=(1, 2))
    x, y = x[has_x], y[has_x]
    known = ~np.isnan(x)
    count = known.sum(axis=2)
    # Only texts whose y varies inform a correlation.
    varies = (np.abs(np.where(known[..., None], y, 0)) > NO_VARIANCE).any(axis=2)
    versions = np.maximum(count.sum(axis=0), 1)[:, None]
    # Centred on the country's mean: products of large numbers would lose the digits of small differences.
    x = np.where(known, x, 0)
    x = np.where(known, x - x.sum(axis=(0, 2))[:, None] / versions, 0)
    y = np.where(known[..., None], y, 0)
    y = np.where(known[..., None], y - (y.sum(axis=(0, 2)) / versions)[:, None], 0)
    weights = _text_weights(len(x), seed, resamples)
    n = _sum_resamples(weights, count)[..., None]

    def mean(sums: np.ndarray) -> np.ndarray:
        return divide(_sum_resamples(weights, sums), n)

    mean_x, mean_y = mean(x.sum(axis=2)[..., None]), mean(y.sum(axis=2))
    correlations = _pearson(
        mean((x**2).sum(axis=2)[..., None]) - mean_x**2,
        mean((y**2).sum(axis=2)) - mean_y**2,
        mean(np.einsum("tcd,tcdk->tck", x, y)) - mean_x * mean_y,
    )
    return _bootstrap_correlations(correlations, varies.sum(axis=0))


def _row_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row by row: Pearson's correlation of x (rows x n) with every class of y (rows x n x classes)."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    spread_x, spread_y = np.sqrt((x**2).mean(axis=1))[:, None], np.sqrt((y**2).mean(axis=1))
    varies = (spread_x > ROUNDING) & (spread_y > ROUNDING)
    covariance = np.einsum("rn,rnk->rk", x, y) / x.shape[1]
    return np.where(varies, covariance / np.where(varies, spread_x * spread_y, 1), np.nan)


def _text_weights(texts: int, seed: int, resamples: int) -> np.ndarray:
    """(1 + resamples) x texts: ones in the first row, then how often each resample draws each text."""
    if not texts:  # parts of a corpus may name nobody
        return np.empty((1 + resamples, 0))
    return np.vstack([np.ones(texts), draw_counts(np.random.default_rng(seed), texts, resamples)])


def _sum_resamples(weights: np.ndarray, by_text: np.ndarray) -> np.ndarray:
    """Sums over texts (the first axis), for every row of weights."""
    return np.tensordot(weights, by_text, axes=1)


def _bootstrap_correlations(resampled: np.ndarray, texts: np.ndarray | int) -> Estimates:
    """Estimates from the value (the first row) and its resamples (the others).

    `texts` is the number of resampled texts, for each value or for all. Unknown for fewer than five texts, and where
    more than 5 % of the resamples have no variance.
    """
    value = resampled[0]
    deviations = (resampled[1:] - value) * small_sample_factor(texts)
    is_often_undefined = np.isnan(deviations).mean(axis=0) > MOST_UNDEFINED
    deviations = np.nan_to_num(deviations)
    estimable = np.where(np.less(texts, FEWEST_TEXTS) | is_often_undefined, np.nan, value)
    estimates = bootstrap_estimates(estimable, deviations, bootstrap_p_values(estimable, deviations, texts))
    return replace(estimates, value=value, low=np.maximum(estimates.low, -1), high=np.minimum(estimates.high, 1))


def _standardize(values: np.ndarray) -> np.ndarray:
    """(x - mean) / standard deviation: products of large numbers would lose the digits of small differences."""
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread == 0, 1, spread))


def _covariance(moments: np.ndarray) -> np.ndarray:
    """Covariances of all columns but the first (of ones) from sums of products."""
    count = moments[:, :1, :1]
    means = moments[:, :1, 1:] / count
    return np.asarray(moments[:, 1:, 1:] / count - means.transpose(0, 2, 1) * means)


def _partial_correlation(covariance: np.ndarray) -> np.ndarray:
    """The correlation of the first two variables given the others: Pearson's r of the residual covariance.

    S_aa - S_ab S_bb^+ S_ba, the Schur complement of the controls' covariance.
    """
    own, cross, controls = covariance[:, :2, :2], covariance[:, :2, 2:], covariance[:, 2:, 2:]
    residual = own - cross @ np.linalg.pinv(controls, hermitian=True) @ cross.transpose(0, 2, 1)
    return _pearson(residual[:, 0, 0], residual[:, 1, 1], residual[:, 0, 1])


def _pearson(variance_x: np.ndarray, variance_y: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    varies = (variance_x > NO_VARIANCE) & (variance_y > NO_VARIANCE)
    return np.where(varies, covariance / np.sqrt(np.where(varies, variance_x * variance_y, 1)), np.nan)
