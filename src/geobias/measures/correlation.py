"""Correlation of a classifier's probabilities with a text's perplexity (Barriere and Cifuentes 2024, section 3.2).

A perplexity here is a log-perplexity: minus the mean (or sum) of log P of a text's tokens. NaN stands for a text whose
perplexity was not measured; it takes no part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEWEST_DRAWS = 3  # the correlation of two points is always 1 or -1
ROUNDING = 1e-6  # a spread below this is the rounding of a model's sums


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's correlation of x (n) with each column of y (n x k); NaN where either does not vary."""
    known = ~np.isnan(x)
    x, y = x[known], y[known]
    if len(x) < 2:
        return np.full(y.shape[1], np.nan)
    return _row_correlations(x[None], y[None])[0]


def global_correlation(perplexity: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Pearson's correlation over all original texts of a language, for each class (Tables 2 and 4)."""
    return pearson(perplexity, probabilities)


@dataclass(frozen=True)
class LocalCorrelation:
    """Correlations by country and class and over all countries, and the number of texts that have one."""

    by_country: np.ndarray  # countries x classes
    overall: np.ndarray  # classes
    texts: np.ndarray  # countries x classes
    left_out: np.ndarray  # countries x classes: texts without variance


def within_correlation(perplexity: np.ndarray, probabilities: np.ndarray) -> LocalCorrelation:
    """Pearson's correlation over the versions of one text and country, averaged over texts (as the paper describes it).

    `perplexity` is texts x countries x draws, `probabilities` texts x countries x draws x classes. Texts without
    variance have no correlation: they are left out and counted. Fewer than three draws have none at all.
    """
    is_measured = ~np.isnan(perplexity).any(axis=2)
    by_text = local_correlations(perplexity, probabilities)
    is_defined = ~np.isnan(by_text)
    texts = is_defined.sum(axis=0)
    return LocalCorrelation(
        by_country=_mean(by_text, is_defined, (0,)),
        overall=_mean(by_text, is_defined, (0, 1)),
        texts=texts,
        left_out=is_measured.sum(axis=0)[:, None] - texts,
    )


def local_correlations(perplexity: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """texts x countries x classes: Pearson's correlation over the draws of a text and country; NaN where undefined."""
    is_measured = ~np.isnan(perplexity).any(axis=2)
    by_text = np.full((*is_measured.shape, probabilities.shape[-1]), np.nan)
    if is_measured.any() and perplexity.shape[2] >= FEWEST_DRAWS:
        by_text[is_measured] = _row_correlations(perplexity[is_measured], probabilities[is_measured])
    return by_text


def pooled_correlation(
    perplexity: np.ndarray, probabilities: np.ndarray, original_perplexity: np.ndarray, original: np.ndarray
) -> LocalCorrelation:
    """Pearson's correlation of the changes from the original, over all texts (as the released code; Tables 3 and 5)."""
    perplexity_change = perplexity - original_perplexity[:, None, None]
    probability_change = probabilities - original[:, None, None]
    countries, classes = perplexity.shape[1], probabilities.shape[-1]
    texts = (~np.isnan(perplexity_change)).any(axis=2).sum(axis=0)
    return LocalCorrelation(
        by_country=np.array(
            [
                pearson(perplexity_change[:, c].ravel(), probability_change[:, c].reshape(-1, classes))
                for c in range(countries)
            ]
        ),
        overall=pearson(perplexity_change.ravel(), probability_change.reshape(-1, classes)),
        texts=np.repeat(texts[:, None], classes, axis=1),
        left_out=np.zeros((countries, classes), dtype=int),
    )


def _row_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row by row: Pearson's correlation of x (rows x n) with every class of y (rows x n x classes)."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    spread_x, spread_y = np.sqrt((x**2).mean(axis=1))[:, None], np.sqrt((y**2).mean(axis=1))
    varies = (spread_x > ROUNDING) & (spread_y > ROUNDING)
    covariance = np.einsum("rn,rnk->rk", x, y) / x.shape[1]
    return np.where(varies, covariance / np.where(varies, spread_x * spread_y, 1), np.nan)


def _mean(values: np.ndarray, known: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    count = known.sum(axis=axes)
    total = np.where(known, values, 0).sum(axis=axes)
    return total / np.where(count == 0, np.nan, count)
