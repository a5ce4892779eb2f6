"""How a classifier's answers go with what a language model finds strange (Barriere and Cifuentes 2024, section 3.2).

A perplexity here is a log-perplexity: minus the mean (or sum) of log P of a text's tokens. Higher is stranger.
NaN stands for a text whose perplexity was not taken; it takes no part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEWEST_DRAWS = 3  # two points always lie on a line: their correlation is 1 or -1, whatever they are
ROUNDING = 1e-6  # texts that differ by less are the same to the model: what is left is the rounding of its sums


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's correlation of x (n) with each column of y (n x k); NaN where either does not vary."""
    known = ~np.isnan(x)
    x, y = x[known], y[known]
    if len(x) < 2:
        return np.full(y.shape[1], np.nan)
    return _row_correlations(x[None], y[None])[0]


def global_correlation(perplexity: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Over all original texts of a language, for each class (Tables 2 and 4)."""
    return pearson(perplexity, probabilities)


@dataclass(frozen=True)
class LocalCorrelation:
    """For each country and class, and over all countries; `texts` says how many texts had a correlation at all."""

    by_country: np.ndarray  # countries x classes
    overall: np.ndarray  # classes
    texts: np.ndarray  # countries x classes
    left_out: np.ndarray  # countries x classes: texts without variance


def within_correlation(perplexity: np.ndarray, probabilities: np.ndarray) -> LocalCorrelation:
    """Pearson over the renamed versions of one text and country, averaged over texts (the paper's text).

    `perplexity` is texts x countries x draws, `probabilities` texts x countries x draws x classes. Texts without
    variance have no correlation: they are left out and counted. Fewer than three draws have none at all.
    """
    taken = ~np.isnan(perplexity).any(axis=2)
    each = local_correlations(perplexity, probabilities)
    has_one = ~np.isnan(each)
    texts = has_one.sum(axis=0)
    return LocalCorrelation(
        by_country=_mean(each, has_one, (0,)),
        overall=_mean(each, has_one, (0, 1)),
        texts=texts,
        left_out=taken.sum(axis=0)[:, None] - texts,
    )


def local_correlations(perplexity: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """texts x countries x classes: Pearson over the draws of one text and country; NaN where there is none."""
    taken = ~np.isnan(perplexity).any(axis=2)
    each = np.full((*taken.shape, probabilities.shape[-1]), np.nan)
    if taken.any() and perplexity.shape[2] >= FEWEST_DRAWS:
        each[taken] = _row_correlations(perplexity[taken], probabilities[taken])
    return each


def pooled_correlation(
    perplexity: np.ndarray, probabilities: np.ndarray, original_perplexity: np.ndarray, original: np.ndarray
) -> LocalCorrelation:
    """What the renamed texts differ from their original by, all texts together (the released code; Tables 3 and 5)."""
    stranger = perplexity - original_perplexity[:, None, None]
    changed = probabilities - original[:, None, None]
    countries, classes = perplexity.shape[1], probabilities.shape[-1]
    taken = (~np.isnan(stranger)).any(axis=2).sum(axis=0)
    return LocalCorrelation(
        by_country=np.array(
            [pearson(stranger[:, c].ravel(), changed[:, c].reshape(-1, classes)) for c in range(countries)]
        ),
        overall=pearson(stranger.ravel(), changed.reshape(-1, classes)),
        texts=np.repeat(taken[:, None], classes, axis=1),
        left_out=np.zeros((countries, classes), dtype=int),
    )


def _row_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row by row: Pearson of x (rows x n) with every class of y (rows x n x classes)."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    spread_x, spread_y = np.sqrt((x**2).mean(axis=1))[:, None], np.sqrt((y**2).mean(axis=1))
    varies = (spread_x > ROUNDING) & (spread_y > ROUNDING)
    together = np.einsum("rn,rnk->rk", x, y) / x.shape[1]
    return np.where(varies, together / np.where(varies, spread_x * spread_y, 1), np.nan)


def _mean(values: np.ndarray, known: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    count = known.sum(axis=axes)
    total = np.where(known, values, 0).sum(axis=axes)
    return total / np.where(count == 0, np.nan, count)
