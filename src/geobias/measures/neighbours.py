"""Do things of one kind lie together? The share of a point's nearest neighbours that are of its own kind.

For each point take the k points nearest to it and count how many have its label; the mean share over all points is
the purity. Three points on a line, with k = 1:

    a    a      b        The nearest of each a is the other a; the nearest of b is an a: purity 2/3.

The number alone says little, since a kind with many points is near everything. So the labels are dealt out anew among
the points, many times, with the neighbours left as they are: the mean purity of these is what chance gives, and
the share of them (the real one counted in) that reach the real purity is the p-value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PERMUTATIONS = 1000


@dataclass(frozen=True)
class Purity:
    purity: float
    chance: float
    p_value: float


def nearest_neighbours(points: np.ndarray, k: int) -> np.ndarray:
    """For each point the positions of the k nearest others, nearest first; of equally near ones the earlier."""
    found = np.empty((len(points), k), dtype=np.int64)
    for i, point in enumerate(points):
        distances = ((points - point) ** 2).sum(axis=1)
        distances[i] = np.inf
        found[i] = np.argsort(distances, kind="stable")[:k]
    return found


def unit_vectors(points: np.ndarray) -> np.ndarray:
    """Each point at length 1: nearest among these is nearest by the cosine."""
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def purity(neighbours: np.ndarray, labels: Sequence[str], *, seed: int = 0) -> Purity:
    """The mean share of neighbours (as `nearest` gives them) with a point's own label, and what chance gives."""
    _, kinds = np.unique(labels, return_inverse=True)
    rng = np.random.default_rng(seed)
    real = _count_same_label(neighbours, kinds)
    dealt = np.array([_count_same_label(neighbours, rng.permutation(kinds)) for _ in range(PERMUTATIONS)])
    return Purity(
        purity=real / neighbours.size,
        chance=float(dealt.mean()) / neighbours.size,
        p_value=(1 + int((dealt >= real).sum())) / (1 + PERMUTATIONS),
    )


def _count_same_label(neighbours: np.ndarray, kinds: np.ndarray) -> int:
    """How many neighbours have the label of the point that they are near to; whole numbers, so ties are exact."""
    return int((kinds[neighbours] == kinds[:, None]).sum())
