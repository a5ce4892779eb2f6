"""Correlations with perplexity against SciPy and numbers worked out by hand."""

from __future__ import annotations

import numpy as np
from scipy import stats

from geobias.measures.correlation import pearson, pooled_correlation, within_correlation

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
    found = within_correlation(PERPLEXITY, PROBABILITY)
    each = np.array(
        [
            [[stats.pearsonr(PERPLEXITY[t, c], PROBABILITY[t, c, :, k]).statistic for k in range(3)] for c in range(3)]
            for t in range(6)
        ]
    )
    np.testing.assert_allclose(found.by_country, each.mean(axis=0))
    np.testing.assert_allclose(found.overall, each.mean(axis=(0, 1)))
    assert (found.texts == 6).all() and (found.left_out == 0).all()


def test_within_leaves_out_and_counts_texts_without_variance() -> None:
    probability = PROBABILITY.copy()
    probability[0, 1, :, 2] = 0.25 + np.array([0, 1e-8, 0, -1e-8])  # rounding is no variance
    perplexity = PERPLEXITY.copy()
    perplexity[3, 0] = 2.0
    found = within_correlation(perplexity, probability)
    assert found.texts.tolist() == [[5, 5, 5], [6, 6, 5], [6, 6, 6]]
    assert found.left_out.tolist() == [[1, 1, 1], [0, 0, 1], [0, 0, 0]]
    rest = [stats.pearsonr(perplexity[t, 1], probability[t, 1, :, 2]).statistic for t in range(1, 6)]
    np.testing.assert_allclose(found.by_country[1, 2], np.mean(rest))


def test_within_knows_texts_that_were_not_taken() -> None:
    perplexity = PERPLEXITY.copy()
    perplexity[2] = np.nan
    found = within_correlation(perplexity, PROBABILITY)
    rest = within_correlation(np.delete(PERPLEXITY, 2, axis=0), np.delete(PROBABILITY, 2, axis=0))
    np.testing.assert_allclose(found.by_country, rest.by_country)
    assert (found.texts == 5).all() and (found.left_out == 0).all()


def test_two_draws_have_no_correlation_within() -> None:
    found = within_correlation(PERPLEXITY[:, :, :2], PROBABILITY[:, :, :2])
    assert np.isnan(found.by_country).all() and (found.left_out == 6).all()


def test_pooled_by_scipy() -> None:
    found = pooled_correlation(PERPLEXITY, PROBABILITY, ORIGINAL_PERPLEXITY, ORIGINAL)
    x = PERPLEXITY - ORIGINAL_PERPLEXITY[:, None, None]
    y = PROBABILITY - ORIGINAL[:, None, None]
    for k in range(3):
        for c in range(3):
            expected = stats.pearsonr(x[:, c].ravel(), y[:, c, :, k].ravel()).statistic
            np.testing.assert_allclose(found.by_country[c, k], expected)
        np.testing.assert_allclose(found.overall[k], stats.pearsonr(x.ravel(), y[..., k].ravel()).statistic)


def test_the_two_definitions_can_have_opposite_signs() -> None:
    # Within each text the stranger name is the more positive; between the texts it is the other way round.
    perplexity = np.array([[[0.0, 1.0, 2.0]], [[10.0, 11.0, 12.0]]])
    probability = np.array([[[[0.7], [0.8], [0.9]]], [[[0.1], [0.2], [0.3]]]])
    assert within_correlation(perplexity, probability).overall > 0.99
    pooled = pooled_correlation(perplexity, probability, np.zeros(2), np.zeros((2, 1)))
    assert pooled.overall < -0.9
