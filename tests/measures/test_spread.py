"""The spread between countries: by hand, in simulations, and differences shrunk towards their mean."""

from __future__ import annotations

import numpy as np
import pytest

from geobias.measures.uncertainty import Uncertainty, measure_spread, shrink_means

COUNTRIES, TEXTS = 17, 40


def simulate(effects: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, Uncertainty]:
    """Differences from the mean of countries over texts, some countries noisier than others."""
    values = effects + rng.normal(0, 2, (TEXTS, COUNTRIES)) * np.exp(rng.normal(0, 0.4, COUNTRIES))
    values = values - values.mean(axis=1, keepdims=True)
    return values.mean(axis=0), Uncertainty(np.cov(values.T) / TEXTS, np.full(COUNTRIES, TEXTS - 1.0))


def test_the_spread_is_that_of_the_means_without_the_noise() -> None:
    """By hand: (3² + 3²) / 1 - (1 + 1) / 1 = 16."""
    certain = Uncertainty(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.full(2, 1e6))
    spread = measure_spread(np.array([3.0, -3.0]), certain)
    assert spread.value == pytest.approx(4) and spread.low is not None and spread.high is not None
    # Q / 2 is chi-squared with one degree of freedom: p of 3² standard errors.
    assert spread.p == pytest.approx(0.0027, abs=1e-4)
    # Along (1, -1), s² P has the eigenvalue 16 and Σ 2.
    np.testing.assert_allclose(shrink_means(np.array([3.0, -3.0]), certain.covariance, 4), np.array([3, -3]) * 16 / 18)
    none = measure_spread(np.zeros(3), Uncertainty(np.zeros((3, 3)), np.full(3, 9.0)))
    assert (none.value, none.low, none.high, none.p) == (0, 0, 0, 1)


@pytest.mark.parametrize("size", [0.0, 0.3, 1.0])
def test_intervals_cover_and_nulls_are_rare(size: float) -> None:
    rng = np.random.default_rng(1)
    covered, rejected, raw, shrunk = [], [], [], []
    for _ in range(150):
        effects = rng.normal(0, size, COUNTRIES)
        effects -= effects.mean()
        means, uncertainty = simulate(effects, rng)
        spread = measure_spread(means, uncertainty)
        assert spread.low is not None and spread.high is not None and spread.p is not None and spread.value is not None
        covered.append(spread.low <= effects.std(ddof=1) <= spread.high)
        rejected.append(spread.p < 0.05)
        largest = int(np.abs(means).argmax())
        sign = np.sign(means[largest])
        raw.append(sign * (means[largest] - effects[largest]))
        shrunk.append(sign * (shrink_means(means, uncertainty.covariance, spread.value)[largest] - effects[largest]))
    assert np.mean(covered) >= 0.92
    assert size or np.mean(rejected) <= 0.07
    # The largest of 17 is overestimated; shrunk, it is not.
    assert np.mean(raw) > 0.15 and abs(np.mean(shrunk)) < 0.5 * np.mean(raw)
