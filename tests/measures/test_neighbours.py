"""Purity of neighbours, by hand and by brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from geobias.measures.grouping import nearest_neighbours, purity, unit_vectors
from geobias.measures.random_regions import PERMUTATIONS


def test_by_hand() -> None:
    """On a line: a at 0 and 1, b at 3. Each a has the other a; b has an a."""
    points = np.array([[0.0], [1.0], [3.0]])
    near = nearest_neighbours(points, 1)
    assert near.tolist() == [[1], [0], [1]]
    found = purity(near, ["a", "a", "b"])
    assert found.purity == pytest.approx(2 / 3)
    # Of the three ways to deal the labels: b at 0 or at 1 leaves 0 or 1 neighbour of one's own kind, b at 3 leaves 2.
    shares = {order: sum(order[i] == order[j] for i, (j,) in enumerate(near)) for order in set(permutations("aab"))}
    assert sorted(shares.values()) == [0, 1, 2]
    assert found.chance == pytest.approx(np.mean(list(shares.values())) / 3, abs=0.03)
    assert found.p_value == pytest.approx(1 / 3, abs=0.05)


def test_against_brute_force() -> None:
    rng = np.random.default_rng(3)
    points, labels, k = rng.normal(size=(30, 5)), rng.choice(list("xyz"), size=30).tolist(), 4
    shares = []
    for i in range(30):
        cosine = {
            j: float(points[i] @ points[j] / np.sqrt(points[i] @ points[i]) / np.sqrt(points[j] @ points[j]))
            for j in range(30)
            if j != i
        }
        closest = sorted(cosine, key=lambda j: -cosine[j])[:k]
        assert nearest_neighbours(unit_vectors(points), k)[i].tolist() == closest
        shares.append(np.mean([labels[j] == labels[i] for j in closest]))
    assert purity(nearest_neighbours(unit_vectors(points), k), labels).purity == pytest.approx(np.mean(shares))


def test_kinds_apart_are_pure_and_beyond_chance() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 0.1, (20, 2)), rng.normal(9, 0.1, (20, 2))])
    found = purity(nearest_neighbours(points, 5), ["a"] * 20 + ["b"] * 20)
    assert found.purity == 1
    assert found.chance == pytest.approx(19 / 39, abs=0.02)
    assert found.p_value == 1 / (1 + PERMUTATIONS)


def test_one_kind_alone_says_nothing_and_equal_points_are_no_problem() -> None:
    found = purity(nearest_neighbours(np.zeros((6, 2)), 2), ["a"] * 6)
    assert (found.purity, found.chance, found.p_value) == (1, 1, 1)
    assert nearest_neighbours(np.zeros((3, 1)), 2).tolist() == [[1, 2], [0, 2], [0, 1]]
