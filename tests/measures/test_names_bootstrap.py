"""Resampling texts and names: against explicit resampling, on names that do something and names that do nothing."""

from __future__ import annotations

import numpy as np
import pytest

from bench.calibrate import CELLS, COUNTRIES, acceptance, answers, judge
from geobias.measures.estimates import small_sample_factor
from geobias.measures.names_bootstrap import NamesBootstrap, NameUnits

TEXTS, DRAWS = 12, 5
EACH = np.eye(3)
AMONG = EACH - 1 / 3


def resample(
    values: np.ndarray, units: NameUnits, counted: np.ndarray | None = None, **options: object
) -> NamesBootstrap:
    counted = np.ones((values.shape[0], values.shape[2]), dtype=bool) if counted is None else counted
    return NamesBootstrap(units, values.shape, counted, **options)  # type: ignore[arg-type]


def one_name_each(shape: tuple[int, int, int], names: int, rng: np.random.Generator) -> NameUnits:
    """Every answer shows one first name of its country."""
    texts, countries, draws = shape
    own = np.argsort(rng.random((texts, countries, names)), axis=-1)[..., :draws]
    unit = own + names * np.arange(countries)[None, :, None]
    return NameUnits(np.arange(texts * countries * draws), unit.ravel(), np.zeros(countries * names, dtype=int))


def test_with_fixed_names_it_is_the_bootstrap_of_texts() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(TEXTS, 3, DRAWS))
    units = one_name_each(values.shape, 9, rng)
    found = resample(values, units, names_fixed=True, resamples=50, seed=7).deviations(
        [[(values, EACH)], [(values, AMONG)]]
    )
    times = np.random.default_rng(7).multinomial(TEXTS, np.full(TEXTS, 1 / TEXTS), size=50)
    means = values.mean(axis=2)
    explicit = (times @ means) / TEXTS - means.mean(axis=0)
    scale = small_sample_factor(TEXTS)
    np.testing.assert_allclose(found[0], explicit * scale)
    np.testing.assert_allclose(found[1], (explicit - explicit.mean(axis=1, keepdims=True)) * scale, atol=1e-12)


def test_texts_that_differ_do_not_pass_for_countries_that_differ() -> None:
    rng = np.random.default_rng(2)
    values = np.broadcast_to(rng.normal(size=(TEXTS, 1, 1)), (TEXTS, 3, DRAWS))
    found = resample(values, one_name_each(values.shape, 9, rng)).deviations([[(values, EACH)], [(values, AMONG)]])
    assert found[0].std() > 0.1 and np.abs(found[1]).max() < 1e-12


def test_names_that_do_something_widen_the_interval_by_what_they_do() -> None:
    rng = np.random.default_rng(3)
    shape = (400, 3, 10)
    units = one_name_each(shape, 20, rng)
    effect = rng.normal(0, 2, 60)
    values = effect[units.unit].reshape(shape)
    spread = resample(values, units).deviations([[(values, EACH)]])[0].std(axis=0)
    for c in range(3):  # a mean over 20 names
        expected = effect[20 * c : 20 * c + 20].std(ddof=1) / np.sqrt(20)
        assert spread[c] == pytest.approx(expected, rel=0.12)


def test_a_name_of_several_countries_is_one() -> None:
    rng = np.random.default_rng(4)
    shape = (100, 3, 10)
    units = one_name_each(shape, 20, rng)
    shared = NameUnits(units.answer, units.unit % 20, np.zeros(20, dtype=int))  # all countries have the same names
    values = rng.normal(0, 2, 20)[shared.unit].reshape(shape)
    spread = resample(values, shared).deviations([[(values, EACH)], [(values, AMONG)]])
    assert spread[1].std() < spread[0].std() / 3  # what the same names do cannot set countries apart


def test_shuffling_finds_a_country_and_nothing_where_there_is_nothing() -> None:
    rng = np.random.default_rng(5)
    shape = (60, 3, 10)
    units = one_name_each(shape, 20, rng)
    values = rng.normal(0, 1, shape) + rng.normal(0, 0.5, 60)[units.unit].reshape(shape)
    values[:, 0] += 3
    p, any_country = resample(values, units, resamples=500).permutation_test(values, 3)
    assert p[0] < 0.01 and any_country < 0.01
    same = np.ones(shape)
    p, any_country = resample(same, units, resamples=200).permutation_test(same, 3)
    assert p.tolist() == [1, 1, 1] and any_country == 1


def test_only_counted_answers_take_part() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(TEXTS, 3, DRAWS))
    units = one_name_each(values.shape, 9, rng)
    counted = np.zeros((TEXTS, DRAWS), dtype=bool)
    counted[:, :3] = True
    changed = values.copy()
    changed[:, :, 3:] = 99
    for found, again in zip(
        resample(values, units, counted).deviations([[(values, EACH)]]),
        resample(changed, units, counted).deviations([[(changed, EACH)]]),
        strict=True,
    ):
        np.testing.assert_allclose(found, again)


def test_the_placebo_is_what_names_do_and_nothing_without_them() -> None:
    rng = np.random.default_rng(8)
    shape = (200, 3, 10)
    units = one_name_each(shape, 20, rng)
    effect = rng.normal(0, 2, 60)
    values = effect[units.unit].reshape(shape)
    floor = resample(values, units).noise_floor(values)
    expected = [1.96 * effect[20 * c : 20 * c + 20].std(ddof=1) / np.sqrt(20) for c in range(3)]
    np.testing.assert_allclose(floor, expected, rtol=0.25)
    alike = np.ones(shape)
    assert resample(alike, units).noise_floor(alike).max() < 1e-12


def test_two_terms_are_one_measure() -> None:
    """What two runs share drops out, names' and single answers' part alike; unlike parts stay."""
    rng = np.random.default_rng(9)
    shape = (40, 3, 10)
    units = one_name_each(shape, 20, rng)
    first, second = rng.normal(size=(2, *shape)) + rng.normal(0, 2, 60)[units.unit].reshape(shape)
    bootstrap = resample(first, units)
    together, apart = bootstrap.deviations([[(second, AMONG), (-first, AMONG)], [(second - first, AMONG)]])
    np.testing.assert_allclose(together, apart, atol=1e-12)
    assert np.abs(bootstrap.deviations([[(second, AMONG), (-second, AMONG)]])[0]).max() < 1e-12
    both = bootstrap.deviations([[(second, AMONG), (-first, EACH)]])[0]
    assert both.std() > apart.std()


def test_few_names_make_an_interval_wider_than_few_answers_would() -> None:
    """Satterthwaite: where two names decide, Student's t of one degree; where texts do, of as many as there are."""
    rng = np.random.default_rng(10)
    shape = (60, 3, 2)
    units = one_name_each(shape, 2, rng)
    by_name = np.array([-1.0, 1.0] * 3)[units.unit].reshape(shape)
    reach = np.quantile(np.abs(resample(by_name, units).deviations([[(by_name, EACH)]])[0]), 0.95, axis=0)
    by_text = np.broadcast_to(rng.normal(size=(60, 1, 1)), shape)
    of_texts = np.quantile(np.abs(resample(by_text, units).deviations([[(by_text, EACH)]])[0]), 0.95, axis=0)
    assert (reach > 8).all()  # +-1 by two names: an error of 1, and t of 12.7
    np.testing.assert_allclose(of_texts, 2.0 * by_text[:, 0, 0].std(ddof=1) / np.sqrt(60), rtol=0.1)


def test_one_draw_a_text_tells_nothing_of_names() -> None:
    rng = np.random.default_rng(12)
    values = rng.normal(size=(30, 3, 1))
    units = one_name_each(values.shape, 9, rng)
    assert not resample(values, units).is_estimable and resample(values, units, names_fixed=True).is_estimable
    assert resample(rng.normal(size=(30, 3, 2)), one_name_each((30, 3, 2), 9, rng)).is_estimable


def test_few_texts_hold_the_truth_too_and_random_names_are_never_surer_than_fixed_ones() -> None:
    covered, repetitions = np.zeros(2), 200
    for i in range(repetitions):
        rng = np.random.default_rng(i)
        values = rng.normal(0, 3, (4, 3, 6)) + rng.normal(0, 2, (4, 1, 1))
        units = one_name_each(values.shape, 30, rng)
        mean = values.mean(axis=(0, 2))
        wide = []
        for fixed in (False, True):
            off = resample(values, units, names_fixed=fixed, resamples=400, seed=i).deviations([[(values, AMONG)]])[0]
            wide.append(off.std(axis=0))
            low, high = mean - mean.mean() + np.quantile(off, [0.025, 0.975], axis=0)
            covered[int(fixed)] += (low[0] <= 0) & (high[0] >= 0)
        assert (wide[0] > 0.9 * wide[1]).all()
    assert (covered / repetitions >= acceptance(0.95, repetitions)[0]).all()


@pytest.mark.parametrize("cell", [CELLS[1], CELLS[5], CELLS[2]], ids=lambda cell: cell.name)
def test_intervals_hold_the_truth_and_false_alarms_are_rare(cell: object) -> None:
    repetitions = 200
    found = judge(cell, repetitions)  # type: ignore[arg-type]
    for covered in (found.covered, found.covered_from_mean):
        assert 0.90 <= covered / repetitions <= 0.99
    assert found.false_alarms / repetitions <= acceptance(0.05, repetitions)[1]
    if cell is CELLS[5]:
        assert found.found / repetitions > 0.6  # two points are seen most of the time


def test_the_planted_worlds_are_what_they_say() -> None:
    for cell in CELLS:
        values = np.mean([answers(cell, np.random.default_rng(i))[0].mean(axis=(0, 2)) for i in range(200)], axis=0)
        np.testing.assert_allclose(values - values.mean(), cell.truth - cell.truth.mean(), atol=0.25)
        assert len(values) == COUNTRIES
