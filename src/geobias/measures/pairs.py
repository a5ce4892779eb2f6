"""Sums over all pairs of points: the part of HERB that takes time.

Memory stays bounded for any number of points (blocks), and no digit is lost to cancellation: the fast expansion of
|a - b|² into dot products is used only where a and b are far apart; near points are taken from their differences, so
equal points are at distance exactly 0.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from geobias.measures.threads import in_threads

BLOCK = 2**18  # distances held at once by a thread: 2 MB stay near its core
FEWEST_ROWS = 32  # of a block, however many points there are: products of fewer are slow
NEAR = 1e-4  # of |a|² + |b|²: below this |a - b|² would lose more than four of its sixteen digits in the expansion
OFTEN_NEAR = 0.02  # share of near pairs above which it is quicker to take every pair from its difference


def pair_count(n: int) -> int:
    return n * (n - 1) // 2


def mean_distance(points: np.ndarray) -> float | None:
    """Mean Euclidean distance over the unordered pairs (Eq. 3); None where there is no pair."""
    if len(points) < 2:
        return None
    return float(_weighted_sums(points, np.ones((len(points), 1)))[0] / pair_count(len(points)))


def softmax_mean_distances(points: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """For each column l of `logits`: the mean distance over pairs, weighed by the softmax over pairs of l_i + l_j.

    This is Eq. 8 with the weights of Eq. 9 or 10. The softmax of a sum is a product, exp(l_i) exp(l_j), so the weights
    of all pairs need never be written down; only their total is summed, in a form that cannot cancel.
    """
    if len(points) < 2:
        raise ValueError("a mean over pairs needs at least two points")
    second = np.sort(logits, axis=0)[-2]
    # Far above the second, the first one's pairs hold all the weight already: more would change nothing, but overflow.
    kept = np.minimum(logits, second + 700.0)
    weights = np.exp(kept - (kept.max(axis=0) + second) / 2)  # the heaviest pair gets weight 1
    return _weighted_sums(points, weights) / _weight_totals(weights)


def mean_absolute_differences(points: np.ndarray) -> np.ndarray:
    """For each dimension, the mean over unordered pairs of the absolute difference (Eq. 6); 0 where there is no pair.

    Sorted, the sum over pairs is that of the gaps, each counted k (n - k) times: all terms are positive.
    """
    n = len(points)
    if n < 2:
        return np.zeros(points.shape[1])
    gaps = np.diff(np.sort(points, axis=0), axis=0)
    below = np.arange(1, n)
    return (below * (n - below)) @ gaps / pair_count(n)


def _weight_totals(weights: np.ndarray) -> np.ndarray:
    """Sum over pairs of w_i w_j: each weight times those that follow."""
    following = np.zeros_like(weights)
    following[:-1] = np.cumsum(weights[:0:-1], axis=0)[::-1]
    return np.einsum("ij,ij->j", weights, following)


def distances(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The Euclidean distance of each point to each other one, to within rounding however near they are."""
    size, other_size = (np.einsum("ij,ij->i", some, some)[:, None] for some in (points, others))
    # |a|² + |b|² - 2ab as one product, so that nothing as large as all pairs is written but the result.
    left = np.hstack([-2 * points, size, np.ones_like(size)])
    squares = left @ np.hstack([others, np.ones_like(other_size), other_size]).T
    near = np.flatnonzero(squares < NEAR * (size + other_size.max()))  # and a few that are not
    if len(near) > OFTEN_NEAR * squares.size:
        return cdist(points, others)
    row, column = np.divmod(near, len(others))
    squares[row, column] = ((points[row] - others[column]) ** 2).sum(axis=1)
    return np.sqrt(squares, out=squares)


def _weighted_sums(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For each column w of `weights`: the sum over pairs of w_i w_j times the distance."""
    n = len(points)
    rows = max(FEWEST_ROWS, BLOCK // n)
    centred = points - points.mean(axis=0)  # so that points are far apart, compared with their size

    def block(start: int) -> np.ndarray:
        stop = min(start + rows, n)
        apart = distances(centred[start:stop], centred[start:])
        apart[np.tril_indices(stop - start)] = 0.0  # each pair once
        return np.einsum("ij,ij->j", weights[start:stop], apart @ weights[start:])

    return np.sum(in_threads(block, range(0, n - 1, rows)), axis=0)
