"""Permutation tests of a region's score against random sets of sub-regions, and its leave-one-out scores.

Sub-regions are enumerated, not sampled: Africa has these countries and no others. So they are not bootstrapped. The
tests ask instead whether a cluster is sparser or denser than a random set of the same size from its level.

| | |
|---|---|
| region below the root | random sets of as many sub-regions from their level, each with its own subtree |
| root | the regions two levels below permuted over those directly below, whose sizes stay; all above recomputed |
| leave-one-out | the score without each sub-region in turn |

Regions of one level and size share their random sets.

A model whose likelihoods depend on the length of a name alone puts Europe's countries closer together than random
ones, because the names of a continent are alike. So a region is tested twice: as it is, and with the effect of the
names of its level removed (`remove_name_effects`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat

import numpy as np
from scipy.special import softmax

from geobias.measures.estimates import benjamini_hochberg, monte_carlo_p_value
from geobias.measures.herb import Children, aggregated_vectors, distances, mean_absolute_differences

FEWEST_FOR_SQUARES = 40  # regions of a level: with fewer, squares of the traits fit noise


def remove_name_effects(vectors: np.ndarray, traits: Sequence[np.ndarray], levels: Sequence[np.ndarray]) -> np.ndarray:
    """Vectors (regions x words) without the linear and quadratic effect of traits of names, level by level.

    The mean of each level stays as it is.
    """
    residuals = vectors.copy()
    for rows in levels:
        columns = [trait[rows] for trait in traits if np.ptp(trait[rows]) > 0]
        if not columns or not np.isfinite(columns).all():
            continue
        standardised = [(column - column.mean()) / column.std() for column in columns]
        if len(rows) >= FEWEST_FOR_SQUARES:
            standardised += [column**2 for column in standardised]
        if len(rows) < 2 * (len(standardised) + 1):
            continue
        x = np.column_stack(standardised)
        x -= x.mean(axis=0)
        residuals[rows] -= x @ np.linalg.lstsq(x, vectors[rows], rcond=None)[0]
    return residuals


PERMUTATIONS = 1000
LARGEST_LEVEL = 3000  # regions: two matrices of 72 MB
MOST_CELLS = 10**9  # distances read for the random sets of one level: some ten seconds
CHUNK = 2**20  # distances held at once
MIN_REGIONS = 10  # of a level, for a statement about the level


@dataclass(frozen=True)
class RandomRegionTests:
    """For every region the mean of balanced C_w over random regions, and two-sided p-values; NaN where not tested."""

    mean: np.ndarray
    is_sparser: np.ndarray  # than the mean
    p: np.ndarray
    p_adjusted: np.ndarray  # over the inner regions of a level
    too_large: int  # number of regions whose test would take too long


@dataclass(frozen=True)
class LeaveOneOut:
    """The sub-region whose omission changes a region's balanced C_w most, and the score without it."""

    region: int
    value: float


@dataclass(frozen=True)
class LevelDistances:
    """Distances between the regions of one level, as sub-regions of any set they are put into."""

    v_distances: np.ndarray
    aggregated_distances: np.ndarray  # of V
    c_w: np.ndarray  # balanced C_w of inner regions, 0 without one; that of a leaf depends on its siblings
    is_leaf: np.ndarray

    @classmethod
    def from_vectors(cls, rows: np.ndarray, vectors: np.ndarray, c_w: np.ndarray, children: Children) -> LevelDistances:
        return cls(
            _centred_distances(vectors[rows]),
            _centred_distances(aggregated_vectors(vectors, children)[rows]),
            np.nan_to_num(c_w[rows]),
            np.array([len(children[row]) == 0 for row in rows]),
        )

    def scores(self, members: np.ndarray) -> np.ndarray:
        """Balanced C_w (Eq. 8, 9) of sets of sub-regions, given as rows of positions.

        A set of one sub-region has none and counts as 0, as in Eq. 9.
        """
        count, n = members.shape
        scores = np.zeros(count)
        if n < 2:
            return scores
        first, second = np.triu_indices(n, 1)
        step = max(1, CHUNK // n**2)
        for chunk in (slice(start, start + step) for start in range(0, count, step)):
            sets = members[chunk]
            distances = self.v_distances[sets[:, :, None], sets[:, None, :]]
            # The squared distance to the centroid follows from the squared distances between the points.
            squares = (distances**2).mean(axis=2)
            centroid_distance = np.sqrt(np.maximum(squares - squares.mean(axis=1, keepdims=True) / 2, 0.0))
            c_w = np.where(self.is_leaf[sets], centroid_distance, self.c_w[sets])
            weights = softmax(c_w[:, first] + c_w[:, second], axis=1)
            scores[chunk] = (weights * self.aggregated_distances[sets[:, first], sets[:, second]]).sum(axis=1)
        return scores


def rows_by_level(children: Children) -> list[np.ndarray]:
    """The rows of every level, from the root down."""
    levels = [np.array([0])]
    while len(below := np.concatenate([children[row] for row in levels[-1]])):
        levels.append(np.sort(below))
    return levels


def main_level(children: Children) -> np.ndarray:
    """The rows of the level at which names are studied: the highest of ten regions or more, else the largest."""
    levels = rows_by_level(children)[1:]
    return next((rows for rows in levels if len(rows) >= MIN_REGIONS), max(levels, key=len))


def top_rows_with_pairs(children: Children) -> list[int]:
    """The root and the regions directly below it, those that have two sub-regions to compare."""
    return [row for row in (0, *children[0].tolist()) if len(children[row]) > 1]


def top_groups(children: Children) -> list[np.ndarray]:
    """The sub-regions of the regions of the highest level at which two regions have a pair of them; else none."""
    for level in rows_by_level(children)[1:]:
        groups = [children[row] for row in level if len(children[row]) > 1]
        if len(groups) > 1:
            return groups
    return []


def compare_with_random_regions(
    vectors: Sequence[np.ndarray], c_w: Sequence[np.ndarray], children: Children, *, draws: int = PERMUTATIONS
) -> RandomRegionTests:
    """Test every inner region against random sets of sub-regions; vectors and balanced C_w by template, averaged."""
    rng = np.random.default_rng(0)
    mean, p = (np.full(len(children), np.nan) for _ in range(2))
    is_sparser = np.zeros(len(children), dtype=bool)
    too_large = 0
    levels = rows_by_level(children)
    for depth in range(1, len(levels) - 1):
        rows = levels[depth + 1]
        inner = [row for row in levels[depth] if 1 < len(children[row]) < len(rows)]  # the whole level is only one set
        sizes = _affordable_sizes([len(children[row]) for row in inner], len(rows), draws)
        too_large += sum(len(children[row]) not in sizes for row in inner)
        inner = [row for row in inner if len(children[row]) in sizes]
        tests_root = depth == 1 and len(rows) <= LARGEST_LEVEL and sum(len(children[r]) > 0 for r in levels[1]) > 1
        if not inner and not tests_root:
            continue
        order = rng.permuted(np.tile(np.arange(len(rows)), (draws, 1)), axis=1)
        by_template = [LevelDistances.from_vectors(rows, v, c, children) for v, c in zip(vectors, c_w, strict=True)]
        random = {size: _sum_scores(by_template, order[:, :size]) for size in sizes}
        observed = {row: _sum_scores(by_template, np.searchsorted(rows, children[row])[None]) for row in inner}
        if tests_root:
            identity = np.searchsorted(rows, np.concatenate([children[r] for r in children[0]]))
            for scores, orders in ((random, order), (observed, identity[None])):
                by_root = map(permuted_root_scores, by_template, repeat(orders), vectors, repeat(children))
                scores[0] = np.sum(list(by_root), axis=0)
        for row, values in observed.items():
            null = random[len(children[row]) if row else 0]
            mean[row] = null.mean() / len(vectors)
            is_sparser[row] = values[0] > null.mean()
            p[row] = two_sided_p_value(values, null)
    return RandomRegionTests(mean, is_sparser, p, _adjust_by_level(p, levels), too_large)


def require_both(tests: RandomRegionTests, without_names: RandomRegionTests, children: Children) -> RandomRegionTests:
    """The larger p-value of each region, as it is and without the effect of names (`measures/random_regions.py`).

    1 where they have opposite directions: what is left of regions whose names are alike lies further apart.
    """
    has_same_direction = tests.is_sparser == without_names.is_sparser
    opposite = np.where(np.isnan(tests.p), np.nan, 1.0)
    p = np.where(has_same_direction, np.fmax(tests.p, without_names.p), opposite)
    return replace(tests, p=p, p_adjusted=_adjust_by_level(p, rows_by_level(children)))


def _adjust_by_level(p: np.ndarray, levels: Sequence[np.ndarray]) -> np.ndarray:
    adjusted = np.full(p.shape, np.nan)
    for rows in levels:
        adjusted[rows] = benjamini_hochberg(p[rows])
    return adjusted


def permuted_root_scores(
    level: LevelDistances, order: np.ndarray, vectors: np.ndarray, children: Children
) -> np.ndarray:
    """The root's balanced C_w, the level two below it assigned to that directly below in each of these orders."""
    top = children[0]
    c_w = np.zeros((len(order), len(top)))
    points = np.repeat(vectors[top][None], len(order), axis=0)
    below = vectors[rows_by_level(children)[2]]
    centroid = vectors[top].mean(axis=0)
    start = 0
    for k, row in enumerate(top):
        assigned = order[:, start : start + len(children[row])]
        start += len(children[row])
        if not assigned.shape[1]:
            c_w[:, k] = np.linalg.norm(vectors[row] - centroid)
            continue
        c_w[:, k] = level.scores(assigned)
        for i, members in enumerate(assigned):
            alpha = softmax(mean_absolute_differences(below[members]))
            points[i, k] += alpha * below[members].mean(axis=0)
    return weighted_mean_distances(points, c_w)


def weighted_mean_distances(points: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """Eq. 8 and 9 for many sets of points (sets x points x words) at once, with logits of sets x points.

    By dot products of centred points, accurate to about 1e-8 of a set's width: enough for an interval or a test.
    """
    first, second = np.triu_indices(points.shape[1], 1)
    centred = points - points.mean(axis=1, keepdims=True)
    products = centred @ centred.swapaxes(1, 2)
    sizes = np.einsum("bii->bi", products)
    squares = sizes[:, first] + sizes[:, second] - 2 * products[:, first, second]
    weights = softmax(logits[:, first] + logits[:, second], axis=1)
    return np.asarray((weights * np.sqrt(np.maximum(squares, 0.0))).sum(axis=1))


def leave_one_out(
    vectors: Sequence[np.ndarray], c_w: Sequence[np.ndarray], children: Children
) -> dict[int, LeaveOneOut | None]:
    """The most influential sub-region of the root and of inner regions below it; None for two sub-regions, or many."""
    most_influential: dict[int, LeaveOneOut | None] = {}
    levels = rows_by_level(children)
    for parents, rows in pairwise(levels[:3]):
        candidates = {int(row): children[row] for row in parents if 2 < len(children[row]) <= MOST_CELLS ** (1 / 3)}
        most_influential |= {int(row): None for row in parents if len(children[row]) > 1}
        if not candidates or len(rows) > LARGEST_LEVEL:
            continue
        by_template = [LevelDistances.from_vectors(rows, v, c, children) for v, c in zip(vectors, c_w, strict=True)]
        for row, below in candidates.items():
            members = np.searchsorted(rows, below)
            without = np.array([np.delete(members, k) for k in range(len(members))])
            values = np.mean([level.scores(without) for level in by_template], axis=0)
            whole = np.mean([level.scores(members[None]) for level in by_template])
            k = int(np.argmax(np.abs(values - whole)))
            most_influential[row] = LeaveOneOut(int(below[k]), float(values[k]))
    return most_influential


def two_sided_p_value(observed: np.ndarray, null: np.ndarray) -> float:
    """Twice the smaller Monte Carlo p-value of both tails, at most 1."""
    tails = monte_carlo_p_value(observed, null), monte_carlo_p_value(-observed, -null)
    return min(1.0, 2 * min(float(tail.item()) for tail in tails))


def _affordable_sizes(sizes: Sequence[int], level: int, draws: int) -> list[int]:
    """The sizes whose random sets stay within `MOST_CELLS`, small ones first."""
    ordered = np.unique(sizes).astype(np.int64)
    return [int(n) for n in ordered[np.cumsum(ordered**2) * draws <= MOST_CELLS]] if level <= LARGEST_LEVEL else []


def _centred_distances(points: np.ndarray) -> np.ndarray:
    return distances(points - points.mean(axis=0))


def _sum_scores(levels: Sequence[LevelDistances], members: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum([level.scores(members) for level in levels], axis=0))
