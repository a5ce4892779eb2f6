"""Partial correlations against residuals of a regression, and intervals that hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench.calibrate import acceptance
from geobias.measures.partial import correlations


def residuals(values: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(values)), fixed])
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def test_partial_is_the_correlation_of_residuals() -> None:
    rng = np.random.default_rng(1)
    fixed = rng.normal(size=(60, 2)) * [30, 5] + [100, 20]
    x = fixed @ [0.02, 0.1] + rng.normal(size=60)
    y = np.column_stack([fixed @ [0.01, -0.05] + rng.normal(size=60) + 0.5 * x, rng.normal(size=60)])
    plain, partial = correlations(x, y, fixed, np.arange(60), resamples=200)
    for k in range(2):
        assert plain.value[k] == pytest.approx(stats.pearsonr(x, y[:, k]).statistic)
        expected = stats.pearsonr(residuals(x, fixed), residuals(y[:, k], fixed)).statistic
        assert partial.value[k] == pytest.approx(expected)
    assert (plain.low <= plain.value).all() and (plain.value <= plain.high).all()


def test_a_name_that_is_merely_long_is_not_strange() -> None:
    rng = np.random.default_rng(2)
    length = rng.poisson(6, 400).astype(float)
    x, y = length + rng.normal(0, 1, 400), (length + rng.normal(0, 1, 400))[:, None]
    plain, partial = correlations(x, y, length[:, None], np.arange(400) // 4, resamples=400)
    assert plain.low[0] > 0.7 and partial.low[0] < 0 < partial.high[0] and partial.p[0] > 0.05


def test_what_is_not_known_takes_no_part_and_constants_do_no_harm() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=30), rng.normal(size=(30, 1))
    fixed = np.full((30, 2), 7.0)
    plain, partial = correlations(x, y, fixed, np.arange(30), resamples=100)
    np.testing.assert_allclose(partial.value, plain.value)
    gaps = np.where(np.arange(30) < 10, np.nan, x)
    found, _ = correlations(gaps, y, fixed, np.arange(30), resamples=100)
    assert found.value[0] == pytest.approx(stats.pearsonr(x[10:], y[10:, 0]).statistic)
    assert np.isnan(correlations(np.full(30, 1.0), y, fixed, np.arange(30), resamples=100)[0].value[0])
    few, _ = correlations(x[:3], y[:3], fixed[:3], np.arange(3), resamples=100)
    assert few.at(0)["low"] is None


def test_intervals_hold_the_truth_when_versions_of_a_text_go_together() -> None:
    covered = 0.0
    for i in range(200):
        rng = np.random.default_rng([4, i])
        of_text = rng.normal(size=(60, 2)) @ np.array([[1, 0.3], [0, 0.95]])  # correlated by about .3 between texts
        x = np.repeat(of_text[:, 0], 4) + rng.normal(0, 0.1, 240)
        y = np.repeat(of_text[:, 1], 4) + rng.normal(0, 0.1, 240)
        plain, _ = correlations(x, y[:, None], np.zeros((240, 1)), np.repeat(np.arange(60), 4), seed=i, resamples=400)
        covered += plain.low[0] <= 0.298 <= plain.high[0]
    assert covered / 200 >= acceptance(0.95, 200)[0]
