"""Intervals, p-values and simultaneous bounds from a covariance matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from geobias.measures.uncertainty import Family, Uncertainty


def independent(variances: list[float], df: float = 30) -> Uncertainty:
    return Uncertainty(np.diag(variances).astype(float), np.full(len(variances), float(df)))


def test_the_interval_is_that_of_students_t() -> None:
    uncertainty = independent([4.0, 4.0, 4.0], 10)
    np.testing.assert_allclose(uncertainty.half_width(), stats.t.ppf(0.975, 10) * 2)


def test_a_country_is_not_surer_than_the_mean_of_countries() -> None:
    uncertainty = independent([1.0, 9.0, 8.0], 20)
    pooled = stats.t.ppf(0.975, uncertainty.mean_variance_df) * np.sqrt(6)
    np.testing.assert_allclose(uncertainty.half_width(), [pooled, *(stats.t.ppf(0.975, 20) * np.sqrt([9.0, 8.0]))])
    assert 20 < uncertainty.mean_variance_df <= 60


def test_p_is_below_5_percent_where_the_interval_excludes_0() -> None:
    uncertainty = independent([1.0, 9.0, 8.0], 12)
    half_width = uncertainty.half_width()
    assert (uncertainty.p_values(1.001 * half_width) < 0.05).all()
    assert (uncertainty.p_values(-0.999 * half_width) > 0.05).all()


def test_correlated_variances_have_fewer_degrees_of_freedom() -> None:
    same = Uncertainty(np.full((5, 5), 2.0), np.full(5, 10.0))
    assert same.mean_variance_df == pytest.approx(10, rel=0.25)
    assert independent([2.0] * 5, 10).mean_variance_df == pytest.approx(50)


def test_adjusted_p_values_are_between_the_plain_ones_and_bonferroni() -> None:
    uncertainty = independent([1.0] * 10, 1000)
    value = np.array([0.1, 2.0, 3.0, -3.5, 12.0, 0, 0, 0, 0, 0])
    estimates = Family([value], [uncertainty]).estimates(0)
    assert (estimates.p_adjusted >= estimates.p).all()
    assert (estimates.p_adjusted <= np.minimum(10 * estimates.p, 1) + 1e-12).all()
    order = np.argsort(estimates.p)
    assert (np.diff(estimates.p_adjusted[order]) >= 0).all()
    assert estimates.p_adjusted[4] < 1e-6  # beyond what 2,000 draws can count


def test_simultaneous_intervals_cover_together() -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(8, 8))
    uncertainty = Uncertainty(root @ root.T, np.full(8, 1e6))
    half_width = Family([np.zeros(8)], [uncertainty]).simultaneous_half_width(0)
    errors = np.abs(rng.normal(size=(20_000, 8)) @ root.T)
    assert (errors <= half_width).all(axis=1).mean() == pytest.approx(0.955, abs=0.025)
    assert (half_width > uncertainty.half_width()).all()


def test_a_mark_is_a_simultaneous_interval_that_excludes_0() -> None:
    uncertainty = independent([1.0] * 6, 25)
    family = Family([np.zeros(6)], [uncertainty])
    bound = family.simultaneous_half_width(0)
    assert (family.adjust(uncertainty.p_values(1.02 * bound)) < 0.05).all()
    assert (family.adjust(uncertainty.p_values(0.98 * bound)) > 0.05).all()


def test_the_largest_effect_has_bounds() -> None:
    family = Family([np.array([1.0, -5.0, 0.5])], [independent([0.25] * 3, 100)])
    effect = family.largest_effect()
    assert effect is not None
    half_width = family.simultaneous_half_width(0)[1]
    assert (effect.value, effect.position) == (5, 1)
    assert effect.low == pytest.approx(5 - half_width) and effect.high == pytest.approx(5 + half_width)


def test_what_is_unknown_takes_no_part() -> None:
    known, unknown = independent([1.0, 1.0]), Uncertainty.unknown(2)
    values = [np.array([3.0, np.nan]), np.array([9.0, 9.0])]
    family = Family(values, [known, unknown])
    assert family.size == 1
    assert np.isnan(family.estimates(0).p_adjusted[1]) and np.isnan(family.estimates(1).low).all()
    assert family.estimates(0).p_adjusted[0] == pytest.approx(family.estimates(0).p[0], rel=0.3)
    assert family.largest_effect(1) is None


def test_rounding_is_no_difference() -> None:
    uncertainty = Uncertainty(np.diag([1e-34, 1e-34]), np.full(2, 10.0))
    assert (uncertainty.p_values(np.array([1e-15, -1e-15])) == 1).all()
    assert (Uncertainty(np.zeros((2, 2)), np.full(2, 10.0)).p_values(np.array([0.0, 2.0])) == [1, 0]).all()
