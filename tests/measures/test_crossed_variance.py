"""The variance of means over texts and names: against brute force, explicit sampling and planted worlds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bench.calibration_cells import judge, summarize
from bench.calibration_repetitions import Repetition
from bench.calibration_worlds import NAMES, WORLDS, World, draw_answers
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits, effective_count
from geobias.measures.name_blocks import rank_codes

WORLD = {world.name: world for world in WORLDS}


def crossed(
    values: np.ndarray, units: NameUnits, counted: np.ndarray | None = None, **options: bool
) -> CrossedVariance:
    counted = np.ones((values.shape[0], values.shape[2]), dtype=bool) if counted is None else counted
    return CrossedVariance(units, values.shape, counted, **options)


def one_name_each(shape: tuple[int, int, int], names: int, rng: np.random.Generator) -> NameUnits:
    """Every answer shows one first name of its country, no name twice in a text."""
    texts, countries, draws = shape
    positions = np.argsort(rng.random((texts, countries, names)), axis=-1)[..., :draws]
    unit = positions + names * np.arange(countries)[None, :, None]
    return NameUnits(np.arange(texts * countries * draws), unit.ravel(), np.zeros(countries * names, dtype=int))


def test_fixed_names_give_the_variance_of_a_mean_over_texts() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(16, 3, 5))
    uncertainty = crossed(values, one_name_each(values.shape, 9, rng), names_fixed=True).uncertainty(
        LinearMeasure(values, np.eye(3))
    )
    np.testing.assert_allclose(uncertainty.covariance, np.cov(values.mean(axis=2).T) / 16)


def test_moments_against_brute_force() -> None:
    """M_kl is the sum over names v of kind l of Q_k of the answers that an effect of 1 of v alone gives."""
    rng = np.random.default_rng(2)
    texts, countries, draws, names = 13, 2, 4, 5
    values, units = draw_answers(World("any"), texts, countries, draws, rng)
    units = NameUnits(units.answer, units.unit - units.unit % NAMES + units.unit % names, units.kind)  # names repeat
    counted = rng.random((texts, draws)) < 0.9
    design = crossed(values, units, counted)
    shown: list[set[int]] = [set() for _ in range(values.size)]
    for answer, unit in zip(units.answer, units.unit, strict=True):
        shown[answer].add(int(unit))

    def products(effect_of: int, kind: int) -> np.ndarray:
        """Q_k of each country for the answers that show the name `effect_of`."""
        answers = np.array([float(effect_of in names_shown) for names_shown in shown]).reshape(values.shape)
        sums = np.zeros(countries)
        for c in range(countries):
            within = {
                (t, d): answers[t, c, d] - answers[t, c, counted[t]].mean()
                for t, d in product(range(texts), range(draws))
                if counted[t, d]
            }
            for (t, d), (other, e) in product(within, within):
                first = shown[(t * countries + c) * draws + d]
                second = shown[(other * countries + c) * draws + e]
                common = sum(units.kind[unit] == kind for unit in first & second)
                if t != other:
                    sums[c] += common * within[t, d] * within[other, e]
        return sums

    used = sorted(set(units.unit))
    for kind, other in product(range(3), range(3)):
        expected = sum(products(unit, kind) for unit in used if units.kind[unit] == other)
        np.testing.assert_allclose(design._moments[:, kind, other], expected, atol=1e-9)


@pytest.mark.parametrize("name", ["normal name effects", "text x name", "text x country, no mean effect"])
@pytest.mark.slow
def test_the_estimated_variance_is_that_of_repeated_samples(name: str) -> None:
    means, variances = [], []
    contrasts = np.eye(6) - 1 / 6
    for i in range(150):
        values, units = draw_answers(WORLD[name], 20, 6, 4, np.random.default_rng([1, i]))
        design = crossed(values, units)
        means.append(contrasts @ design.means(values))
        variances.append(design.uncertainty(LinearMeasure(values, contrasts)).variance)
    assert np.mean(variances) == pytest.approx(np.square(means).mean(), rel=0.15)


def test_many_texts_leave_the_variance_over_names() -> None:
    rng = np.random.default_rng(3)
    shape = (400, 3, 10)
    units = one_name_each(shape, 20, rng)
    effect = rng.normal(0, 2, 60)
    values = effect[units.unit].reshape(shape)
    variance = crossed(values, units).uncertainty(LinearMeasure(values, np.eye(3))).variance
    expected = effect.reshape(3, 20).var(axis=1, ddof=1) / 20
    np.testing.assert_allclose(variance, expected, rtol=0.1)


def test_names_that_all_countries_share_do_not_set_countries_apart() -> None:
    rng = np.random.default_rng(4)
    shape = (100, 3, 10)
    units = one_name_each(shape, 20, rng)
    shared = NameUnits(units.answer, units.unit % 20, np.zeros(20, dtype=int))
    values = rng.normal(0, 2, 20)[shared.unit].reshape(shape)
    design = crossed(values, shared)
    alone, from_mean = (
        design.uncertainty(LinearMeasure(values, matrix)).variance for matrix in (np.eye(3), np.eye(3) - 1 / 3)
    )
    assert (from_mean < alone / 9).all()


def test_only_counted_answers_take_part() -> None:
    rng = np.random.default_rng(5)
    values, units = draw_answers(World("any"), 30, 3, 6, rng)
    counted = np.zeros((30, 6), dtype=bool)
    counted[:, :4] = True
    noisy = np.where(counted[:, None, :], values, 1e6)
    keep = np.isin(units.answer % 6, range(4))
    text_and_country, draw = units.answer[keep] // 6, units.answer[keep] % 6
    smaller = NameUnits(text_and_country * 4 + draw, units.unit[keep], units.kind)
    for matrix in (np.eye(3), np.eye(3) - 1 / 3):
        masked = crossed(noisy, units, counted).uncertainty(LinearMeasure(noisy, matrix))
        alone = crossed(values[..., :4], smaller).uncertainty(LinearMeasure(values[..., :4], matrix))
        np.testing.assert_allclose(masked.covariance, alone.covariance)
        np.testing.assert_allclose(masked.df, alone.df)


def test_the_order_of_texts_does_not_matter() -> None:
    rng = np.random.default_rng(6)
    values, units = draw_answers(World("any"), 20, 3, 4, rng)
    order = rng.permutation(20)
    position = np.argsort(order)
    moved = NameUnits(position[units.answer // 12] * 12 + units.answer % 12, units.unit, units.kind)
    first = crossed(values, units).uncertainty(LinearMeasure(values, np.eye(3)))
    second = crossed(values[order], moved).uncertainty(LinearMeasure(values[order], np.eye(3)))
    np.testing.assert_allclose(first.covariance, second.covariance)


@pytest.mark.parametrize(("texts", "draws"), [(14, 20), (40, 1), (15, 2)])
def test_too_little_gives_no_interval(texts: int, draws: int) -> None:
    values, units = draw_answers(World("any"), texts, 3, draws, np.random.default_rng(7))
    assert not crossed(values, units).is_estimable
    assert crossed(values, units, names_fixed=True).is_estimable == (texts >= 15)


@pytest.mark.parametrize("countries", [2, 6])
def test_fifteen_texts_give_intervals_against_the_mean_and_against_originals(countries: int) -> None:
    values, units = draw_answers(World("any", text=0.0), 15, countries, 10, np.random.default_rng(7))
    design = crossed(values, units)
    assert design.is_estimable
    for matrix in (np.eye(countries), np.eye(countries) - 1 / countries):
        assert design.uncertainty(LinearMeasure(values, matrix)).is_known


def test_a_change_of_several_hundred_per_cent_has_an_interval() -> None:
    values, units = draw_answers(World("any", text=0.0), 15, 6, 10, np.random.default_rng(7))
    design = crossed(values, units)
    predictions = (values > 4).astype(float)
    predictions[:, 0] = 1
    change = design.linearize_change_from_mean(predictions)
    assert np.abs(change.coefficients.sum(axis=1)).max() > 1 and design.uncertainty(change).is_known


def test_two_texts_that_react_say_nothing_of_others() -> None:
    rng = np.random.default_rng(8)
    values, units = draw_answers(World("any"), 30, 3, 4, rng)
    reacts = (np.arange(30) < 2)[:, None, None]
    centred = np.eye(3) - 1 / 3
    assert crossed(values, units).uncertainty(LinearMeasure(values, centred)).is_known
    assert not crossed(values, units).uncertainty(LinearMeasure(np.where(reacts, values, 0), centred)).is_known
    same_in_all = np.zeros(values.shape)
    same_in_all[:, 0] = 5.0
    same_in_all[0] = 4.0  # one text deviates from an effect that all others have
    assert crossed(values, units).uncertainty(LinearMeasure(same_in_all, centred)).is_known
    assert effective_count(np.array([1.0, 1.0, 1.0, 0.0])) == pytest.approx(3)


def test_a_classifier_that_ignores_names_is_certain() -> None:
    values, units = draw_answers(World("any"), 30, 3, 4, np.random.default_rng(9))
    uncertainty = crossed(values, units).uncertainty(LinearMeasure(np.zeros(values.shape), np.eye(3)))
    assert (uncertainty.half_width() == 0).all() and (uncertainty.p_values(np.zeros(3)) == 1).all()


def test_plans_with_fixed_names_and_with_a_pilot_that_lacks_a_kind_of_names() -> None:
    values, units = draw_answers(World("any"), 30, 3, 4, np.random.default_rng(10))
    fixed = crossed(values, units, names_fixed=True)
    random = crossed(values, units)
    assert fixed.smallest_effect(fixed.variance_components(values)) > 0
    components = random.variance_components(values)
    fewer_kinds = components._replace(names=components.names[:, :2])
    assert random.smallest_effect(fewer_kinds) == pytest.approx(random.smallest_effect(components), rel=0.5)


def test_a_pilot_within_a_design_has_the_variance_of_its_own_draws() -> None:
    values, units = draw_answers(WORLD["names have no effect"], 100, 3, 6, np.random.default_rng(11))
    in_pilot = np.zeros((100, 6), dtype=bool)
    in_pilot[:20] = True
    pilot, whole = crossed(values, units, in_pilot), crossed(values, units)
    draws = [design.variance_components(values).draws.mean() for design in (pilot, whole)]
    assert draws[0] == pytest.approx(draws[1], rel=0.25)


def test_the_noise_floor_is_that_of_a_mean_over_names() -> None:
    rng = np.random.default_rng(12)
    shape = (60, 3, 6)
    units = one_name_each(shape, 20, rng)
    effect = rng.normal(0, 2, 60)
    values = effect[units.unit].reshape(shape)
    expected = 1.96 * np.sqrt(effect.reshape(3, 20).var(axis=1, ddof=1) / 20)
    np.testing.assert_allclose(crossed(values, units).noise_floor(values), expected, rtol=0.25)


@pytest.mark.parametrize(
    "name", ["normal name effects", "few names with large effects", "text x country, no mean effect"]
)
@pytest.mark.slow
def test_a_cell_of_the_calibration_is_inside_its_bands(name: str) -> None:
    cell = judge(WORLD[name], (20, 8, 6), 400)
    assert not list(cell.list_misses()) and not cell.note.startswith("none")
    for coverage in (cell.share("coverage originals"), cell.share("coverage mean of countries")):
        assert coverage is not None and 0.93 <= coverage <= 0.985
    assert cell.false_marks is not None and cell.false_marks <= 0.08  # a rate of 5 % is above that in 1 of 250 cases
    planned, true = cell.share("planned_effect"), cell.true_effect
    assert planned is not None and planned == pytest.approx(true, rel=0.15)


@pytest.mark.slow
def test_planted_effects_are_marked_and_gates_seldom_pass_wrongly() -> None:
    cell = judge(WORLD["planted: one country, 3 points"], (36, 8, 6), 100)
    assert cell.detections is not None and cell.detections > 0.95
    assert not list(cell.list_misses()) and cell.share("false_gate_passes") is not None


def test_cells_outside_their_bands_and_without_numbers_say_so() -> None:
    """Repetitions as a wrong variance would give them: a gate that passes too often, a coverage of 80 %."""
    names = [f"coverage {reference}" for reference in ("originals", "mean of countries")]
    fine = Repetition(dict.fromkeys(names, 0.95) | {"false_gate_passes": 0.0})
    wrong = Repetition(dict.fromkeys(names, 0.8) | {"false_gate_passes": 1.0})
    world, size = WORLD["planted: one country, 3 points"], (20, 8, 6)
    assert summarize(world, size, [fine] * 100).note == ""
    assert summarize(world, size, [wrong] * 20 + [fine] * 80).note == "outside: false gate passes"
    assert "coverage, originals" in summarize(world, size, [wrong] * 100).note
    assert summarize(world, size, [Repetition({})] * 98 + [wrong] * 2).note == "none: too few texts react"
    assert summarize(world, (14, 50, 6), [Repetition({})]).note == "none: fewer than 15 texts"


@pytest.mark.parametrize("size", [60, 10_000])
def test_codes_are_ranked_as_by_sorting(size: int) -> None:
    codes = np.random.default_rng(0).integers(0, size, 40)
    for ranked, expected in zip(rank_codes(codes, size), np.unique(codes, return_inverse=True), strict=True):
        np.testing.assert_array_equal(ranked, expected)
