"""Correlations with perplexity against SciPy and numbers worked out by hand."""

from __future__ import annotations

import numpy as np
from scipy import stats

from geobias.measures.correlation import (
    estimate_pooled_correlations,
    estimate_within_correlations,
    local_correlations,
    pearson,
)

RNG = np.random.default_rng(5)
PERPLEXITY = RNG.normal(size=(6, 3, 4))  # texts, countries, draws
PROBABILITY = RNG.dirichlet([1, 1, 1], size=(6, 3, 4))
ORIGINAL_PERPLEXITY = RNG.normal(size=6)
ORIGINAL = RNG.dirichlet([1, 1, 1], size=6)


def test_global_by_hand_and_by_scipy() -> None:
    # Deviations -1, 0, 1 and -.1, -.1, .2: sum of products .3; squares 2 and .06: .3 / sqrt(.12).
    correlations = pearson(np.array([1.0, 2, 3]), np.array([[0.1], [0.1], [0.4]]))
    np.testing.assert_allclose(correlations, [0.3 / np.sqrt(0.12)])
    correlations = pearson(ORIGINAL_PERPLEXITY, ORIGINAL)
    expected = [stats.pearsonr(ORIGINAL_PERPLEXITY, ORIGINAL[:, k]).statistic for k in range(3)]
    np.testing.assert_allclose(correlations, expected)


def test_global_leaves_out_what_was_not_taken() -> None:
    some = np.array([1.0, np.nan, 2, 4])
    values = np.array([[0.1], [0.9], [0.3], [0.2]])
    np.testing.assert_allclose(pearson(some, values), pearson(some[[0, 2, 3]], values[[0, 2, 3]]))
    assert np.isnan(pearson(np.array([1.0]), np.array([[0.5]]))).all()


def test_within_is_the_mean_over_texts() -> None:
    each = np.array(
        [
            [[stats.pearsonr(PERPLEXITY[t, c], PROBABILITY[t, c, :, k]).statistic for k in range(3)] for c in range(3)]
            for t in range(6)
        ]
    )
    by_text = local_correlations(PERPLEXITY, PROBABILITY)
    np.testing.assert_allclose(by_text, each)
    by_country, overall = estimate_within_correlations(by_text)
    np.testing.assert_allclose(by_country.value, each.mean(axis=0))
    np.testing.assert_allclose(overall.value, each.mean(axis=(0, 1)))


def test_within_leaves_out_texts_without_variance_or_perplexity() -> None:
    probability = PROBABILITY.copy()
    probability[0, 1, :, 2] = 0.25 + np.array([0, 1e-8, 0, -1e-8])  # rounding is no variance
    perplexity = PERPLEXITY.copy()
    perplexity[3, 0], perplexity[2] = 2.0, np.nan
    by_text = local_correlations(perplexity, probability)
    assert (~np.isnan(by_text)).sum(axis=0).tolist() == [[4, 4, 4], [5, 5, 4], [5, 5, 5]]
    rest = [stats.pearsonr(perplexity[t, 1], probability[t, 1, :, 2]).statistic for t in (1, 3, 4, 5)]
    np.testing.assert_allclose(estimate_within_correlations(by_text)[0].value[1, 2], np.mean(rest))


def test_two_draws_have_no_correlation_within() -> None:
    assert np.isnan(local_correlations(PERPLEXITY[:, :, :2], PROBABILITY[:, :, :2])).all()


def test_pooled_by_scipy() -> None:
    x, y = PERPLEXITY - ORIGINAL_PERPLEXITY[:, None, None], PROBABILITY - ORIGINAL[:, None, None]
    found = estimate_pooled_correlations(x, y).value
    for c, k in np.ndindex(3, 3):
        np.testing.assert_allclose(found[c, k], stats.pearsonr(x[:, c].ravel(), y[:, c, :, k].ravel()).statistic)


def test_the_two_definitions_can_have_opposite_signs() -> None:
    # Within each text the stranger name is the more positive; between the texts it is the other way round.
    perplexity = np.array([[[0.0, 1.0, 2.0]], [[10.0, 11.0, 12.0]]])
    probability = np.array([[[[0.7], [0.8], [0.9]]], [[[0.1], [0.2], [0.3]]]])
    assert np.nanmean(local_correlations(perplexity, probability)) > 0.99
    assert pearson(perplexity.ravel(), probability.reshape(-1, 1)) < -0.9
