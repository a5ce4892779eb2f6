"""Separation of two kinds of pairs: against loops, a regression, DeLong's variance, and simulated nulls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from geobias.measures.ranks import (
    cluster_error,
    compare_means,
    compare_ranks,
    compare_within,
    estimate_auc,
    estimate_contrast,
    find_detectable_auc,
    mean_contrast,
    newcombe_interval,
)


def count_auc(values: np.ndarray, is_case: np.ndarray) -> float:
    """The share of pairs of a case and a control in which the case is higher, by loops."""
    wins = [
        1.0 if case > control else 0.5 if case == control else 0.0
        for case in values[is_case]
        for control in values[~is_case]
    ]
    return sum(wins) / len(wins)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_auc_with_ties_by_loops(rng: np.random.Generator) -> None:
    values, is_case = rng.integers(0, 6, 60).astype(float), rng.random(60) < 0.4
    shares = compare_ranks(values, is_case)
    assert shares[is_case].mean() == pytest.approx(count_auc(values, is_case))
    assert shares[~is_case].mean() == pytest.approx(count_auc(values, is_case))
    below = [np.mean([(other < each) + (other == each) / 2 for other in values[~is_case]]) for each in values[is_case]]
    assert shares[is_case] == pytest.approx(below)


def test_stratified_auc_is_van_elterens_mean_of_strata(rng: np.random.Generator) -> None:
    strata = rng.integers(0, 7, 200)
    values, is_case = rng.normal(size=200) + 9.0 * strata, rng.random(200) < 0.3
    is_case[strata == 2] = True  # a stratum without controls takes no part
    total = weights = 0.0
    for stratum in set(strata.tolist()) - {2}:
        rows = strata == stratum
        cases, controls = is_case[rows].sum(), (~is_case[rows]).sum()
        weight = cases * controls / (cases + controls)
        total, weights = total + weight * count_auc(values[rows], is_case[rows]), weights + weight
    contrast = compare_within(values, is_case, strata)
    assert contrast.value == pytest.approx(total / weights)
    assert not contrast.influences[strata == 2].any()
    # What differs between strata does not count.
    assert compare_within(values - 9.0 * strata, is_case, strata).value == pytest.approx(contrast.value)


def test_difference_of_means_is_a_regression_with_fixed_effects(rng: np.random.Generator) -> None:
    strata = rng.integers(0, 5, 120)
    is_case = rng.random(120) < 0.4
    values = rng.normal(size=120) + 0.7 * is_case + strata
    columns = np.column_stack([is_case, *(strata == k for k in range(5))]).astype(float)
    coefficient = np.linalg.lstsq(columns, values, rcond=None)[0][0]
    assert compare_within(values, is_case, strata, compare_means).value == pytest.approx(coefficient)


def test_influences_sum_over_clusters_as_loops_do(rng: np.random.Generator) -> None:
    countries, attributes = rng.integers(0, 12, 300), rng.integers(0, 40, 300)
    phi = rng.normal(size=300)
    variance = 0.0
    for clusters, sign in ((countries, 1), (attributes, 1), (np.arange(300), -1)):
        groups = np.unique(clusters)
        sums = [phi[clusters == group].sum() for group in groups]
        variance += sign * sum(np.square(sums)) * len(groups) / (len(groups) - 1)
    by_kind = [cluster_error(phi, [clusters])[0] for clusters in (countries, attributes)]
    assert cluster_error(phi, [countries, attributes])[0] == pytest.approx(max(np.sqrt(variance), *by_kind))


def test_one_stratum_of_independent_pairs_has_delongs_variance(rng: np.random.Generator) -> None:
    is_case = np.arange(150) < 60
    values = rng.normal(size=150) + 0.8 * is_case
    shares = compare_ranks(values, is_case)
    delong = shares[is_case].var(ddof=1) / 60 + shares[~is_case].var(ddof=1) / 90
    contrast = compare_within(values, is_case, np.zeros(150, dtype=int))
    error, _ = cluster_error(contrast.influences, [np.arange(150)])
    assert error == pytest.approx(np.sqrt(delong), rel=0.02)


def test_the_influence_of_a_stratum_is_its_weight_times_its_deviation(rng: np.random.Generator) -> None:
    strata, is_case, values = rng.integers(0, 6, 200), rng.random(200) < 0.5, rng.normal(size=200)
    contrast = compare_within(values, is_case, strata)
    cases = np.bincount(strata, weights=is_case)
    weights = cases * (np.bincount(strata) - cases) / np.bincount(strata)
    aucs = [count_auc(values[strata == k], is_case[strata == k]) for k in range(6)]
    expected = weights / weights.sum() * (np.array(aucs) - contrast.value)
    assert np.bincount(strata, weights=contrast.influences) == pytest.approx(expected)


def test_too_few_clusters_give_no_interval() -> None:
    values, is_case = np.arange(8.0), np.arange(8) % 2 == 0
    contrast = compare_within(values, is_case, np.zeros(8, dtype=int))
    clusters = [np.arange(8) // 2]
    estimate = estimate_auc(contrast, clusters)
    assert estimate.value == contrast.value and estimate.low is estimate.p is None
    assert find_detectable_auc(contrast, clusters) is None
    assert estimate_contrast(mean_contrast(values), clusters).low is None


def test_nothing_to_compare_has_no_value() -> None:
    contrast = compare_within(np.arange(6.0), np.ones(6, dtype=bool), np.arange(6) // 3)
    assert estimate_auc(contrast, [np.arange(6)]).value is None


def test_newcombes_bounds_solve_his_equation() -> None:
    """(AUC - θ)² = z² V(θ), and perfect separation still leaves doubt."""
    low, high = newcombe_interval(0.8, 12, 30)
    for theta in (low, high):
        mean_count = (12 + 30) / 2 - 1
        variance = theta * (1 - theta) / (12 * 30)
        variance *= 1 + mean_count * (1 - theta) / (2 - theta) + mean_count * theta / (1 + theta)
        assert abs(0.8 - theta) / np.sqrt(variance) == pytest.approx(stats.norm.ppf(0.975), rel=1e-6)
    assert low < 0.8 < high
    assert newcombe_interval(1.0, 10, 10)[0] == pytest.approx(0.80, abs=0.01)
    assert newcombe_interval(0.0, 10, 10) == pytest.approx((0, 0.20), abs=0.01)


def test_newcombes_coverage(rng: np.random.Generator) -> None:
    true_auc, is_case = stats.norm.cdf(1 / np.sqrt(2)), np.arange(35) < 12
    covered = 0
    for _ in range(400):
        auc = float(compare_ranks(rng.normal(size=35) + is_case, is_case)[is_case].mean())
        low, high = newcombe_interval(auc, 12, 23)
        covered += low <= true_auc <= high
    assert covered / 400 == pytest.approx(0.95, abs=0.035)


@pytest.mark.parametrize("shared", [0.0, 1.0])
@pytest.mark.slow
def test_false_alarms_are_rare_where_pairs_share_countries_and_attributes(shared: float) -> None:
    """Topics that countries and attributes share make pairs alike in both ways; labels do too."""
    rng, alarms, repetitions = np.random.default_rng(3), np.zeros(3), 200
    for _ in range(repetitions):
        countries, attributes = rng.integers(0, 30, 800), rng.integers(0, 150, 800)
        of_country, of_attribute = rng.normal(size=(30, 6)), rng.normal(size=(150, 6))
        topics = (of_country[countries] * of_attribute[attributes]).sum(axis=1) / np.sqrt(6)
        values = shared * topics + rng.normal(size=800)
        labels, other_labels = (
            rng.normal(size=30)[countries] + rng.normal(size=150)[attributes] + rng.normal(size=800) > 0.5
            for _ in range(2)
        )
        clusters = countries, attributes
        first, second = (compare_within(values, each, countries) for each in (labels, other_labels))
        means = compare_within(values, labels, countries, compare_means)
        estimates = (
            estimate_auc(first, clusters),
            estimate_contrast(first - second, clusters),
            estimate_contrast(means, clusters),
        )
        alarms += [estimate.p is not None and estimate.p < 0.05 for estimate in estimates]
    assert (alarms / repetitions <= 0.10).all()


def test_the_interval_covers_a_planted_auc() -> None:
    rng, covered, repetitions = np.random.default_rng(5), 0, 100
    for _ in range(repetitions):
        countries, attributes = rng.integers(0, 25, 400), rng.integers(0, 100, 400)
        is_case = rng.random(400) < 0.4
        values = rng.normal(size=400) + 0.5 * is_case
        estimate = estimate_auc(compare_within(values, is_case, countries), (countries, attributes))
        assert estimate.low is not None and estimate.high is not None
        covered += estimate.low <= stats.norm.cdf(0.5 / np.sqrt(2)) <= estimate.high
    assert covered / repetitions >= 0.90
