"""A rotated design: wordings are removed, and what they add to the variance is what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from geobias.measures.estimates import bootstrap_means, t_quantile
from geobias.measures.prefix_effects import (
    add_variance,
    estimate_reference_variance,
    estimate_wording_variance,
    remove_wordings,
)
from geobias.texts.templates import rotate_wordings

TEXTS, PLACES, WORDINGS = 30, 120, 3
ROWS, COLUMNS = np.arange(TEXTS)[:, None], np.arange(PLACES)


def plant(seed: int, interaction: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, the rotation and the effects of places; wordings act on each text by themselves."""
    rng = np.random.default_rng(seed)
    rotation = rotate_wordings(TEXTS, PLACES, WORDINGS, seed=seed)
    effects = rng.normal(0, 0.02, PLACES)
    by_wording = rng.normal(0, 0.5, (TEXTS, WORDINGS))
    by_place = rng.normal(0, interaction, (PLACES, WORDINGS))
    values = by_wording[ROWS, rotation] + effects + by_place[COLUMNS, rotation]
    return values + (rng.normal(0, 0.03, values.shape) if interaction else 0), rotation, effects - effects.mean()


def test_each_place_meets_each_wording_equally_often() -> None:
    rotation = rotate_wordings(30, 50, 3)
    assert all((np.bincount(column) == 10).all() for column in rotation.T)
    assert len({tuple(column) for column in rotation.T}) == 50  # no two places share all texts of a wording
    assert not rotate_wordings(4, 2, 1).any()


def test_wordings_are_removed_exactly() -> None:
    values, rotation, effects = plant(0)
    remaining = remove_wordings(values, rotation)
    assert remaining.mean(axis=0) == pytest.approx(effects, abs=1e-9)
    single = remove_wordings(values, np.zeros_like(rotation))
    assert single == pytest.approx(values - values.mean(axis=1, keepdims=True))


def test_the_variance_between_wordings_is_estimated() -> None:
    estimates = [
        estimate_wording_variance(remove_wordings(values, rotation), rotation)
        for values, rotation, _ in (plant(seed, 0.03) for seed in range(20))
    ]
    assert np.sqrt(np.mean(estimates)) == pytest.approx(0.03, rel=0.05)
    values, rotation, _ = plant(0)
    assert estimate_wording_variance(remove_wordings(values, rotation), rotation) == pytest.approx(0, abs=1e-12)


def test_intervals_cover_effects_over_other_wordings() -> None:
    """With texts alone as a sample they would cover far fewer."""
    covered, alone = [], []
    for seed in range(20):
        values, rotation, effects = plant(seed, 0.03)
        remaining = remove_wordings(values, rotation)
        texts_only = bootstrap_means(remaining)
        variance = np.array(estimate_wording_variance(remaining, rotation) / WORDINGS)
        both = add_variance(texts_only, remaining, variance, np.array(0.0))
        covered.append(np.mean((both.low <= effects) & (effects <= both.high)))
        alone.append(np.mean((texts_only.low <= effects) & (effects <= texts_only.high)))
    assert 0.93 < np.mean(covered) < 0.97 and np.mean(alone) < 0.6


def test_a_variance_of_few_degrees_of_freedom_widens_as_students_t() -> None:
    values = np.tile([[0.9], [1.1]], (10, 1))
    variance = np.array([1.0])
    wide = add_variance(bootstrap_means(values), values, variance, variance**2 / 2)
    half_width = float(t_quantile(2.0) * np.sqrt(1 + values.var(ddof=1) / 20))
    assert (wide.high - wide.value)[0] == pytest.approx(half_width, rel=0.01)
    unchanged = bootstrap_means(values)
    assert add_variance(unchanged, values, np.array([0.0]), np.array([0.0])) is unchanged


def test_controls_that_differ_from_their_wordings_are_a_variance() -> None:
    values, rotation, _ = plant(1)
    remaining = remove_wordings(values, rotation)
    by_wording = np.stack(
        [np.where(rotation == k, values - remaining, 0).sum(axis=1) / (rotation == k).sum(axis=1) for k in range(3)],
        axis=1,
    )
    assert estimate_reference_variance(by_wording, values, remaining, rotation) == pytest.approx(0, abs=1e-12)
    shifted = by_wording + np.array([0.0, 0.1, 0.2])
    assert estimate_reference_variance(shifted, values, remaining, rotation) == pytest.approx(0.01, rel=1e-6)
