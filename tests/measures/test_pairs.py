"""Sums over pairs, against double loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from geobias.measures import herb


def test_mean_distance_by_hand() -> None:
    triangle = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    assert herb.mean_distance(triangle) == pytest.approx((3 + 4 + 5) / 3)


@pytest.mark.parametrize("block", [1, 7, 2**21])
def test_weighted_means_equal_the_double_loop(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(herb, "BLOCK", block)
    rng = np.random.default_rng(1)
    points, logits = rng.normal(size=(9, 4)), rng.normal(size=(9, 2)) * 3
    found = herb.softmax_mean_distances(points, logits)
    for column in range(2):
        weights, distances = [], []
        for i, j in combinations(range(9), 2):
            weights.append(np.exp(logits[i, column] + logits[j, column]))
            distances.append(np.linalg.norm(points[i] - points[j]))
        assert found[column] == pytest.approx(np.average(distances, weights=weights), rel=1e-12)
    plain = np.mean([np.linalg.norm(points[i] - points[j]) for i, j in combinations(range(9), 2)])
    assert herb.mean_distance(points) == pytest.approx(plain, rel=1e-12)


def test_extreme_weights_neither_cancel_nor_overflow() -> None:
    points = np.array([[0.0], [1.0], [5.0]])
    # One sub-region outweighs all others by e^60: the pairs with it share all the weight between them.
    assert herb.softmax_mean_distances(points, np.array([[0.0], [60.0], [0.0]]))[0] == pytest.approx((1 + 4) / 2)
    assert herb.softmax_mean_distances(points, np.array([[-900.0], [0.0], [-901.0]]))[0] == pytest.approx(
        (1 + 4 * np.exp(-1)) / (1 + np.exp(-1))
    )


def test_absolute_differences_equal_the_double_loop() -> None:
    points = np.random.default_rng(2).normal(size=(11, 5))
    expected = np.mean([np.abs(points[i] - points[j]) for i, j in combinations(range(11), 2)], axis=0)
    np.testing.assert_allclose(herb.mean_absolute_differences(points), expected, rtol=1e-12)


def test_equal_points_are_at_distance_exactly_zero() -> None:
    point = np.random.default_rng(3).normal(size=(1, 112))
    same = np.repeat(point / np.linalg.norm(point), 50, axis=0)
    assert herb.mean_distance(same) == 0.0
    assert herb.softmax_mean_distances(same, np.zeros((50, 1)))[0] == 0.0
    assert (herb.mean_absolute_differences(same) == 0.0).all()


def test_tiny_distances_keep_their_digits() -> None:
    base = np.full((2, 112), 112**-0.5)
    base[1, 0] += 1e-12
    assert herb.mean_distance(base) == pytest.approx(1e-12, rel=1e-3)


def test_distances_keep_their_digits_at_every_scale() -> None:
    """Points from 1 down to 1e-13 apart, against differences taken one by one in extended precision."""
    rng = np.random.default_rng(4)
    steps = np.concatenate([10.0**-k * rng.normal(size=(30, 112)) for k in range(14)])
    points = np.vstack([rng.normal(size=112) + steps, rng.normal(size=(3000, 112))])  # few enough near pairs
    found = herb.distances(points)
    exact = np.array([np.sqrt(((points[i].astype(np.longdouble) - points[:420]) ** 2).sum(1)) for i in range(420)])
    apart = ~np.eye(420, dtype=bool)
    np.testing.assert_allclose(found[:420, :420][apart], exact[apart].astype(float), rtol=1e-10)
    assert (np.diag(found) == 0).all()


def test_many_near_points_are_taken_from_their_differences() -> None:
    rng = np.random.default_rng(6)
    points = 1.0 + 1e-9 * rng.normal(size=(200, 30))
    exact = [[np.linalg.norm(a - b) for b in points] for a in points]
    np.testing.assert_allclose(herb.distances(points), exact, rtol=1e-12)


def test_no_pair() -> None:
    one = np.ones((1, 3))
    assert np.isnan(herb.mean_distance(one))
    assert (herb.mean_absolute_differences(one) == 0).all()
    with pytest.raises(ValueError, match="two points"):
        herb.softmax_mean_distances(one, np.zeros((1, 1)))
