"""Partial correlations against residuals of a regression, and intervals that hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from bench.calibration_cells import acceptance
from geobias.measures.correlation import (
    estimate_correlations,
    estimate_pooled_correlations,
    estimate_within_correlations,
    local_correlations,
    pearson,
)
from geobias.measures.estimates import Estimates, benjamini_hochberg, small_sample_factor


def residuals(values: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(values)), fixed])
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def test_partial_is_the_correlation_of_residuals() -> None:
    rng = np.random.default_rng(1)
    fixed = rng.normal(size=(60, 2)) * [30, 5] + [100, 20]
    x = fixed @ [0.02, 0.1] + rng.normal(size=60)
    y = np.column_stack([fixed @ [0.01, -0.05] + rng.normal(size=60) + 0.5 * x, rng.normal(size=60)])
    plain, partial = estimate_correlations(x, y, fixed, np.arange(60), resamples=200)
    for k in range(2):
        assert plain.value[k] == pytest.approx(stats.pearsonr(x, y[:, k]).statistic)
        expected = stats.pearsonr(residuals(x, fixed), residuals(y[:, k], fixed)).statistic
        assert partial.value[k] == pytest.approx(expected)
    assert (plain.low <= plain.value).all() and (plain.value <= plain.high).all()


def test_a_name_that_is_merely_long_is_not_strange() -> None:
    rng = np.random.default_rng(2)
    length = rng.poisson(6, 400).astype(float)
    x, y = length + rng.normal(0, 1, 400), (length + rng.normal(0, 1, 400))[:, None]
    plain, partial = estimate_correlations(x, y, length[:, None], np.arange(400) // 4, resamples=400)
    assert plain.low[0] > 0.7 and partial.low[0] < 0 < partial.high[0] and partial.p[0] > 0.05


def test_what_is_not_known_takes_no_part_and_constants_do_no_harm() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=30), rng.normal(size=(30, 1))
    fixed = np.full((30, 2), 7.0)
    plain, partial = estimate_correlations(x, y, fixed, np.arange(30), resamples=100)
    np.testing.assert_allclose(partial.value, plain.value)
    gaps = np.where(np.arange(30) < 10, np.nan, x)
    found, _ = estimate_correlations(gaps, y, fixed, np.arange(30), resamples=100)
    assert found.value[0] == pytest.approx(stats.pearsonr(x[10:], y[10:, 0]).statistic)
    assert np.isnan(estimate_correlations(np.full(30, 1.0), y, fixed, np.arange(30), resamples=100)[0].value[0])
    few, _ = estimate_correlations(x[:3], y[:3], fixed[:3], np.arange(3), resamples=100)
    assert few.at(0).low is None


@pytest.mark.slow
def test_intervals_hold_the_truth_when_versions_of_a_text_go_together() -> None:
    covered = 0.0
    for i in range(200):
        rng = np.random.default_rng([4, i])
        of_text = rng.normal(size=(60, 2)) @ np.array([[1, 0.3], [0, 0.95]])  # correlated by about .3 between texts
        x = np.repeat(of_text[:, 0], 4) + rng.normal(0, 0.1, 240)
        y = np.repeat(of_text[:, 1], 4) + rng.normal(0, 0.1, 240)
        plain, _ = estimate_correlations(
            x, y[:, None], np.zeros((240, 1)), np.repeat(np.arange(60), 4), seed=i, resamples=400
        )
        covered += plain.low[0] <= 0.298 <= plain.high[0]
    assert covered / 200 >= acceptance(0.95, 200)[0]


def by_country(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Perplexities and probabilities of 12 texts, 3 countries, 4 draws and 2 classes, with gaps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 1, size=(12, 3, 4))
    y = 0.5 + 0.05 * rng.normal(size=(12, 3, 4, 2)) + 0.02 * x[..., None]
    x[7] = np.nan  # a text whose perplexity was not taken
    y[2, 1, :, 0] = 0.25  # without variance
    y[4:, 2, :, 1] = 0.25  # ... in all but four texts
    return x, y


def brute_force(found: Estimates, texts: np.ndarray, drawn: np.ndarray, again: list[np.ndarray]) -> None:
    """Intervals and p-values from the correlations of the drawn texts, each written down as often as it was drawn."""
    deviations = np.array(again) - found.value
    low, high = found.value + np.quantile(deviations * small_sample_factor(texts), [0.025, 0.975], axis=0)
    error = np.std(again, axis=0) * np.sqrt(texts / (texts - 1))
    student = 2 * stats.t.sf(np.abs(found.value) / error, texts - 1)
    counted = (np.abs(deviations * small_sample_factor(texts)) >= np.abs(found.value)).sum(axis=0)
    p = np.where(counted, np.maximum((1 + counted) / (1 + len(drawn)), student), student)
    p[texts < 5] = low[texts < 5] = high[texts < 5] = np.nan
    np.testing.assert_allclose(found.low, np.maximum(low, -1), rtol=1e-9)
    np.testing.assert_allclose(found.high, np.minimum(high, 1), rtol=1e-9)
    np.testing.assert_allclose(found.p, p)
    np.testing.assert_allclose(found.p_adjusted, benjamini_hochberg(p))


def average_texts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By country and over all: the mean correlation of the texts that have one; and how many have."""
    by_text = local_correlations(x, y)
    texts = (~np.isnan(by_text)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        total = np.nansum(by_text, axis=0)
        return total / texts, total.sum(axis=0) / texts.sum(axis=0), texts


def pool(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([pearson(x[:, c].ravel(), y[:, c].reshape(-1, y.shape[-1])) for c in range(x.shape[1])])


def test_local_correlations_by_country_are_those_of_the_drawn_texts() -> None:
    x, y = by_country(5)
    taken = np.flatnonzero(~np.isnan(x).any(axis=(1, 2)))
    drawn = np.random.default_rng(6).multinomial(11, np.full(11, 1 / 11), size=60)
    rows = [np.repeat(taken, counts) for counts in drawn]
    by_country_plainly, overall_plainly, texts = average_texts(x, y)
    within, overall = estimate_within_correlations(local_correlations(x, y), seed=6, resamples=60)
    np.testing.assert_allclose(within.value, by_country_plainly)
    np.testing.assert_allclose(overall.value, overall_plainly)
    assert texts.tolist() == [[11, 11], [10, 11], [11, 4]] and np.isnan(within.low[2, 1])
    with_gaps = [average_texts(x[some], y[some]) for some in rows]
    # Of four texts a resample may draw none: then it has no correlation, and says nothing.
    again = [np.where(np.isnan(one), within.value, one) for one, _, _ in with_gaps]
    brute_force(within, texts, drawn, again)
    brute_force(overall, np.array([11, 11]), drawn, [whole for _, whole, _ in with_gaps])

    pooled = estimate_pooled_correlations(x, y, seed=6, resamples=60)
    np.testing.assert_allclose(pooled.value, pool(x, y))
    again = [pool(x[some], y[some]) for some in rows]
    brute_force(pooled, np.full((3, 2), 11), drawn, again)


def test_by_country_too_little_is_unknown() -> None:
    x, y = by_country(7)
    for few in (0, 1, 4):
        estimates = (
            estimate_pooled_correlations(x[:few], y[:few]),
            *estimate_within_correlations(local_correlations(x[:few], y[:few])),
        )
        assert all(np.isnan(found.low).all() and np.isnan(found.p_adjusted).all() for found in estimates)
    assert np.isnan(estimate_pooled_correlations(np.full((9, 2, 3), 1.0), np.ones((9, 2, 3, 2))).value).all()


def test_where_nothing_goes_together_few_countries_are_marked() -> None:
    """Eight countries, 20 texts, 200 times: in about 5 of 100 any country at all."""
    marked = np.zeros(2)
    for i in range(200):
        rng = np.random.default_rng([9, i])
        x, y = rng.normal(size=(20, 8, 5)), rng.normal(size=(20, 8, 5, 1))
        within, _ = estimate_within_correlations(local_correlations(x, y), seed=i, resamples=400)
        pooled = estimate_pooled_correlations(x, y, seed=i, resamples=400)
        marked += [(found.p_adjusted < 0.05).any() for found in (within, pooled)]
    assert (marked / 200 <= acceptance(0.05, 200)[1]).all()


@pytest.mark.slow
def test_intervals_by_country_hold_the_truth() -> None:
    """Two countries, one with a correlation and one without, 200 times."""
    covered = np.zeros((2, 2))
    r = 0.5 / np.sqrt(1.25)  # of x with x / 2 and noise
    # Of five draws the correlation is smaller on average, by a formula that is known (Fisher 1915).
    of_five = r / 2 * (special.gamma(2.5) / special.gamma(2)) ** 2 * special.hyp2f1(0.5, 0.5, 3, r**2)
    assert of_five == pytest.approx(0.402, abs=0.001)
    for i in range(200):
        rng = np.random.default_rng([8, i])
        x = rng.normal(size=(40, 2, 5))
        y = x * [[0.5], [0.0]] + rng.normal(size=x.shape)
        pooled = estimate_pooled_correlations(x, y[..., None], seed=i, resamples=400)
        within, _ = estimate_within_correlations(local_correlations(x, y[..., None]), seed=i, resamples=400)
        for k, (found, truth) in enumerate(((pooled, np.array([r, 0])), (within, np.array([of_five, 0])))):
            covered[k] += (found.low[:, 0] <= truth) & (truth <= found.high[:, 0])
    assert (covered / 200 >= acceptance(0.95, 200)[0]).all()
