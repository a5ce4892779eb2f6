"""HERB: how differently a language model describes a region's sub-regions, aggregated up the tree (Li et al. 2022).

Regions are rows; `children[r]` are the rows of r's sub-regions; every region follows its parent and row 0 is the root,
which is not scored itself (nobody says "people in Earth"): its row of likelihoods is NaN.

Equations 9 and 10 give weights that sum to 1, and Eq. 8 divides by the number of pairs a second time, so the
printed score falls with the square of how many sub-regions there are. Every score is therefore given twice:
`balanced`, without the second division, a weighted mean distance that can be compared between regions; and `paper`,
as printed.

**Sums over all pairs of points** are the part that takes time. Memory stays bounded for any number of points (blocks),
and no digit is lost to cancellation: the fast expansion of |a - b|² into dot products is used only where a and b are
far apart; near points are taken from their differences, so equal points are at distance exactly 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from geobias.measures.arrays import map_threaded

BLOCK = 2**18  # distances held at once by a thread: 2 MB stay near its core
FEWEST_ROWS = 32  # of a block, however many points there are: products of fewer are slow
NEAR = 1e-4  # of |a|² + |b|²: below this |a - b|² would lose more than four of its sixteen digits in the expansion
OFTEN_NEAR = 0.02  # share of near pairs above which it is quicker to take every pair from its difference


def pair_count(n: int) -> int:
    return n * (n - 1) // 2


def mean_distance(points: np.ndarray) -> float:
    """Mean Euclidean distance over the unordered pairs (Eq. 3); NaN where there is no pair."""
    if len(points) < 2:
        return np.nan
    return float(_weighted_sums(points, np.ones_like(points[:, :1]))[0] / pair_count(len(points)))


def softmax_mean_distances(points: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """For each column l of `logits`: the mean distance over pairs, weighed by the softmax over pairs of l_i + l_j.

    This is Eq. 8 with the weights of Eq. 9 or 10. The softmax of a sum is a product, exp(l_i) exp(l_j), so the weights
    of all pairs need never be written down; only their total is summed, in a form that cannot cancel.
    """
    second = np.sort(logits, axis=0)[-2:-1]
    # Far above the second, the first one's pairs hold all the weight already: more would change nothing, but overflow.
    kept = np.minimum(logits, second + 700.0)
    weights = np.exp(kept - (kept.max(axis=0, keepdims=True) + second) / 2)  # the heaviest pair gets weight 1
    back = weights[::-1]  # each weight times the sum of those that follow
    totals = (back[1:] * np.cumsum(back, axis=0)[:-1]).sum(axis=0)
    return np.asarray(_weighted_sums(points, weights) / totals)


def mean_absolute_differences(points: np.ndarray) -> np.ndarray:
    """For each dimension, the mean over unordered pairs of the absolute difference (Eq. 6); 0 where there is no pair.

    Sorted, the sum over pairs is that of the gaps, each counted k (n - k) times: all terms are positive.
    """
    n = len(points)
    if n < 2:
        return np.zeros_like(points[0])
    below = np.arange(1, n, dtype=points.dtype)
    sums = (below * (n - below))[None, :] @ np.diff(np.sort(points, axis=0), axis=0)
    return np.asarray(sums[0] / pair_count(n))


def distances(points: np.ndarray) -> np.ndarray:
    """The Euclidean distance of each point to each, to within rounding however near they are."""
    pairs = _PairDistances(points)
    return pairs.distances(pairs.squares(0, len(points)), 0)


class _PairDistances:
    """|a - b|² = |a|² + |b|² - 2ab as a single matrix product, so that no other array over pairs is needed."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = points
        size = (points * points).sum(axis=1, keepdims=True)
        ones = np.ones_like(size)
        self.left = np.concatenate([-2 * points, size, ones], axis=1)
        self.right = np.concatenate([points, ones, size], axis=1).T
        self.near = NEAR * (size + size.max())  # and a few that are not

    def squares(self, start: int, stop: int) -> np.ndarray:
        """Squared distances of the points from `start` to `stop` to all points from `start` on."""
        return np.asarray(self.left[start:stop] @ self.right[:, start:])

    def distances(self, squares: np.ndarray, start: int) -> np.ndarray:
        """The distances, in place; those of near points are computed again from differences."""
        stop = start + len(squares)
        near = np.flatnonzero(squares < self.near[start:stop])
        if len(near) > OFTEN_NEAR * squares.size:
            return cdist(self.points[start:stop], self.points[start:])
        row, column = np.divmod(near, squares.shape[1])
        differences = self.points[start + row] - self.points[start + column]
        squares.reshape(-1)[near] = (differences**2).sum(axis=1)
        return np.sqrt(squares, out=squares)


def _weighted_sums(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For each column w of `weights`: the sum over pairs of w_i w_j times the distance."""
    n = len(points)
    rows = min(n, max(FEWEST_ROWS, BLOCK // n))
    pairs = _PairDistances(points - points.mean(axis=0))  # centred: far apart for their size
    duplicates = np.tri(rows, dtype=bool)  # pairs in the other order, and points with themselves

    def block(start: int) -> np.ndarray:
        squares = pairs.squares(start, min(start + rows, n))
        size = len(squares)
        squares[:, :size][duplicates[:size, :size]] = np.inf  # not near
        distances = pairs.distances(squares, start)
        distances[:, :size][duplicates[:size, :size]] = 0
        return np.asarray((weights[start : start + rows] * (distances @ weights[start:])).sum(axis=0))

    return np.asarray(sum(map_threaded(block, range(0, n - 1, rows))))


FORMS = ("balanced", "paper")
Children = Sequence[np.ndarray]


@dataclass(frozen=True)
class HerbScores:
    """C of every region in both variants and forms; NaN for a region with one sub-region, which has no pair."""

    c_w: dict[str, np.ndarray]
    c_z: dict[str, np.ndarray]


def descriptive_vectors(likelihoods: np.ndarray) -> np.ndarray:
    """v(r), Eq. 2: the likelihoods of all words for one region, divided by their L2 norm (a zero vector stays zero)."""
    norms = np.linalg.norm(likelihoods, axis=-1, keepdims=True)
    return np.asarray(likelihoods / np.where(norms == 0, 1.0, norms))


def sparseness(vectors: np.ndarray, children: Children) -> np.ndarray:
    """c(R), Eq. 3, of the sub-regions of each region: their mean pairwise distance; NaN where there is no pair."""
    values = np.full(len(vectors), np.nan)
    for region in inner_regions(children):
        values[region] = mean_distance(vectors[children[region]])
    return values


def flat_sparseness(vectors: np.ndarray, children: Children) -> np.ndarray:
    """The flat baseline (Table 2): Eq. 3 over a region and everything below it in one cluster; NaN for leaves."""
    below: dict[int, np.ndarray] = {}
    values = np.full(len(vectors), np.nan)
    for region in inner_regions(children):
        deeper = [below[child] for child in children[region].tolist() if child in below]
        below[region] = np.concatenate([children[region], *deeper])
        values[region] = mean_distance(vectors[below[region] if region == 0 else np.append(below[region], region)])
    return values


def word_sparseness(vectors: np.ndarray, children: Children) -> np.ndarray:
    """c(R)_i, Eq. 6: how much the sub-regions of each region differ in each word alone; NaN where there is no pair."""
    values = np.full(vectors.shape, np.nan)
    for region in inner_regions(children):
        if len(children[region]) > 1:
            values[region] = mean_absolute_differences(vectors[children[region]])
    return values


def aggregated_vectors(vectors: np.ndarray, children: Children) -> np.ndarray:
    """V(r), Eq. 4 to 7: v(r) plus its sub-regions' centroid, weighed by how much they differ in each word."""
    aggregated = vectors.copy()
    for region in inner_regions(children):
        below = vectors[children[region]]
        aggregated[region] += softmax(mean_absolute_differences(below)) * below.mean(axis=0)
    return aggregated


def centroid_distances(vectors: np.ndarray, children: Children) -> np.ndarray:
    """The distance of each region's v to the centroid of its siblings, itself included; NaN without a sibling."""
    distances = np.full(len(vectors), np.nan)
    for region in inner_regions(children):
        if len(children[region]) > 1:
            siblings = vectors[children[region]]
            distances[children[region]] = np.linalg.norm(siblings - siblings.mean(axis=0), axis=1)
    return distances


def herb_scores(vectors: np.ndarray, name_likelihoods: np.ndarray, children: Children) -> HerbScores:
    """C_w and C_z, Eq. 8 to 10, from the leaves up.

    A leaf's C is the distance of its vector to the centroid of its siblings, itself included.
    An inner region's is the weighted mean distance of its sub-regions' V: heavier where the sub-regions are
    biased themselves (C_w, each form by its own values), or where their names are likely (C_z).
    """
    aggregated = aggregated_vectors(vectors, children)
    distances = np.nan_to_num(centroid_distances(vectors, children))  # a leaf without siblings is its own centroid
    scores = np.stack([distances] * 2 * len(FORMS), axis=1)  # C_w in both forms, then C_z
    scores[0] = np.nan
    for region in inner_regions(children):
        below, pairs = children[region], pair_count(len(children[region]))
        if not pairs:
            scores[region] = np.nan
            continue
        c_w_below = np.nan_to_num(scores[below, : len(FORMS)])  # a region with one sub-region counts as 0
        logits = np.column_stack([c_w_below, name_likelihoods[below]])
        by_c_w, by_c_w_paper, by_name = softmax_mean_distances(aggregated[below], logits)
        scores[region] = by_c_w, by_c_w_paper / pairs, by_name, by_name / pairs
    c_w, c_z = ({form: scores[:, start + k] for k, form in enumerate(FORMS)} for start in (0, len(FORMS)))
    return HerbScores(c_w, c_z)


def inner_regions(children: Children) -> list[int]:
    """The regions that have sub-regions, those below before those above; of a world few have any."""
    sizes = np.fromiter(map(len, children), dtype=np.int64, count=len(children))
    return np.flatnonzero(sizes)[::-1].tolist()
