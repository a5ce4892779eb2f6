"""Words left out in turn: exact for a mean, and right about the bias of a plug-in variance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from geobias.measures.word_jackknife import jackknife_words

VALUES = np.random.default_rng(0).normal(2.0, 1.0, size=30)


def test_of_a_mean_it_is_students_interval() -> None:
    found = jackknife_words(lambda words: VALUES[words].mean(keepdims=True), 30)
    test = stats.ttest_1samp(VALUES, 0.0)
    low, high = test.confidence_interval(0.95)
    estimate = found.estimate_differences()
    assert estimate.low[0] == pytest.approx(low) and estimate.high[0] == pytest.approx(high)
    assert estimate.p[0] == pytest.approx(max(test.pvalue, 0.5**29))
    assert found.bootstrap_deviations().std(axis=0)[0] == pytest.approx(VALUES.std() / np.sqrt(30), rel=0.1)


def test_the_bias_of_a_variance_is_found_exactly() -> None:
    """The mean square deviation is too small by its unbiased form divided by the count."""
    found = jackknife_words(lambda words: VALUES[words].var(keepdims=True), 30).estimate_differences()
    assert (found.low[0] + found.high[0]) / 2 == pytest.approx(VALUES.var(ddof=1))


def test_distances_stay_above_zero_and_nothing_stays_nothing() -> None:
    few = np.array([0.1, 0.1, 0.1, 0.1, 5.0])
    found = jackknife_words(
        lambda words: np.array([few[words].mean(), 0.0, float(words.min())]), 5
    ).estimate_distances()
    assert 0 <= found.low[0] < found.value[0] < found.high[0]
    assert found.low[1] == found.high[1] == 0
    assert found.low[2] == 0 < found.high[2]  # 0 with the first word, and 1 without


def test_a_root_has_students_interval() -> None:
    roots = np.abs(VALUES)
    found = jackknife_words(lambda words: roots[words].mean(keepdims=True) ** 2, 30).estimate_distances()
    low, high = stats.ttest_1samp(roots, 0.0).confidence_interval(0.95)
    assert found.low[0] == pytest.approx(low**2) and found.high[0] == pytest.approx(high**2)


def test_two_templates_are_known_worse_than_thirty_words() -> None:
    found = jackknife_words(lambda words: np.array([1.0 + 1e-9 * VALUES[words].mean()]), 30)
    templates = np.array([[-0.1], [0.1]])  # a mean of 1 over 0.8 and 1.2: an error of 0.2, and t of one degree
    estimate = found.estimate_differences(templates)
    assert estimate.high[0] - 1 == pytest.approx(12.706 * 0.2, rel=1e-3)
    assert found.estimate_differences(templates[:1] * 0).high[0] == pytest.approx(1.0)


def test_fewer_words_than_five_tell_nothing() -> None:
    found = jackknife_words(lambda words: np.array([VALUES[words].mean()]), 4)
    for estimate in (found.estimate_distances(), found.estimate_differences()):
        assert np.isnan(estimate.low[0]) and np.isnan(estimate.p[0]) and not np.isnan(estimate.value[0])


def test_a_difference_on_which_all_words_agree_is_as_sure_as_coins_that_fall_alike() -> None:
    found = jackknife_words(lambda words: np.array([1.0, 0.0]), 5).estimate_differences()
    assert found.p.tolist() == [1 / 16, 1.0] and found.low[0] == found.high[0] == 1
