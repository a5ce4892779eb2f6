"""Change of classes, Delta and symmetric KL against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from geobias.measures.change import (
    Change,
    change_by_country,
    class_change,
    error_rates,
    predict_classes,
    symmetric_kl,
)

# Two texts, two countries, two draws; classes negative, neutral, positive.
ORIGINAL = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
RENAMED = np.array(
    [
        [[[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], [[0.1, 0.2, 0.7], [0.1, 0.3, 0.6]]],
        [[[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]], [[0.4, 0.5, 0.1], [0.5, 0.3, 0.2]]],
    ]
)
ALL = np.ones((2, 2), dtype=bool)


def measured(counted: np.ndarray = ALL, **options: object) -> Change:
    return change_by_country(ORIGINAL, RENAMED, counted=counted, positive=[2], negative=[0], **options)  # type: ignore[arg-type]


def test_counts_and_change_of_classes() -> None:
    found = measured()
    # Originals: one positive, one negative, each renamed twice.
    assert found.before.tolist() == [2, 0, 2]
    # Country 0: positive, negative | negative, negative. Country 1: positive, positive | neutral, negative.
    assert found.after.tolist() == [[3, 0, 1], [1, 1, 2]]
    np.testing.assert_allclose(found.change, [[50, np.nan, -50], [-50, np.nan, 0]])
    # Mean of countries: 2, 0.5, 1.5.
    np.testing.assert_allclose(found.change_from_mean, [[50, -100, -100 / 3], [-50, 100, 100 / 3]])


def test_a_class_never_predicted_before_has_no_percentage() -> None:
    assert np.isnan(class_change(np.array([3.0]), np.array([0.0]))).all()


def test_delta() -> None:
    found = measured()
    # Originals: .3 and -.5, mean -.1. Country 0: .3, -.3, -.6, -.5: mean -.275. Country 1: .6, .5, -.3, -.3: .125.
    np.testing.assert_allclose(found.delta, [-17.5, 22.5])
    np.testing.assert_allclose(found.delta_from_mean, [-20, 20])


def test_delta_adds_up_several_classes_and_needs_both_sides() -> None:
    # negative + neutral against positive: 2 p_pos - 1. Originals 0, -.8; country 0: 0, -.6, -.8, -.8.
    found = change_by_country(ORIGINAL, RENAMED, counted=ALL, positive=[2], negative=[0, 1])
    np.testing.assert_allclose(found.delta[0], 100 * (-2.2 / 4 + 0.4))
    assert np.isnan(change_by_country(ORIGINAL, RENAMED, counted=ALL, positive=[], negative=[0]).delta).all()


def test_symmetric_kl_by_hand() -> None:
    # KL(p to q) = .5 ln(.5/.25) + .5 ln(.5/.75); KL(q to p) = .25 ln(.25/.5) + .75 ln(.75/.5).
    expected = (0.5 * np.log(2) + 0.5 * np.log(2 / 3) + 0.25 * np.log(0.5) + 0.75 * np.log(1.5)) / 2
    assert symmetric_kl(np.array([0.5, 0.5]), np.array([0.25, 0.75])) == pytest.approx(expected)
    # As one class of a multi-label model, .5 against .25 is the same coin.
    assert symmetric_kl(np.array([0.5]), np.array([0.25]), multi_label=True) == pytest.approx(expected)


def test_kl_of_certainties_is_finite() -> None:
    value = symmetric_kl(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert 25 < value < 30  # ln 1e12 is 27.6


def test_mean_kl_against_brute_force() -> None:
    found = measured()
    for country in range(2):
        each = [symmetric_kl(RENAMED[t, country, d], ORIGINAL[t]) for t in range(2) for d in range(2)]
        assert found.kl[country] == pytest.approx(np.mean(each))
        centres = RENAMED.mean(axis=(1, 2))
        each = [symmetric_kl(RENAMED[t, country, d], centres[t]) for t in range(2) for d in range(2)]
        assert found.kl_from_mean[country] == pytest.approx(np.mean(each))


def test_only_counted_draws_take_part() -> None:
    counted = np.array([[True, False], [False, False]])
    found = measured(counted)
    assert found.before.tolist() == [0, 0, 1]
    assert found.after.tolist() == [[0, 0, 1], [0, 0, 1]]
    np.testing.assert_allclose(found.delta, [0, 30])
    np.testing.assert_allclose(found.kl, [0, float(symmetric_kl(RENAMED[0, 1, 0], ORIGINAL[0]))])


def test_nothing_counted_gives_no_number() -> None:
    found = measured(~ALL)
    assert np.isnan(found.delta).all() and np.isnan(found.kl).all() and np.isnan(found.change).all()


def test_a_classifier_that_does_not_care_gives_zero() -> None:
    same = np.broadcast_to(ORIGINAL[:, None, None], RENAMED.shape)
    found = change_by_country(ORIGINAL, same, counted=ALL, positive=[2], negative=[0])
    for values in (found.delta, found.delta_from_mean, found.kl, found.kl_from_mean, found.change[:, [0, 2]]):
        np.testing.assert_allclose(values, 0, atol=1e-12)


def test_a_threshold_decides_class_by_class() -> None:
    assert predict_classes(np.array([0.3, 0.3, 0.4]), None).tolist() == [False, False, True]
    assert predict_classes(np.array([0.3, 0.3, 0.4]), 0.3).tolist() == [True, True, True]
    assert predict_classes(np.array([0.3, 0.3, 0.4]), 0.5).tolist() == [False, False, False]
    found = measured(threshold=0.6)
    assert found.before.tolist() == [2, 0, 0]
    assert found.after.tolist() == [[2, 0, 0], [0, 0, 2]]


def test_error_rates() -> None:
    truth = np.array([[False, False, True], [True, False, False]])
    found = error_rates(truth, RENAMED, counted=ALL)
    # Country 0: text 0 (positive) is called positive, negative; text 1 (negative) twice negative.
    np.testing.assert_allclose(found.false_negative[0], [0, np.nan, 0.5])
    np.testing.assert_allclose(found.false_positive[0], [0.5, 0, 0])
    # Country 1: positive, positive | neutral, negative.
    np.testing.assert_allclose(found.false_negative[1], [0.5, np.nan, 0])
    np.testing.assert_allclose(found.false_positive[1], [0, 0.25, 0])
