"""Sums over all pairs of points: the part of HERB that takes time.

Memory stays bounded for any number of points (blocks), and no digit is lost to cancellation: the fast expansion of
|a - b|² into dot products is used only where a and b are far apart; near points are taken from their differences, so
equal points are at distance exactly 0.

Points are rows of an array of NumPy or of torch; axes before the last two are other sets of points, measured alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from scipy.spatial.distance import cdist

from geobias.measures.arrays import as_index, map_threaded

BLOCK = 2**18  # distances held at once by a thread: 2 MB stay near its core
GPU_BLOCK = 2**25  # and by a GPU
FEWEST_ROWS = 32  # of a block, however many points there are: products of fewer are slow
NEAR = 1e-4  # of |a|² + |b|²: below this |a - b|² would lose more than four of its sixteen digits in the expansion
OFTEN_NEAR = 0.02  # share of near pairs above which it is quicker to take every pair from its difference


def pair_count(n: int) -> int:
    return n * (n - 1) // 2


def mean_distance(points: Any) -> Any:
    """Mean Euclidean distance over the unordered pairs (Eq. 3); NaN where there is no pair."""
    xp, n = array_namespace(points), points.shape[-2]
    if n < 2:
        return xp.full(points.shape[:-2], np.nan, dtype=points.dtype, device=device(points))
    return _weighted_sums(points, xp.ones_like(points[..., :1]))[..., 0] / pair_count(n)


def softmax_mean_distances(points: Any, logits: Any) -> Any:
    """For each column l of `logits`: the mean distance over pairs, weighed by the softmax over pairs of l_i + l_j.

    This is Eq. 8 with the weights of Eq. 9 or 10. The softmax of a sum is a product, exp(l_i) exp(l_j), so the weights
    of all pairs need never be written down; only their total is summed, in a form that cannot cancel.
    """
    if points.shape[-2] < 2:
        raise ValueError("a mean over pairs needs at least two points")
    xp = array_namespace(points)
    second = xp.sort(logits, axis=-2, stable=False)[..., -2:-1, :]
    # Far above the second, the first one's pairs hold all the weight already: more would change nothing, but overflow.
    kept = xp.minimum(logits, second + 700.0)
    weights = xp.exp(kept - (xp.max(kept, axis=-2, keepdims=True) + second) / 2)  # the heaviest pair gets weight 1
    return _weighted_sums(points, weights) / _weight_totals(weights)


def mean_absolute_differences(points: Any) -> Any:
    """For each dimension, the mean over unordered pairs of the absolute difference (Eq. 6); 0 where there is no pair.

    Sorted, the sum over pairs is that of the gaps, each counted k (n - k) times: all terms are positive.
    """
    xp, n = array_namespace(points), points.shape[-2]
    if n < 2:
        return xp.zeros_like(points[..., 0, :])
    ordered = xp.sort(points, axis=-2, stable=False)
    below = xp.arange(1, n, dtype=points.dtype, device=device(points))
    sums = xp.matmul((below * (n - below))[None, :], ordered[..., 1:, :] - ordered[..., :-1, :])
    return sums[..., 0, :] / pair_count(n)


def distances(points: Any) -> Any:
    """The Euclidean distance of each point to each, to within rounding however near they are."""
    pairs = _PairDistances(points)
    return pairs.distances(pairs.squares(0, points.shape[-2]), 0)


def _weight_totals(weights: Any) -> Any:
    """Sum over pairs of w_i w_j: each weight times those that follow."""
    xp = array_namespace(weights)
    back = xp.flip(weights, axis=-2)
    return xp.sum(back[..., 1:, :] * xp.cumulative_sum(back, axis=-2)[..., :-1, :], axis=-2)


class _PairDistances:
    """|a - b|² = |a|² + |b|² - 2ab as a single matrix product, so that no other array over pairs is needed."""

    def __init__(self, points: Any) -> None:
        self.points, self.xp = points, array_namespace(points)
        size = self.xp.sum(points * points, axis=-1, keepdims=True)
        ones = self.xp.ones_like(size)
        self.left = self.xp.concat([-2 * points, size, ones], axis=-1)
        self.right = self.xp.matrix_transpose(self.xp.concat([points, ones, size], axis=-1))
        self.near = NEAR * (size + self.xp.max(size, axis=-2, keepdims=True))  # and a few that are not

    def squares(self, start: int, stop: int) -> Any:
        """Squared distances of the points from `start` to `stop` to all points from `start` on."""
        return self.xp.matmul(self.left[..., start:stop, :], self.right[..., :, start:])

    def distances(self, squares: Any, start: int) -> Any:
        """The distances, in place; those of near points are computed again from differences."""
        stop = start + squares.shape[-2]
        is_near = self.xp.reshape(squares < self.near[..., start:stop, :], (-1,))
        near = self.xp.nonzero(is_near)[0]  # of one long row: much faster
        if near.shape[0] > OFTEN_NEAR * is_near.shape[0]:
            return self._from_differences(start, stop)
        if near.shape[0]:
            points = self.xp.reshape(self.points, (-1, self.points.shape[-1]))
            row, column = near // squares.shape[-1], near % squares.shape[-1]
            of_set, row = row // squares.shape[-2] * self.points.shape[-2] + start, row % squares.shape[-2]
            differences = points[of_set + row] - points[of_set + column]
            self.xp.reshape(squares, (-1,))[near] = self.xp.sum(differences**2, axis=-1)
        return np.sqrt(squares, out=squares) if is_numpy_array(squares) else squares.sqrt_()

    def _from_differences(self, start: int, stop: int) -> Any:
        first, second = self.points[..., start:stop, :], self.points[..., start:, :]
        if is_numpy_array(first):
            return cdist(first, second) if first.ndim == 2 else np.stack(list(map(cdist, first, second)))
        return self.xp.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")


def _weighted_sums(points: Any, weights: Any) -> Any:
    """For each column w of `weights`: the sum over pairs of w_i w_j times the distance."""
    on_processor, xp, n = is_numpy_array(points), array_namespace(points), points.shape[-2]
    if on_processor and points.ndim > 2:
        return np.stack([_weighted_sums(*of_set) for of_set in zip(points, weights, strict=True)])
    held = BLOCK if on_processor else GPU_BLOCK // int(np.prod(points.shape[:-2]))
    rows = min(n, max(FEWEST_ROWS, held // n))
    pairs = _PairDistances(points - xp.mean(points, axis=-2, keepdims=True))  # centred: far apart for their size
    duplicates = as_index(np.tri(rows, dtype=bool), points)  # pairs in the other order, and points with themselves

    def block(start: int) -> Any:
        squares = pairs.squares(start, min(start + rows, n))
        size = squares.shape[-2]
        is_duplicate = duplicates[:size, :size]
        squares[..., :size] = xp.where(is_duplicate, np.inf, squares[..., :size])  # not near
        distances = pairs.distances(squares, start)
        distances[..., :size] = xp.where(is_duplicate, 0.0, distances[..., :size])
        return xp.sum(weights[..., start : start + rows, :] * (distances @ weights[..., start:, :]), axis=-2)

    starts = range(0, n - 1, rows)
    return sum(map_threaded(block, starts) if on_processor else map(block, starts))
