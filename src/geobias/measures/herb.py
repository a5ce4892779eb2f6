"""HERB: how differently a language model describes a region's sub-regions, aggregated up the tree (Li et al. 2022).

Regions are rows; `children[r]` are the rows of r's sub-regions; every region follows its parent and row 0 is the root,
which is not scored itself (nobody says "people in Earth"): its row of likelihoods is NaN.

Equations 9 and 10 give weights that sum to 1, and Eq. 8 divides by the number of pairs a second time, so the
printed score falls with the square of how many sub-regions there are. Every score is therefore given twice:
`balanced`, without the second division, a weighted mean distance that can be compared between regions; and `paper`,
as printed.

Likelihoods and vectors are arrays of NumPy or of torch; axes before regions and words are other likelihoods, of which
everything is measured alike.

**Sums over all pairs of points** are the part that takes time. Memory stays bounded for any number of points (blocks),
and no digit is lost to cancellation: the fast expansion of |a - b|² into dot products is used only where a and b are
far apart; near points are taken from their differences, so equal points are at distance exactly 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


FORMS = ("balanced", "paper")
Children = Sequence[np.ndarray]


@dataclass(frozen=True)
class HerbScores:
    """C of every region in both variants and forms; NaN for a region with one sub-region, which has no pair."""

    c_w: dict[str, Any]
    c_z: dict[str, Any]


def descriptive_vectors(likelihoods: Any) -> Any:
    """v(r), Eq. 2: the likelihoods of all words for one region, divided by their L2 norm (a zero vector stays zero)."""
    norms = _norms(likelihoods, keepdims=True)
    return likelihoods / array_namespace(norms).where(norms == 0, 1.0, norms)


def sparseness(vectors: Any, children: Children) -> Any:
    """c(R), Eq. 3, of the sub-regions of each region: their mean pairwise distance; NaN where there is no pair."""
    values = _unknown(vectors[..., 0])
    for region in inner_regions(children):
        values[..., region] = mean_distance(vectors[..., as_index(children[region], vectors), :])
    return values


def flat_sparseness(vectors: Any, children: Children) -> Any:
    """The flat baseline (Table 2): Eq. 3 over a region and everything below it in one cluster; NaN for leaves."""
    below: dict[int, np.ndarray] = {}
    values = _unknown(vectors[..., 0])
    for region in inner_regions(children):
        deeper = [below[child] for child in children[region].tolist() if child in below]
        below[region] = np.concatenate([children[region], *deeper])
        cluster = below[region] if region == 0 else np.append(below[region], region)
        values[..., region] = mean_distance(vectors[..., as_index(cluster, vectors), :])
    return values


def word_sparseness(vectors: Any, children: Children) -> Any:
    """c(R)_i, Eq. 6: how much the sub-regions of each region differ in each word alone; NaN where there is no pair."""
    values = _unknown(vectors)
    for region in inner_regions(children):
        if len(children[region]) > 1:
            values[..., region, :] = mean_absolute_differences(vectors[..., as_index(children[region], vectors), :])
    return values


def aggregated_vectors(vectors: Any, children: Children) -> Any:
    """V(r), Eq. 4 to 7: v(r) plus its sub-regions' centroid, weighed by how much they differ in each word."""
    xp = array_namespace(vectors)
    aggregated = xp.asarray(vectors, copy=True)
    for region in inner_regions(children):
        below = vectors[..., as_index(children[region], vectors), :]
        differences = mean_absolute_differences(below)
        alpha = xp.exp(differences - xp.max(differences, axis=-1, keepdims=True))
        alpha /= xp.sum(alpha, axis=-1, keepdims=True)
        aggregated[..., region, :] += alpha * xp.mean(below, axis=-2)
    return aggregated


def centroid_distances(vectors: Any, children: Children) -> Any:
    """The distance of each region's v to the centroid of its siblings, itself included; NaN without a sibling."""
    xp, distances = array_namespace(vectors), _unknown(vectors[..., 0])
    for region in inner_regions(children):
        if len(children[region]) > 1:
            below = as_index(children[region], vectors)
            siblings = vectors[..., below, :]
            distances[..., below] = _norms(siblings - xp.mean(siblings, axis=-2, keepdims=True))
    return distances


def herb_scores(vectors: Any, name_likelihoods: np.ndarray, children: Children) -> HerbScores:
    """C_w and C_z, Eq. 8 to 10, from the leaves up.

    A leaf's C is the distance of its vector to the centroid of its siblings, itself included.
    An inner region's is the weighted mean distance of its sub-regions' V: heavier where the sub-regions are
    biased themselves (C_w, each form by its own values), or where their names are likely (C_z).
    """
    xp = array_namespace(vectors)
    aggregated = aggregated_vectors(vectors, children)
    names = xp.broadcast_to(xp.asarray(name_likelihoods, device=device(vectors)), vectors.shape[:-1])
    distances = centroid_distances(vectors, children)
    distances = xp.where(xp.isnan(distances), 0.0, distances)  # a leaf without siblings is its own centroid
    scores = xp.stack([distances] * 2 * len(FORMS), axis=-1)  # C_w in both forms, then C_z
    scores[..., 0, :] = np.nan
    for region in inner_regions(children):
        if len(children[region]) < 2:
            scores[..., region, :] = np.nan
            continue
        below, pairs = as_index(children[region], vectors), pair_count(len(children[region]))
        c_w_below = scores[..., below, : len(FORMS)]
        c_w_below = xp.where(xp.isnan(c_w_below), 0.0, c_w_below)  # a region with one sub-region counts as 0
        logits = xp.concat([c_w_below, names[..., below, None]], axis=-1)
        by_c_w, by_c_w_paper, by_name = xp.unstack(softmax_mean_distances(aggregated[..., below, :], logits), axis=-1)
        scores[..., region, :] = xp.stack([by_c_w, by_c_w_paper / pairs, by_name, by_name / pairs], axis=-1)
    c_w, c_z = ({form: scores[..., start + k] for k, form in enumerate(FORMS)} for start in (0, len(FORMS)))
    return HerbScores(c_w, c_z)


def inner_regions(children: Children) -> list[int]:
    """The regions that have sub-regions, those below before those above; of a world few have any."""
    sizes = np.fromiter(map(len, children), dtype=np.int64, count=len(children))
    return np.flatnonzero(sizes)[::-1].tolist()


def _norms(vectors: Any, *, keepdims: bool = False) -> Any:
    return array_namespace(vectors).linalg.vector_norm(vectors, axis=-1, keepdims=keepdims)


def _unknown(like: Any) -> Any:
    return array_namespace(like).full(like.shape, np.nan, dtype=like.dtype, device=device(like))
