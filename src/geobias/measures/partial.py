"""Correlations with intervals, and what is left of them when other things are held fixed.

A partial correlation is the correlation of what two quantities have beyond what a straight line through the others
explains: with the number of tokens and the length of a text held fixed, a name that is merely long no longer counts as
strange. Texts are resampled whole, with all their versions.

Everything follows from sums of products: for each text the sums over its versions of 1, x, y, ... times each other. A
resample adds up those sums, each text as often as it was drawn.
"""

from __future__ import annotations

import numpy as np

from geobias.measures.inference import RESAMPLES, Estimates, estimates, few_drawn, inverted

FEWEST_TEXTS = 5
ROUNDING = 1e-12  # relative; a variance below this is none


def correlations(
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
    drawn = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    plain, partial = [], []
    for k in range(y.shape[1]):
        columns = np.column_stack([np.ones(len(x)), _scaled(x), _scaled(y[:, k]), _scaled(fixed)])
        products = (columns[:, :, None] * columns[:, None, :]).reshape(len(x), -1)
        sums = np.stack([np.bincount(group, weights=product) for product in products.T], axis=1)
        moments = np.vstack([sums.sum(axis=0), drawn @ sums]).reshape(resamples + 1, *[columns.shape[1]] * 2)
        covariance = _covariance(moments)
        plain.append(_pearson(covariance[:, 0, 0], covariance[:, 1, 1], covariance[:, 0, 1]))
        partial.append(_partial(covariance))
    return tuple(_estimated(np.stack(found, axis=1), len(names)) for found in (plain, partial))  # type: ignore[return-value]


def _estimated(found: np.ndarray, texts: int) -> Estimates:
    """The first row is the value, the others are resamples of it; rows that have none (no variance) take no part."""
    value, resampled = found[0], found[1:]
    if texts < FEWEST_TEXTS:
        return Estimates.unknown(value)
    deviations = np.where(np.isnan(resampled), 0, resampled - value) * few_drawn(texts)
    known = estimates(value, deviations, inverted(value, deviations, texts))
    return Estimates(value, np.maximum(known.low, -1), np.minimum(known.high, 1), known.p, known.p_adjusted)


def _scaled(values: np.ndarray) -> np.ndarray:
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


def _partial(covariance: np.ndarray) -> np.ndarray:
    """The correlation of the first two, the others held fixed: from what a straight line through those leaves."""
    ours, across, others = covariance[:, :2, :2], covariance[:, :2, 2:], covariance[:, 2:, 2:]
    left = ours - across @ np.linalg.pinv(others, hermitian=True) @ across.transpose(0, 2, 1)
    return _pearson(left[:, 0, 0], left[:, 1, 1], left[:, 0, 1])


def _pearson(first: np.ndarray, second: np.ndarray, together: np.ndarray) -> np.ndarray:
    varies = (first > ROUNDING) & (second > ROUNDING)
    return np.where(varies, together / np.sqrt(np.where(varies, first * second, 1)), np.nan)
