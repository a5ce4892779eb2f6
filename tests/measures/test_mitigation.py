"""The spread between countries, flips and quality of two classifiers, against simulations and cases by hand."""

from __future__ import annotations

import numpy as np
import pytest

from geobias.measures.change import performance
from geobias.measures.crossed_variance import CrossedVariance, NameUnits
from geobias.measures.mitigation import SpreadComparison, compare_quality, compare_spreads, flips_by_text

TEXTS, COUNTRIES, DRAWS, NAMES = 40, 8, 6, 12


def make_design() -> tuple[CrossedVariance, np.ndarray]:
    """Every answer shows one of its country's names, in turn; and the name of each answer."""
    shape = (TEXTS, COUNTRIES, DRAWS)
    text, country, draw = np.indices(shape)
    names = country * NAMES + (text * 5 + draw) % NAMES
    units = NameUnits(np.arange(names.size), names.ravel(), np.zeros(COUNTRIES * NAMES, dtype=int))
    return CrossedVariance(units, shape, np.ones((TEXTS, DRAWS), dtype=bool)), names


def simulate(rng: np.random.Generator, effects: np.ndarray, names: np.ndarray, name_sd: float = 1.0) -> np.ndarray:
    """Tones with effects of texts, countries and names, and noise."""
    values = rng.normal(0, 20, (TEXTS, 1, 1)) + effects[None, :, None] + rng.normal(0, 2, names.shape)
    return np.asarray(values + rng.normal(0, name_sd, COUNTRIES * NAMES)[names])


def compare(rng: np.random.Generator, first: np.ndarray, second: np.ndarray, name_sd: float) -> SpreadComparison:
    """Two classifiers with these effects of countries."""
    design, names = make_design()
    before, after = (simulate(rng, effects, names, name_sd) for effects in (first, second))
    return compare_spreads(before, after, design)


def test_the_spread_is_that_of_the_names_without_the_noise_of_texts() -> None:
    rng = np.random.default_rng(0)
    effects = np.linspace(-3, 3, COUNTRIES)
    comparisons = [compare(rng, effects, 0.25 * effects, 0) for _ in range(30)]
    true = effects.std(ddof=1)
    assert np.mean([each.before.value for each in comparisons]) == pytest.approx(true, rel=0.05)
    assert np.mean([each.ratio.value for each in comparisons]) == pytest.approx(0.25, abs=0.06)
    assert all(each.ratio.high < 0.7 and (each.change.p or 1) < 0.05 for each in comparisons)
    covers = [each.before.low <= true <= each.before.high for each in comparisons]
    assert sum(covers) >= 26  # of 30 intervals of 95 %
    assert all(each.before.exceeds_noise and 0.05 < each.before.noise < 0.5 for each in comparisons)


def test_equal_countries_have_no_spread_and_no_change() -> None:
    rng, equal = np.random.default_rng(1), np.zeros(COUNTRIES)
    comparisons = [compare(rng, equal, equal, 0) for _ in range(40)]
    assert sum(each.before.low > 0 and each.before.exceeds_noise for each in comparisons) <= 5
    assert sum(each.change.p is not None and each.change.p < 0.05 for each in comparisons) <= 5


def test_a_spread_of_single_names_does_not_exceed_the_noise_floor() -> None:
    rng, equal = np.random.default_rng(4), np.zeros(COUNTRIES)
    spreads = [compare(rng, equal, equal, 4).before for _ in range(40)]
    assert sum(spread.exceeds_noise for spread in spreads) <= 6
    assert np.mean([spread.noise for spread in spreads]) == pytest.approx(4 / NAMES**0.5, rel=0.15)
    assert np.mean([spread.value for spread in spreads]) == pytest.approx(4 / NAMES**0.5, rel=0.15)


def test_the_standardised_spread_does_not_fall_if_all_tones_shrink() -> None:
    design, names = make_design()
    values = simulate(np.random.default_rng(2), np.linspace(-3, 3, COUNTRIES), names)
    comparison = compare_spreads(values, 0.2 * values, design)
    assert comparison.ratio.value == pytest.approx(0.2) and comparison.standardised_ratio.value == pytest.approx(1)


def simulate_equal_texts(seed: int) -> tuple[CrossedVariance, np.ndarray]:
    """Texts that differ in nothing but names; half the names of the first country lower the tone."""
    design, _ = make_design()
    values = np.full((TEXTS, COUNTRIES, DRAWS), 40.0)
    values[:, 0] -= 80 * (np.random.default_rng(seed).random((TEXTS, DRAWS)) < 0.5)
    return design, values


@pytest.mark.parametrize("seed", range(4))
def test_texts_of_equal_tone_have_a_standardised_ratio(seed: int) -> None:
    design, values = simulate_equal_texts(seed)
    perfect = compare_spreads(values, np.full_like(values, 40.0), design)
    assert perfect.ratio.value == perfect.standardised_ratio.value == 0 and perfect.standardised_ratio.high < 0.5
    softer = compare_spreads(values, 0.2 * values, design)
    assert softer.ratio.value == pytest.approx(0.2) and softer.standardised_ratio.value == pytest.approx(1)


def test_a_classifier_that_says_the_same_of_every_text_has_no_standardised_ratio() -> None:
    design, names = make_design()
    values = simulate(np.random.default_rng(5), np.linspace(-3, 3, COUNTRIES), names)
    assert np.isnan(compare_spreads(values, np.zeros_like(values), design).standardised_ratio.value)


def test_flips_count_versions_that_differ_from_most() -> None:
    classes = np.zeros((3, 2, 2, 2), dtype=bool)
    classes[..., 0] = True
    classes[1, 1, 1] = [False, True]  # one of four versions
    classes[2, :, 0] = [False, True]  # two of four
    np.testing.assert_allclose(flips_by_text(classes), [0, 0.25, 0.5])


def test_flips_between_many_labels_are_counted() -> None:
    classes = np.eye(70, dtype=bool)[[[[65], [65], [69], [64]]]]
    np.testing.assert_allclose(flips_by_text(classes), [0.5])


def test_accuracy_and_macro_f1_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    truth = np.eye(3, dtype=bool)[rng.integers(3, size=200)]
    probabilities = [rng.dirichlet([1, 1, 1], 200) + weight * truth for weight in (0.5, 0.2)]
    classes = [each.argmax(axis=1)[:, None] == np.arange(3) for each in probabilities]
    comparison, expected = compare_quality(truth, *classes), performance(truth, probabilities[1][:, None])
    assert comparison["accuracy"].after.value == pytest.approx(100 * expected.accuracy)
    assert comparison["macro_f1"].after.value == pytest.approx(100 * expected.macro_f1)
    change = comparison["accuracy"].change
    assert change.high is not None and change.high < 0 and (change.p or 1) < 0.05
    same = compare_quality(truth, classes[0], classes[0])["accuracy"].change
    assert (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)
