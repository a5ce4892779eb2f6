"""Means over texts: against explicit resampling, and calibrated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench.calibration_cells import acceptance
from geobias.measures import estimates
from geobias.measures.estimates import Estimate, bootstrap_means


def test_it_is_the_bootstrap_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(1, 2, (30, 4, 3))
    found = bootstrap_means(values, seed=5, resamples=400)
    times = np.random.default_rng(5).multinomial(30, np.full(30, 1 / 30), size=400)
    means = np.einsum("bt,tij->bij", times, values) / 30
    off = (means - values.mean(axis=0)) * np.sqrt(30 / 29) * stats.t.ppf(0.975, 29) / stats.norm.ppf(0.975)
    np.testing.assert_allclose(found.low, values.mean(axis=0) + np.quantile(off, 0.025, axis=0))
    np.testing.assert_allclose(found.value, values.mean(axis=0))
    monkeypatch.setattr(estimates, "AT_ONCE", 1000)  # a few columns at a time give the same
    again = bootstrap_means(values, seed=5, resamples=400)
    np.testing.assert_allclose(again.high, found.high)
    np.testing.assert_allclose(again.p_adjusted, found.p_adjusted)


def test_one_text_says_nothing_of_others() -> None:
    assert bootstrap_means(np.ones((1, 2))).at(0) == Estimate(1.0, None, None, None, None)


def test_coverage_and_false_alarms() -> None:
    covered = alarms = 0.0
    for i in range(400):
        values = np.random.default_rng([9, i]).normal(0, 1, (40, 10)) + np.r_[0.5, np.zeros(9)]
        found = bootstrap_means(values, seed=i, resamples=400)
        covered += found.low[0] <= 0.5 <= found.high[0]
        alarms += (bootstrap_means(values[:, 1:], seed=i, resamples=400).p_adjusted < 0.05).any()
    low, high = acceptance(0.95, 400)
    assert low <= covered / 400 <= high
    assert alarms / 400 <= acceptance(0.05, 400)[1]
