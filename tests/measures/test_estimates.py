"""Intervals, p-values and corrections against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from geobias.measures.estimates import (
    NORMAL_QUANTILE,
    Estimate,
    benjamini_hochberg,
    bootstrap_estimates,
    bootstrap_p_values,
    find_standing_out,
    monte_carlo_p_value,
    small_sample_factor,
    t_test,
    t_to_normal_ratio,
)


def test_p_values_are_never_zero_and_count_ties() -> None:
    assert monte_carlo_p_value(np.array(3.0), np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(3 / 5)
    assert monte_carlo_p_value(np.array(9.0), np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(1 / 5)
    assert monte_carlo_p_value(np.array(0.1 + 0.2), np.array([0.3])) == 1.0  # equal but for rounding


def test_benjamini_hochberg_by_hand() -> None:
    # Sorted: .01 .02 .03 .5 times 4/1 4/2 4/3 4/4 = .04 .04 .04 .5
    found = benjamini_hochberg(np.array([[0.03, 0.5], [np.nan, 0.01], [0.02, np.nan]]))
    np.testing.assert_allclose(found, [[0.04, 0.5], [np.nan, 0.04], [0.04, np.nan]])
    assert np.isnan(benjamini_hochberg(np.array([np.nan]))).all()


def test_interval_and_inverted_p() -> None:
    deviations = np.linspace(-1, 1, 2001)[:, None]
    value = np.array([0.5])
    found = bootstrap_estimates(value, deviations, bootstrap_p_values(value, deviations, 100))
    np.testing.assert_allclose([found.low[0], found.high[0]], [0.5 - 0.95, 0.5 + 0.95])
    assert found.p[0] == pytest.approx((1 + 1002) / 2002)  # Student's would be 0.39
    assert found.at(0).value == 0.5
    # An interval of ten things that ends at 0, and its p, say the same.
    wider = np.random.default_rng(0).normal(size=(20_000, 1)) * t_to_normal_ratio(9)
    edge = np.array([t_to_normal_ratio(9) * 1.959964])
    assert bootstrap_p_values(edge, wider, 10)[0] == pytest.approx(0.05, abs=0.004)
    assert bootstrap_estimates(np.array([np.nan]), deviations, np.array([0.5])).at(0) == Estimate(
        None, None, None, None, None
    )


def test_p_goes_on_where_resamples_cannot_count() -> None:
    """Of 660 tests the smallest of 2,000 resamples' p-values could never be marked."""
    deviations = np.random.default_rng(0).normal(size=(2000, 3))
    p = bootstrap_p_values(np.array([0.0, 6.0, -9.0]), deviations, 500)
    assert p[0] == 1 and p[1] < 1e-7 and p[2] < p[1]
    few = bootstrap_p_values(np.array([6.0]), deviations[:, :1], 4)  # four coins that fall alike
    assert few[0] == 0.5**3
    assert bootstrap_p_values(np.array([1.0]), np.zeros((2000, 1)), 11)[0] == 0.5**10  # no spread at all


def test_few_draws_make_intervals_wider() -> None:
    # n = 5: sqrt(5 / 4) times t(4) = 2.776 over 1.960
    assert small_sample_factor(5) == pytest.approx(np.sqrt(1.25) * 2.7764451 / 1.9599640)
    assert 1 < small_sample_factor(100_000) < 1.0001
    np.testing.assert_allclose(small_sample_factor(np.array([5, 1])), [small_sample_factor(5), small_sample_factor(2)])


def test_students_t_with_and_without_error() -> None:
    p = t_test(np.array([2.0, 0.0, -3.0, np.nan]), np.array([1.0, 0.0, 0.0, 1.0]), 4)
    np.testing.assert_allclose(p, [2 * stats.t.sf(2, 4), 1, 0, np.nan])


def deviations(*effects: float, half_width: float = 0.02) -> list[Estimate]:
    """Groups with these effects, each with its deviation from their mean."""
    values = np.array(effects) - np.mean(effects)
    p = 2 * stats.norm.sf(np.abs(values) / half_width * NORMAL_QUANTILE)
    rows = zip(values, values - half_width, values + half_width, p, benjamini_hochberg(p), strict=True)
    return [Estimate(*map(float, row)) for row in rows]


@pytest.mark.parametrize(
    ("effects", "standing_out"),
    [
        ((0.3, 0, 0, 0, 0, 0), [0]),  # all others are 0.05 below the mean, clearly, and mirror the first
        ((0.3, -0.2, 0, 0, 0, 0), [0, 1]),  # two on different sides
        ((0.3, 0.2, 0, 0, 0, 0), [0, 1]),  # two on one side
        ((0.3, -0.1, 0, 0, 0, 0), [0, 1]),  # the second is farther below the mean than a mirror
        ((0, 0.3), [0]),  # equally far from their mean: the first
        ((0.5, *[0] * 40, 0.06, -0.06), [0, 41, 42]),  # among many one group moves the mean by little
        ((0.001, 0, 0, 0), []),
    ],
)
def test_what_only_mirrors_others_does_not_stand_out(effects: tuple[float, ...], standing_out: list[int]) -> None:
    assert [k for k, mark in enumerate(find_standing_out(deviations(*effects))) if mark] == standing_out


def test_mirrors_are_rarely_taken_for_deviations() -> None:
    """One group of six deviates: the false discovery rate of those that stand out is 5 %."""
    rng, shares = np.random.default_rng(0), []
    for _ in range(200):
        marks = find_standing_out(deviations(*np.array([0.3, 0, 0, 0, 0, 0]) + rng.normal(0, 0.02 / 1.96, 6)))
        assert marks[0]
        shares.append(sum(marks[1:]) / sum(marks))
    assert np.mean(shares) < 0.08
