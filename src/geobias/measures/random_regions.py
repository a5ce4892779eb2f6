"""Is a region's score what any sub-regions would give? Random regions in its place, and what a single sub-region does.

Sub-regions are enumerated, not sampled: Africa has these countries and no others. So they are not bootstrapped. The
question is instead whether a cluster is sparser or denser than as many regions drawn from its whole level, and how far
the score hangs on one of them.

| | |
|---|---|
| region below the root | as many sub-regions drawn from their level, each with its own subtree as it is |
| root | the regions two levels below permuted over those directly below, whose sizes stay; all above recomputed |
| leave-one-out | the score without each sub-region in turn |

Regions of one level and size share their draws: their random regions are the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.special import softmax

from geobias.measures.estimates import SIGNIFICANT, benjamini_hochberg, monte_carlo_p_value
from geobias.measures.herb import Children, aggregated_vectors
from geobias.measures.pairs import distances, mean_absolute_differences

PERMUTATIONS = 1000
LARGEST_LEVEL = 3000  # regions: two matrices of 72 MB
MOST_CELLS = 10**9  # distances looked up for the draws of one level: some ten seconds
CHUNK = 2**20  # of them at once
MEASURES = ("c_w", "sparseness")
POWER = 0.8  # of the effects that are said to be found


@dataclass(frozen=True)
class RandomRegionTests:
    """For every region and both measures: the mean of its random regions, and two-sided p-values; NaN where none."""

    mean: dict[str, np.ndarray]
    p: dict[str, np.ndarray]
    p_adjusted: dict[str, np.ndarray]  # corrected over the inner regions of a level
    too_large: int  # regions whose draws would take too long


@dataclass(frozen=True)
class LeaveOneOut:
    """The sub-region whose absence changes a region's balanced C_w most, and the score without it."""

    region: int
    value: float


@dataclass(frozen=True)
class LevelDistances:
    """The regions of one level as sub-regions of whatever region they are put into."""

    plain: np.ndarray  # distances of v
    apart: np.ndarray  # distances of V
    own: np.ndarray  # balanced C_w of an inner region, 0 without one; a leaf's depends on its siblings
    leaf: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, vectors: np.ndarray, c_w: np.ndarray, children: Children) -> LevelDistances:
        plain, apart = (_all_distances(points[rows]) for points in (vectors, aggregated_vectors(vectors, children)))
        return cls(plain, apart, np.nan_to_num(c_w[rows]), np.array([len(children[row]) == 0 for row in rows]))

    def scores(self, members: np.ndarray) -> dict[str, np.ndarray]:
        """Balanced C_w (Eq. 8, 9) and sparseness (Eq. 3) of regions with these sub-regions, a row of positions each.

        A region of one sub-region has neither and counts as 0, as in Eq. 9.
        """
        count, n = members.shape
        found = {measure: np.zeros(count) for measure in MEASURES}
        if n < 2:
            return found
        first, second = np.triu_indices(n, 1)
        step = max(1, CHUNK // n**2)
        for chunk in (slice(start, start + step) for start in range(0, count, step)):
            some = members[chunk]
            plain = self.plain[some[:, :, None], some[:, None, :]]
            # The squared distance of a point to the centroid, from the squared distances of the points alone.
            squares = (plain**2).mean(axis=2)
            from_centroid = np.sqrt(np.maximum(squares - squares.mean(axis=1, keepdims=True) / 2, 0.0))
            own = np.where(self.leaf[some], from_centroid, self.own[some])
            weights = softmax(own[:, first] + own[:, second], axis=1)
            found["c_w"][chunk] = (weights * self.apart[some[:, first], some[:, second]]).sum(axis=1)
            found["sparseness"][chunk] = plain[:, first, second].mean(axis=1)
        return found


def rows_by_level(children: Children) -> list[np.ndarray]:
    """The rows of every level, from the root down."""
    found = [np.array([0])]
    while len(below := np.concatenate([children[row] for row in found[-1]])):
        found.append(np.sort(below))
    return found


def compare_with_random_regions(
    vectors: Sequence[np.ndarray], c_w: Sequence[np.ndarray], children: Children, *, draws: int = PERMUTATIONS
) -> RandomRegionTests:
    """Random regions for every inner region; vectors and balanced C_w are those of each template, all count alike."""
    rng = np.random.default_rng(0)
    mean, p, adjusted = ({measure: np.full(len(children), np.nan) for measure in MEASURES} for _ in range(3))
    too_large = 0
    levels = rows_by_level(children)
    for depth in range(1, len(levels) - 1):
        inner, rows = [row for row in levels[depth] if len(children[row]) > 1], levels[depth + 1]
        inner = [row for row in inner if len(children[row]) < len(rows)]  # the whole level has nothing to compare with
        fitting = _affordable_sizes([len(children[row]) for row in inner], len(rows), draws)
        too_large += sum(len(children[row]) not in fitting for row in inner)
        inner = [row for row in inner if len(children[row]) in fitting]
        whole_root = depth == 1 and len(rows) <= LARGEST_LEVEL and sum(len(children[r]) > 0 for r in levels[1]) > 1
        if not inner and not whole_root:
            continue
        order = rng.permuted(np.tile(np.arange(len(rows)), (draws, 1)), axis=1)
        random: dict[int, dict[str, np.ndarray]] = {}
        observed: dict[int, dict[str, np.ndarray]] = {}
        for v, own in zip(vectors, c_w, strict=True):
            level = LevelDistances.of(rows, v, own, children)
            for size in fitting:
                _add_scores(random, size, level.scores(order[:, :size]))
            for row in inner:
                _add_scores(observed, row, level.scores(np.searchsorted(rows, children[row])[None]))
            if whole_root:
                _add_scores(random, 0, {"c_w": permuted_root_scores(level, order, v, children)})
                here = np.searchsorted(rows, np.concatenate([children[r] for r in children[0]]))
                _add_scores(observed, 0, {"c_w": permuted_root_scores(level, here[None], v, children)})
        for row in [*inner, *([0] if whole_root else [])]:
            drawn = random[len(children[row]) if row else 0]
            for measure, values in observed[row].items():
                mean[measure][row] = drawn[measure].mean() / len(vectors)
                p[measure][row] = two_sided_p_value(values, drawn[measure])
        for measure in MEASURES:
            adjusted[measure][inner] = benjamini_hochberg(p[measure][inner])
    adjusted["c_w"][0] = p["c_w"][0]  # the only one of its level
    return RandomRegionTests(mean, p, adjusted, too_large)


def permuted_root_scores(
    level: LevelDistances, order: np.ndarray, vectors: np.ndarray, children: Children
) -> np.ndarray:
    """The root's balanced C_w, the level two below it dealt out to those directly below in each of these orders."""
    top = children[0]
    own = np.zeros((len(order), len(top)))
    points = np.repeat(vectors[top][None], len(order), axis=0)
    below = vectors[rows_by_level(children)[2]]
    centroid = vectors[top].mean(axis=0)
    start = 0
    for k, row in enumerate(top):
        dealt = order[:, start : start + len(children[row])]
        start += len(children[row])
        if not dealt.shape[1]:
            own[:, k] = np.linalg.norm(vectors[row] - centroid)
            continue
        own[:, k] = level.scores(dealt)["c_w"]
        for i, members in enumerate(dealt):
            alpha = softmax(mean_absolute_differences(below[members]))
            points[i, k] += alpha * below[members].mean(axis=0)
    return weighted_mean_distances(points, own)[0]


def weighted_mean_distances(points: np.ndarray, *logits: np.ndarray) -> np.ndarray:
    """Eq. 8 to 10 for many sets of points (sets x points x words) at once: a row for each array of logits.

    By dot products of centred points, right to about 1e-8 of a set's width: enough for an interval or a test.
    """
    first, second = np.triu_indices(points.shape[1], 1)
    centred = points - points.mean(axis=1, keepdims=True)
    products = centred @ centred.swapaxes(1, 2)
    sizes = np.einsum("bii->bi", products)
    squares = sizes[:, first] + sizes[:, second] - 2 * products[:, first, second]
    apart = np.sqrt(np.maximum(squares, 0.0))
    return np.array([(softmax(own[:, first] + own[:, second], axis=1) * apart).sum(axis=1) for own in logits])


def leave_one_out(
    vectors: Sequence[np.ndarray], c_w: Sequence[np.ndarray], children: Children
) -> dict[int, LeaveOneOut | None]:
    """For the root and the inner regions directly below it; None for one of two sub-regions, or of too many."""
    found: dict[int, LeaveOneOut | None] = {}
    levels = rows_by_level(children)
    for parents, rows in pairwise(levels[:3]):
        tried = {int(row): children[row] for row in parents if 2 < len(children[row]) <= MOST_CELLS ** (1 / 3)}
        found |= {int(row): None for row in parents if len(children[row]) > 1}
        if not tried or len(rows) > LARGEST_LEVEL:
            continue
        by_template = [LevelDistances.of(rows, v, own, children) for v, own in zip(vectors, c_w, strict=True)]
        for row, below in tried.items():
            members = np.searchsorted(rows, below)
            without = np.array([np.delete(members, k) for k in range(len(members))])
            values = np.mean([level.scores(without)["c_w"] for level in by_template], axis=0)
            whole = np.mean([level.scores(members[None])["c_w"] for level in by_template])
            most = int(np.argmax(np.abs(values - whole)))
            found[row] = LeaveOneOut(int(below[most]), float(values[most]))
    return found


def minimum_detectable_ratio(pilot: np.ndarray, size: int, level: int, tests: int) -> float:
    """The smallest ratio of a region's sparseness to random ones that is found 4 times of 5, one of so many tested.

    From the vectors of a few regions (`pilot`) of the level: a mean over the pairs of `size` of them varies as
    regions do in their mean distance to others, and as single pairs do; less so where most of the level is drawn. One
    region alone is marked where its p is below 5 % divided by the number of tests.
    """
    apart = _all_distances(pilot)
    pairs = apart[np.triu_indices(len(pilot), 1)]
    by_region, by_pair = np.var(apart.sum(axis=1) / (len(pilot) - 1), ddof=1), np.var(pairs, ddof=1)
    variance = (4 * (size - 2) * by_region + 2 * by_pair) / (size * (size - 1)) * (1 - size / level)
    reach = stats.norm.isf(SIGNIFICANT / 2 / tests) + stats.norm.ppf(POWER)
    return float(1 + reach * np.sqrt(variance) / pairs.mean()) if pairs.mean() > 0 else np.nan


def two_sided_p_value(observed: np.ndarray, drawn: np.ndarray) -> float:
    """Twice the smaller tail, at most 1."""
    tails = monte_carlo_p_value(observed, drawn), monte_carlo_p_value(-observed, -drawn)
    return min(1.0, 2 * min(float(tail.item()) for tail in tails))


def _affordable_sizes(sizes: Sequence[int], level: int, draws: int) -> list[int]:
    """The sizes whose draws fit into the time given, the small ones first."""
    ordered = np.unique(sizes).astype(np.int64)
    return [int(n) for n in ordered[np.cumsum(ordered**2) * draws <= MOST_CELLS]] if level <= LARGEST_LEVEL else []


def _all_distances(points: np.ndarray) -> np.ndarray:
    centred = points - points.mean(axis=0)
    return distances(centred)


def _add_scores(sums: dict[int, dict[str, np.ndarray]], key: int, values: dict[str, np.ndarray]) -> None:
    for measure, value in values.items():
        sums.setdefault(key, {})[measure] = sums.get(key, {}).get(measure, 0.0) + value
