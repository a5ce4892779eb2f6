"""Do the members of a group lie closer together than random ones?

**Groups of regions** by the multi-response permutation procedure (MRPP). The statistic is the mean distance within
groups, each group weighted by its share of the members, delta = sum_g n_g / N * (mean distance between the members of
g) (Mielke and Berry 2001). Members are permuted over the groups, whose sizes stay. The expectation of delta is the mean
distance between all members, so the ratio of the two is 1 where the groups say nothing; below 1 members of a group lie
closer together, above 1 further apart.

**Neighbourhood purity** is the share of a point's nearest neighbours that have its label. For each point take the k
points nearest to it and count how many have its label; the mean share over all points is the purity. Three points on a
line, with k = 1:

    a    a      b        The nearest of each a is the other a; the nearest of b is an a: purity 2/3.

A label with many points has many neighbours by chance. So the labels are permuted many times with the neighbours fixed:
the mean purity of the permutations is the chance level, and the share of them (the observed one included) that reach
the observed purity is the p-value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from geobias.measures.estimates import Estimate
from geobias.measures.herb import descriptive_vectors, distances
from geobias.measures.random_regions import PERMUTATIONS, two_sided_p_value
from geobias.measures.word_jackknife import FEWEST_WORDS, jackknife_words

MOST_MEMBERS = 600  # whose distances are computed again without each word: some seconds
MOST_CELLS = 3 * 10**8  # distances read by all permutations


@dataclass(frozen=True)
class GroupingTest:
    """The mean distance within groups divided by that between all members."""

    ratio: Estimate
    """With its 95 % interval over words, where the members are few enough for it."""
    null_spread: float
    """Standard deviation of the ratio over the permutations."""


def compare_groups(
    likelihoods: Sequence[np.ndarray], groups: Sequence[np.ndarray], without_names: Sequence[np.ndarray] = ()
) -> GroupingTest | None:
    """Test groups of rows of the likelihoods (regions x words, one array for each template).

    With the vectors `without_names` (`measures/random_regions.py`), p is the larger of two, that of the likelihoods and
    that of these vectors; 1 where they have opposite directions.

    Groups of one have no distance and are left out. None for fewer than two groups, for too many members to permute,
    and where all members are at the same place.
    """
    groups = [group for group in groups if len(group) > 1]
    sizes = [len(group) for group in groups]
    if len(groups) < 2 or PERMUTATIONS * sum(size**2 for size in sizes) > MOST_CELLS:
        return None
    members = np.concatenate(groups)
    answers = [by_template[members] for by_template in likelihoods]
    ends = np.cumsum(sizes)
    blocks = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    def measure_distances(words: np.ndarray) -> np.ndarray:
        """The mean over templates."""
        return np.mean([distances(descriptive_vectors(f[:, words])) for f in answers], axis=0)

    def measure_ratio(between: np.ndarray, orders: np.ndarray) -> np.ndarray:
        within = np.zeros(len(orders))
        for block in blocks:
            size = block.stop - block.start
            sums = [between[np.ix_(order[block], order[block])].sum() for order in orders]
            within += size / len(members) * np.array(sums) / (size * (size - 1))
        overall = between.sum() / (len(members) * (len(members) - 1))
        return within / overall if overall > 0 else np.full(len(orders), np.nan)

    words, identity = answers[0].shape[1], np.arange(len(members))
    between = measure_distances(np.arange(words))
    if not between.max() > 0:
        return None
    orders = np.random.default_rng(0).permuted(np.tile(identity, (PERMUTATIONS, 1)), axis=1)
    observed = measure_ratio(between, identity[None])
    null = measure_ratio(between, orders)
    low = high = None
    if words >= FEWEST_WORDS and len(members) <= MOST_MEMBERS:
        jackknife = jackknife_words(lambda kept: measure_ratio(measure_distances(kept), identity[None]), words)
        estimate = jackknife.estimate_distances().at(0)
        low, high = estimate.low, estimate.high
    p = two_sided_p_value(observed, null)
    if without_names:
        between = np.mean([distances(vectors[members]) for vectors in without_names], axis=0)
        if between.max() > 0:
            ratio, random = measure_ratio(between, identity[None]), measure_ratio(between, orders)
            has_same_direction = (ratio > random.mean()) == (observed > null.mean())
            p = max(p, two_sided_p_value(ratio, random)) if has_same_direction else 1.0
    return GroupingTest(Estimate(float(observed[0]), low, high, p, p), float(null.std(ddof=1)))


@dataclass(frozen=True)
class Purity:
    """Purity, its chance level, and the p-value of the permutation test."""

    purity: float
    chance: float
    p_value: float


def nearest_neighbours(points: np.ndarray, k: int) -> np.ndarray:
    """points x k: positions of the k nearest other points by Euclidean distance, nearest first; ties by position."""
    squares = cdist(points, points, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


def unit_vectors(points: np.ndarray) -> np.ndarray:
    """Each point divided by its norm: Euclidean neighbours of these are cosine neighbours."""
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def purity(neighbours: np.ndarray, labels: Sequence[str], *, seed: int = 0) -> Purity:
    """Mean share of neighbours (from `nearest_neighbours`) with a point's label, and a permutation test of it."""
    _, label_ids = np.unique(labels, return_inverse=True)
    rng = np.random.default_rng(seed)

    def count_same_label(label_ids: np.ndarray) -> int:  # an integer, so that ties are exact
        return int((label_ids[neighbours] == label_ids[:, None]).sum())

    observed = count_same_label(label_ids)
    permuted = np.array([count_same_label(rng.permutation(label_ids)) for _ in range(PERMUTATIONS)])
    return Purity(
        purity=observed / neighbours.size,
        chance=float(permuted.mean()) / neighbours.size,
        p_value=(1 + int((permuted >= observed).sum())) / (1 + PERMUTATIONS),
    )
