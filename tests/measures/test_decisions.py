"""Preference, yes tendency, impact ratio, spread and cells of domains, against brute force and cases by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.decisions import (
    CountryMeans,
    average_means,
    balance_weights,
    compare_countries,
    compare_spreads,
    estimate_against_mean,
    estimate_cells,
    estimate_mean,
    smallest_effect,
    summarise_countries,
)
from geobias.measures.impact_ratio import measure_impact_ratios, measure_spread
from geobias.measures.uncertainty import Uncertainty


def stated_design(scenarios: int, countries: int, draws: int = 1) -> CrossedVariance:
    nothing = np.zeros(0, dtype=int)
    counted = np.ones((scenarios, draws), dtype=bool)
    return CrossedVariance(
        NameUnits(nothing, nothing, nothing), (scenarios, countries, draws), counted, names_fixed=True
    )


def named_design(rng: np.random.Generator, scenarios: int, countries: int, draws: int) -> CrossedVariance:
    names = rng.random((scenarios, countries, 10)).argsort(axis=2)[..., :draws] + 10 * np.arange(countries)[:, None]
    units = NameUnits(np.arange(names.size), names.ravel(), np.zeros(10 * countries, dtype=int))
    return CrossedVariance(units, names.shape, np.ones((scenarios, draws), dtype=bool))


def mirrored(scenarios: int) -> np.ndarray:
    return np.where(np.arange(scenarios) % 2, -1.0, 1.0)[:, None]


def test_weights_give_both_kinds_the_same_share() -> None:
    favours = np.array([[1], [1], [1], [-1]])
    assert balance_weights(favours, favours != 0) == pytest.approx(np.array([[2 / 3], [2 / 3], [2 / 3], [2]]))
    assert (balance_weights(favours[:2], favours[:2] != 0) == 1).all()
    mirrored_twice = np.array([[1, -1], [1, -1]])
    assert (balance_weights(mirrored_twice, mirrored_twice != 0) == 1).all()


def test_preference_and_yes_tendency_come_apart() -> None:
    preference, tendency = np.array([0.5, 0.0, -0.5]), np.array([0.0, 2.0, 1.0])
    favours = np.array([1.0, 1, 1, -1, -1, -1, -1, -1])[:, None]
    yes = (tendency + favours * preference)[..., None]
    design = stated_design(8, 3)
    assert summarise_countries(design, favours[..., None] * yes, favours).means == pytest.approx(preference)
    assert summarise_countries(design, yes, favours).means == pytest.approx(tendency)


def test_a_situation_and_its_mirror_are_one_unit() -> None:
    rng = np.random.default_rng(10)
    preference, tendency, favours = rng.standard_normal((12, 3)), 5 * rng.standard_normal((12, 3)), [1.0, -1.0]
    yes = tendency[..., None] + preference[..., None] * np.array(favours)
    favourable = yes * np.array(favours)
    means = summarise_countries(stated_design(12, 3, 2), favourable, np.tile(favours, (12, 1)))
    alone = summarise_countries(stated_design(12, 3), preference[..., None], np.ones((12, 1)))
    assert means.means == pytest.approx(alone.means) and means.df == 11
    assert means.influence == pytest.approx(alone.influence)  # however strong the tendency to say yes


def test_variance_is_that_of_a_stratified_mean() -> None:
    rng = np.random.default_rng(0)
    values, favours = rng.standard_normal((9, 3, 1)), np.array([1, 1, 1, 1, 1, 1, -1, -1, -1])
    estimates = estimate_against_mean(summarise_countries(stated_design(9, 3), values, favours[:, None]))
    for c in range(3):
        contrast = values[:, c, 0] - values[:, :, 0].mean(axis=1)
        kinds = [contrast[favours > 0], contrast[favours < 0]]
        assert estimates.value[c] == pytest.approx(np.mean([kind.mean() for kind in kinds]))
    variances = []
    for c in range(3):
        contrast = values[:, c, 0] - values[:, :, 0].mean(axis=1)
        # the mean of two strata means: a quarter of each one's variance
        variances.append(
            sum(np.var(kind, ddof=1) / len(kind) / 4 for kind in (contrast[favours > 0], contrast[favours < 0]))
        )
    largest = int(np.argmax(variances))  # no interval is narrower than that of the mean variance
    half_width = (estimates.high - estimates.low)[largest] / 2
    assert half_width == pytest.approx(stats.t.ppf(0.975, 7) * np.sqrt(variances[largest]), rel=1e-6)


def test_names_add_what_the_names_audit_adds() -> None:
    rng = np.random.default_rng(1)
    design = named_design(rng, 20, 4, 3)
    values = rng.standard_normal((20, 4, 3))
    expected = design.uncertainty(LinearMeasure(values, np.eye(4) - 1 / 4))
    _, uncertainty = summarise_countries(design, values, np.ones((20, 3))).against_mean()
    assert uncertainty.covariance == pytest.approx(expected.covariance)


def test_ways_are_averaged_in_the_same_scenarios() -> None:
    rng = np.random.default_rng(2)
    values, favours, design = rng.standard_normal((2, 12, 3, 1)), mirrored(12), stated_design(12, 3)
    together = average_means([summarise_countries(design, part, favours) for part in values])
    direct = summarise_countries(design, values.mean(axis=0), favours)
    assert together.means == pytest.approx(direct.means)
    assert together.influence == pytest.approx(direct.influence)


def test_impact_ratio_is_the_rate_against_the_best() -> None:
    rng = np.random.default_rng(3)
    rates = np.array([0.8, 0.6, 0.4])
    values = np.clip(rates + 0.02 * rng.standard_normal((30, 3)), 0.01, 0.99)[..., None]
    means = summarise_countries(stated_design(30, 3), values, mirrored(30))
    ratios = measure_impact_ratios(means)
    assert ratios.ratio == pytest.approx(means.means / means.means.max())
    assert ratios.ratio[0] == ratios.high[0] == 1 and ratios.low[0] > 0.9
    for c in (1, 2):
        assert ratios.low[c] < ratios.ratio[c] < ratios.high[c] < 0.9
    value, low, high, position = ratios.worst
    assert position == 2 and low < value < high and value == pytest.approx(0.5, abs=0.02)


def test_without_differences_every_bound_reaches_one() -> None:
    rng = np.random.default_rng(4)
    values = np.clip(0.5 + 0.2 * rng.standard_normal((30, 5)), 0.05, 0.95)[..., None]
    ratios = measure_impact_ratios(summarise_countries(stated_design(30, 5), values, mirrored(30)))
    assert (ratios.high == 1).all() and (ratios.low < ratios.ratio).all()


def test_impact_ratio_of_a_model_that_never_changes_is_certain() -> None:
    means = summarise_countries(stated_design(20, 3), np.full((20, 3, 1), 0.7), mirrored(20))
    ratios = measure_impact_ratios(means)
    assert (ratios.ratio == 1).all() and (ratios.low == 1).all() and (ratios.high == 1).all()


def test_spread_is_told_apart_from_noise() -> None:
    rng = np.random.default_rng(5)
    size, error = 40, 0.1
    contrasts = np.eye(size) - 1 / size
    uncertainty = Uncertainty(error**2 * contrasts, np.full(size, 39.0))
    noise = contrasts @ (error * rng.standard_normal(size))
    effects = contrasts @ (0.3 * rng.standard_normal(size))
    null, real = (measure_spread(value, uncertainty) for value in (noise, noise + effects))
    assert null.p > 0.05 and null.low == 0 and null.noise == pytest.approx(error)
    assert real.p < 0.001 and real.low < np.std(effects) < real.high and real.value == pytest.approx(0.3, abs=0.08)
    assert measure_spread(np.zeros(3), Uncertainty(np.zeros((3, 3)), np.full(3, 9.0))).p == 1


def test_cells_pool_the_variance_of_scenarios() -> None:
    rng = np.random.default_rng(6)
    groups = np.repeat([0, 1, 2], 4)
    means = rng.standard_normal((12, 5))
    means[groups == 1, 3] += 4
    estimates, count = estimate_cells(means, groups)
    contrasts = means - means.mean(axis=1, keepdims=True)
    residuals = contrasts.copy()
    for k, c in product(range(3), range(5)):
        value = contrasts[groups == k, c].mean()
        assert estimates.value[k, c] == pytest.approx(value)
        residuals[groups == k, c] -= value
    k, c = 1, 3
    of_country = (residuals[:, c] ** 2).sum() / 9
    of_group = np.mean([(residuals[groups == k, d] ** 2).sum() / 3 for d in range(5)])
    least = stats.t.ppf(0.975, 9) * np.sqrt(max(of_country, of_group) / 4)
    assert (estimates.high - estimates.low)[k, c] / 2 >= least * (1 - 1e-9)
    assert count.tolist() == [4, 4, 4] and estimates.p_adjusted[k, c] < 0.05
    assert (estimates.p_adjusted[[0, 2]] > 0.05).all()


def test_a_group_of_one_scenario_has_no_interval() -> None:
    estimates, _ = estimate_cells(np.random.default_rng(7).standard_normal((5, 3)), np.array([0, 0, 0, 0, 1]))
    assert np.isnan(estimates.low[1]).all() and not np.isnan(estimates.low[0]).any()


def test_mean_of_scenarios_is_a_t_test() -> None:
    values = np.random.default_rng(8).standard_normal(15) + 0.5
    expected = stats.ttest_1samp(values, 0)
    estimate = estimate_mean(values)
    assert estimate.p == pytest.approx(expected.pvalue)
    assert (estimate.low, estimate.high) == pytest.approx(expected.confidence_interval())
    assert estimate_mean(np.zeros(4)).p == 1


def test_smallest_effect_is_marked_as_often_as_it_says() -> None:
    rng = np.random.default_rng(9)
    size, scenarios, contrasts = 6, 40, np.eye(6) - 1 / 6
    uncertainty = Uncertainty(contrasts / scenarios, np.full(size, scenarios - 1.0))
    effect = smallest_effect(uncertainty)
    assert effect is not None
    marked = 0
    for _ in range(200):
        values = rng.standard_normal((scenarios, size, 1))
        values[:, 0] += effect * size / (size - 1)
        means = summarise_countries(stated_design(scenarios, size), values, np.ones((scenarios, 1)))
        marked += bool(estimate_against_mean(means).p_adjusted[0] < 0.05)
    assert 0.7 < marked / 200 < 0.93


def summarise_runs(
    first: np.ndarray, second: np.ndarray, design: CrossedVariance | None = None
) -> tuple[CountryMeans, CountryMeans, CountryMeans]:
    """Of both runs (scenarios x countries x draws) and of the second minus the first."""
    design = design or stated_design(*first.shape)
    favours = np.ones((first.shape[0], first.shape[2]))
    means = [summarise_countries(design, values, favours) for values in (first, second, second - first)]
    return means[0], means[1], means[2]


def test_differences_between_runs_are_paired() -> None:
    rng = np.random.default_rng(11)
    cases = 3 * rng.standard_normal((30, 6))  # what both runs share
    first, second = cases, cases + 0.05 * rng.standard_normal((30, 6))
    second[:, 2] -= 1
    means = summarise_runs(first[..., None], second[..., None])
    paired = compare_countries(*means)
    contrast = (second - first)[:, 2] - (second - first).mean(axis=1)
    assert paired.difference.value[2] == pytest.approx(contrast.mean())
    assert paired.difference.value == pytest.approx(paired.second - paired.first)
    assert paired.difference.p_adjusted[2] < 0.001
    assert paired.difference.high[2] - paired.difference.low[2] < 0.2  # not the width of what both share
    assert np.isnan(compare_countries(*means, is_testable=False).difference.low).all()


def test_a_difference_of_spreads_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(12)
    covers, repetitions = 0, 200
    for _ in range(repetitions):
        noise = 0.5 * rng.standard_normal((2, 30, 12, 1))
        effects = rng.standard_normal((2, 12, 1))
        effects = (effects - effects.mean(axis=1, keepdims=True)) / effects.std(axis=1, ddof=1, keepdims=True)
        means = summarise_runs(noise[0] + 0.6 * effects[0], noise[1] + 0.2 * effects[1])
        difference = compare_spreads(*means).difference
        covers += bool(difference.low[0] <= -0.4 <= difference.high[0])
    assert 0.9 <= covers / repetitions <= 0.99


def test_names_that_only_one_run_dislikes_are_no_difference_between_countries() -> None:
    """With names as a fixed factor, more than a fifth of the intervals would miss."""
    rng = np.random.default_rng(13)
    countries, repetitions = 8, 150
    design = named_design(np.random.default_rng(0), 20, countries, 4)
    (block,) = design.blocks()
    names = np.empty(design.shape, dtype=int)
    names.flat[block.answer] = design.cells.unit[block.cell]
    covers: dict[str, list[float]] = {"random": [], "fixed": []}
    marked, spread_covers = 0, 0
    for _ in range(repetitions):
        first = rng.standard_normal((20, countries, 1)) + 0.5 * rng.standard_normal(10 * countries)[names]
        change = 0.5 * rng.standard_normal(10 * countries)[names] + 0.3 * rng.standard_normal(design.shape)
        means = summarise_runs(first, first + change, design)
        difference = compare_countries(*means).difference
        fixed = estimate_against_mean(replace(means[2], name_covariance=None))
        covers["random"].append(float(((difference.low <= 0) & (difference.high >= 0)).mean()))
        covers["fixed"].append(float(((fixed.low <= 0) & (fixed.high >= 0)).mean()))
        marked += bool((difference.p_adjusted < 0.05).any())
        spread = compare_spreads(*means).difference
        spread_covers += bool(spread.low[0] <= 0 <= spread.high[0])
    assert np.mean(covers["random"]) > 0.93 and np.mean(covers["fixed"]) < 0.8
    assert marked / repetitions < 0.1 and spread_covers / repetitions > 0.92
