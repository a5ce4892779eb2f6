"""Neighbourhood purity: the share of a point's nearest neighbours that have its label.

For each point take the k points nearest to it and count how many have its label; the mean share over all points is
the purity. Three points on a line, with k = 1:

    a    a      b        The nearest of each a is the other a; the nearest of b is an a: purity 2/3.

A label with many points has many neighbours by chance. So the labels are permuted many times with the neighbours fixed:
the mean purity of the permutations is the chance level, and the share of them (the observed one included) that reach
the observed purity is the p-value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PERMUTATIONS = 1000


@dataclass(frozen=True)
class Purity:
    """Purity, its chance level, and the p-value of the permutation test."""

    purity: float
    chance: float
    p_value: float


def nearest_neighbours(points: np.ndarray, k: int) -> np.ndarray:
    """points x k: positions of the k nearest other points by Euclidean distance, nearest first; ties by position."""
    positions = np.empty((len(points), k), dtype=np.int64)
    for i, point in enumerate(points):
        distances = ((points - point) ** 2).sum(axis=1)
        distances[i] = np.inf
        positions[i] = np.argsort(distances, kind="stable")[:k]
    return positions


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
