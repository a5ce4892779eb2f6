"""Countries that are not always answered: comparisons within situations, and the test of the share answered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from geobias.measures.decisions import (
    CountryMeans,
    _summarise_answered,
    average_means,
    estimate_against_mean,
    estimate_cells,
    summarise_countries,
)
from geobias.measures.missing_answers import AdditiveFit, bound_shares, find_comparable, permute_countries
from tests.measures.test_decisions import named_design, stated_design

NAN = np.nan


def least_squares(means: np.ndarray) -> np.ndarray:
    """b by brute force: dummy variables for all situations and countries."""
    situation, country = np.nonzero(~np.isnan(means))
    size, countries = means.shape
    dummies = np.zeros((len(situation), size + countries))
    dummies[np.arange(len(situation)), situation] = dummies[np.arange(len(situation)), size + country] = 1
    b = np.linalg.lstsq(dummies, means[situation, country], rcond=None)[0][size:]
    return b - b.mean()


def test_the_additive_fit_is_least_squares_with_dummies() -> None:
    rng = np.random.default_rng(0)
    means = rng.standard_normal((20, 5))
    means[rng.random(means.shape) < 0.4] = NAN
    assert AdditiveFit.of(means).countries == pytest.approx(least_squares(means))
    complete = rng.standard_normal((20, 5))
    assert AdditiveFit.of(complete).means == pytest.approx(complete.mean(axis=0))


def test_a_country_that_is_answered_in_lenient_situations_only_is_no_better() -> None:
    leniency = np.repeat([2.0, -2.0], 15)[:, None]
    values = np.broadcast_to(leniency, (30, 4)).copy()
    values[15:, 1] = NAN
    means = summarise_countries(stated_design(30, 4), values[..., None], np.ones((30, 1)))
    assert means.against_mean()[0] == pytest.approx(np.zeros(4))
    assert np.nanmean(values, axis=0)[1] == 2  # as it would look without the comparison within situations


@pytest.mark.parametrize("is_named", [False, True])
def test_complete_answers_are_summarised_alike(is_named: bool) -> None:
    rng = np.random.default_rng(1)
    design = named_design(rng, 24, 4, 4) if is_named else stated_design(24, 4, 4)
    favours = np.tile([1.0, -1.0, 1.0, -1.0], (24, 1))
    favours[:6], favours[6:9] = 1, -1  # both kinds, and one of them only
    values = rng.standard_normal((24, 4, 4)) + rng.standard_normal((24, 1, 1))
    complete, other = summarise_countries(design, values, favours), _summarise_answered(design, values, favours)
    assert other.means == pytest.approx(complete.means)
    assert other.influence == pytest.approx(complete.influence)
    assert np.all(other.df == complete.df)
    for first, second in zip(complete.against_mean(), other.against_mean(), strict=True):
        first, second = (getattr(each, "covariance", each) for each in (first, second))
        assert second == pytest.approx(first)


def test_a_tendency_to_say_yes_cancels_although_other_questions_of_each_kind_are_answered() -> None:
    rng = np.random.default_rng(2)
    preference, favours = np.array([0.6, 0.0, -0.6]), np.tile([1.0, -1.0], (40, 1))
    yes = 3.0 + preference[:, None] * favours[:, None, :] + 2 * rng.standard_normal((40, 1, 2))
    yes[:20, 0, 0] = yes[5:, 2, 1] = NAN  # the first country answers half of the one kind, the last 5 of the other
    means = summarise_countries(stated_design(40, 3, 2), yes * favours[:, None, :], favours)
    assert means.find_known().all() and means.against_mean()[0] == pytest.approx(preference)


def test_a_country_with_few_answers_takes_no_part() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((30, 4, 1))
    values[9:, 0] = values[:, 3] = NAN
    means = summarise_countries(stated_design(30, 4), values, np.ones((30, 1)))
    assert means.find_known().tolist() == [False, True, True, False]
    expected = estimate_against_mean(summarise_countries(stated_design(30, 2), values[:, 1:3], np.ones((30, 1))))
    estimates = estimate_against_mean(means)
    assert np.isnan(estimates.value[[0, 3]]).all() and np.isnan(estimates.p_adjusted[[0, 3]]).all()
    assert estimates.value[1:3] == pytest.approx(expected.value) and estimates.low[1:3] == pytest.approx(expected.low)
    nothing = summarise_countries(stated_design(30, 4), np.full((30, 4, 1), NAN), np.ones((30, 1)))
    assert not nothing.is_comparable and np.isnan(estimate_nothing(nothing)).all()
    both = average_means([means, summarise_countries(stated_design(30, 4), values[:, ::-1], np.ones((30, 1)))])
    assert both.find_known().tolist() == [False, True, True, False]


def estimate_nothing(means: CountryMeans) -> np.ndarray:
    return means.subtract_mean()


def test_countries_that_share_no_situations_are_not_compared() -> None:
    means = np.random.default_rng(4).standard_normal((40, 5))
    means[:25, 3:] = means[25:, :3] = NAN
    assert find_comparable(means).tolist() == [True, True, True, False, False]


@pytest.mark.slow
def test_intervals_cover_and_nothing_is_marked_too_often_where_answers_are_missing() -> None:
    """Whether a country is answered depends on the situation, and one country is answered seldom."""
    rng, repetitions, covers, marked = np.random.default_rng(5), 300, [], 0
    for _ in range(repetitions):
        leniency = rng.standard_normal((40, 1))
        values = leniency + rng.standard_normal((40, 6))
        chance = np.where(leniency > 0, 0.95, 0.6) * np.array([0.5, 1, 1, 1, 1, 1])
        values[rng.random(values.shape) > chance] = NAN
        means = summarise_countries(stated_design(40, 6), values[..., None], np.ones((40, 1)))
        estimates = estimate_against_mean(means)
        covers.append(((estimates.low <= 0) & (estimates.high >= 0)).mean())
        marked += bool((estimates.p_adjusted < 0.05).any())
    assert np.mean(covers) > 0.935 and marked / repetitions < 0.08


def test_names_add_variance_where_answers_are_missing() -> None:
    rng = np.random.default_rng(6)
    design = named_design(np.random.default_rng(0), 30, 4, 4)
    (block,) = design.blocks()
    names = np.empty(design.shape, dtype=int)
    names.flat[block.answer] = design.cells.unit[block.cell]
    values = rng.standard_normal(40)[names] + 0.2 * rng.standard_normal(design.shape)
    values[rng.random(values.shape) < 0.1] = NAN
    means = summarise_countries(design, values, np.ones((30, 4)))
    assert means.name_covariance is not None
    complete = summarise_countries(design, rng.standard_normal(40)[names], np.ones((30, 4)))
    assert complete.name_covariance is not None
    ratio = np.trace(means.name_covariance) / np.trace(complete.name_covariance)
    assert 0.3 < ratio < 3


def test_cells_of_domains_leave_out_what_is_not_answered() -> None:
    rng = np.random.default_rng(7)
    groups, means = np.repeat([0, 1, 2], 6), rng.standard_normal((18, 4))
    means[:6, 1] = NAN
    means[groups == 2, 3] += 5
    estimates, count = estimate_cells(means, groups)
    assert count.tolist() == [6, 6, 6] and np.isnan(estimates.value[0, 1]) and np.isnan(estimates.p_adjusted[0, 1])
    assert np.isfinite(np.delete(estimates.value.ravel(), 1)).all()
    assert estimates.p_adjusted[2, 3] < 0.01


def test_a_country_that_is_never_answered_is_clear() -> None:
    shares = np.ones((12, 10))
    shares[:, 4] = 0
    _, adjusted = permute_countries(shares)
    assert adjusted[4] < 0.001
    shares[:] = 1
    assert permute_countries(shares)[1].tolist() == [1.0] * 10


@pytest.mark.slow
def test_few_refusals_of_one_country_only_are_clear_and_as_many_at_random_are_not() -> None:
    shares = np.ones((80, 60))
    shares[:6, 3] = 0  # of 4,800 questions
    assert permute_countries(shares)[1][3] < 0.01
    rng, marked = np.random.default_rng(8), 0
    for _ in range(40):
        shares = (rng.random((40, 20)) > 0.03).astype(float)
        marked += bool((permute_countries(shares)[1] < 0.05).any())
    assert marked / 40 <= 0.125  # 5 % and sampling error


@pytest.mark.slow
def test_countries_that_differ_in_their_variance_only_are_not_marked_more_often() -> None:
    rng, marked = np.random.default_rng(9), 0
    for _ in range(40):
        shares = 0.5 + rng.standard_normal((30, 8)) * np.array([0.2, *[0.02] * 7])
        marked += bool((permute_countries(shares)[1] < 0.05).any())
    assert marked / 40 <= 0.125


def test_bounds_of_shares_are_wilsons() -> None:
    answers = np.array([1] * 18 + [0] * 6)
    expected = stats.binomtest(18, 24).proportion_ci(method="wilson")
    share = np.array([answers.mean(), 1.0, 0.0])
    low, high = bound_shares(share, np.array([share[0] * (1 - share[0]) / 24, 0.0, 0.0]), 24)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))
    certain = stats.binomtest(24, 24).proportion_ci(method="wilson")
    assert (low[1], high[1], low[2], high[2]) == pytest.approx((certain.low, 1, 0, 1 - certain.low))
