"""Correlations with intervals, and what is left of them when other things are held fixed.

A partial correlation is the correlation of what two quantities have beyond what a straight line through the others
explains: with the number of tokens and the length of a text held fixed, a name that is merely long no longer counts as
strange. Texts are resampled whole, with all their versions.

Everything follows from sums of products: for each text the sums over its versions of 1, x, y, ... times each other. A
resample adds up those sums, each text as often as it was drawn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geobias.measures.estimates import (
    RESAMPLES,
    Estimates,
    bootstrap_estimates,
    bootstrap_p_values,
    small_sample_factor,
)

FEWEST_TEXTS = 5
MOST_WITHOUT = 0.05  # of the resamples
ROUNDING = 1e-12  # relative; a variance below this is none


def estimate_correlations(
    x: np.ndarray, y: np.ndarray, fixed: np.ndarray, text: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Estimates, Estimates]:
    """Pearson of x (n) with each column of y (n x k), plain and with `fixed` (n x m) held fixed; `text` groups the n.

    NaN in x takes no part. Unknown where fewer than five texts do.
    """
    known = ~np.isnan(x)
    x, y, fixed, text = x[known], y[known], fixed[known], text[known]
    names, group = np.unique(text, return_inverse=True)
    nothing = Estimates.unknown(np.full(y.shape[1], np.nan))
    if len(x) < FEWEST_TEXTS or len(names) < 2:
        return nothing, nothing
    drawn = _drawn(len(names), seed, resamples)
    plain, partial = [], []
    for k in range(y.shape[1]):
        columns = np.column_stack([np.ones(len(x)), _standardize(x), _standardize(y[:, k]), _standardize(fixed)])
        products = (columns[:, :, None] * columns[:, None, :]).reshape(len(x), -1)
        sums = np.stack([np.bincount(group, weights=product) for product in products.T], axis=1)
        covariance = _covariance(_resampled_sums(drawn, sums.reshape(-1, *[columns.shape[1]] * 2)))
        plain.append(_pearson(covariance[:, 0, 0], covariance[:, 1, 1], covariance[:, 0, 1]))
        partial.append(_partial_correlation(covariance))
    return tuple(_bootstrap_correlations(np.stack(found, axis=1), len(names)) for found in (plain, partial))  # type: ignore[return-value]


def estimate_within_correlations(
    each: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Estimates, Estimates]:
    """Means of the texts' own correlations (texts x countries x classes): by country and class, and by class alone.

    A text that has none (NaN) takes no part: a resample divides by how many of the drawn ones do.
    """
    each = each[~np.isnan(each).all(axis=(1, 2))]
    has_one = ~np.isnan(each)
    drawn = _drawn(len(each), seed, resamples)

    def estimated(sums: np.ndarray, counts: np.ndarray) -> Estimates:
        total, count = _resampled_sums(drawn, sums), _resampled_sums(drawn, counts)
        return _bootstrap_correlations(total / np.where(count == 0, np.nan, count), (counts > 0).sum(axis=0))

    known = np.where(has_one, each, 0)
    return estimated(known, has_one), estimated(known.sum(axis=1), has_one.sum(axis=1))


def estimate_pooled_correlations(
    x: np.ndarray, y: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES
) -> Estimates:
    """Pearson of x (texts x countries x draws) with each class of y (... x classes), a country's texts all together."""
    taking_part = ~np.isnan(x).all(axis=(1, 2))
    x, y = x[taking_part], y[taking_part]
    known = ~np.isnan(x)
    count = known.sum(axis=2)
    moved = (np.abs(np.where(known[..., None], y, 0)) > ROUNDING).any(axis=2)  # of others a correlation says nothing
    versions = np.maximum(count.sum(axis=0), 1)[:, None]
    # Around the country's mean, so that products of large numbers do not drown small ones.
    x = np.where(known, x, 0)
    x = np.where(known, x - x.sum(axis=(0, 2))[:, None] / versions, 0)
    y = np.where(known[..., None], y, 0)
    y = np.where(known[..., None], y - (y.sum(axis=(0, 2)) / versions)[:, None], 0)
    drawn = _drawn(len(x), seed, resamples)
    n = _resampled_sums(drawn, count)[..., None]
    n = np.where(n == 0, np.nan, n)

    def mean(sums: np.ndarray) -> np.ndarray:
        return _resampled_sums(drawn, sums) / n

    mean_x, mean_y = mean(x.sum(axis=2)[..., None]), mean(y.sum(axis=2))
    found = _pearson(
        mean((x**2).sum(axis=2)[..., None]) - mean_x**2,
        mean((y**2).sum(axis=2)) - mean_y**2,
        mean(np.einsum("tcd,tcdk->tck", x, y)) - mean_x * mean_y,
    )
    return _bootstrap_correlations(found, moved.sum(axis=0))


def _drawn(texts: int, seed: int, resamples: int) -> np.ndarray:
    """How often each text counts: once in the first row, then as often as each resample draws it."""
    if not texts:  # nobody is named in some parts of a corpus
        return np.empty((1 + resamples, 0))
    drawn = np.random.default_rng(seed).multinomial(texts, np.full(texts, 1 / texts), size=resamples)
    return np.vstack([np.ones(texts), drawn])


def _resampled_sums(drawn: np.ndarray, each: np.ndarray) -> np.ndarray:
    """Sums over texts (the first axis), for every row of `drawn`."""
    return np.tensordot(drawn, each, axes=1)


def _bootstrap_correlations(found: np.ndarray, texts: np.ndarray | int) -> Estimates:
    """The first row is the value, the others are resamples of it; where many have none (no variance), it is unknown.

    `texts` says how many there are to resample, for each value or for all; of fewer than five, nothing is known.
    """
    value = found[0]
    deviations = (found[1:] - value) * small_sample_factor(texts)
    often = np.isnan(deviations).mean(axis=0) > MOST_WITHOUT
    deviations = np.nan_to_num(deviations)
    enough = np.where(np.less(texts, FEWEST_TEXTS) | often, np.nan, value)
    known = bootstrap_estimates(enough, deviations, bootstrap_p_values(enough, deviations, texts))
    return replace(known, value=value, low=np.maximum(known.low, -1), high=np.minimum(known.high, 1))


def _standardize(values: np.ndarray) -> np.ndarray:
    """In standard deviations around the mean, so that products of large numbers do not drown small ones."""
    spread = values.std(axis=0)
    scaled: np.ndarray = (values - values.mean(axis=0)) / np.where(spread == 0, 1, spread)
    return scaled


def _covariance(moments: np.ndarray) -> np.ndarray:
    """Covariances of all but the first column (of ones) from sums of products."""
    count = moments[:, :1, :1]
    means = moments[:, :1, 1:] / count
    covariance: np.ndarray = moments[:, 1:, 1:] / count - means.transpose(0, 2, 1) * means
    return covariance


def _partial_correlation(covariance: np.ndarray) -> np.ndarray:
    """The correlation of the first two, the others held fixed: from what a straight line through those leaves."""
    ours, across, others = covariance[:, :2, :2], covariance[:, :2, 2:], covariance[:, 2:, 2:]
    left = ours - across @ np.linalg.pinv(others, hermitian=True) @ across.transpose(0, 2, 1)
    return _pearson(left[:, 0, 0], left[:, 1, 1], left[:, 0, 1])


def _pearson(first: np.ndarray, second: np.ndarray, together: np.ndarray) -> np.ndarray:
    varies = (first > ROUNDING) & (second > ROUNDING)
    return np.where(varies, together / np.sqrt(np.where(varies, first * second, 1)), np.nan)
