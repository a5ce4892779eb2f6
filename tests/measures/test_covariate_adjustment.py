"""Covariates held fixed: against least squares with dummies, on planted worlds, and the coverage of intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from geobias.measures.covariate_adjustment import (
    AdjustedDifferences,
    adjust_for_covariates,
)
from geobias.measures.crossed_variance import CrossedVariance, NameUnits

NAMES = 40
SLOPES = np.array([-1.5, 0.8])


class World(NamedTuple):
    values: np.ndarray
    covariates: np.ndarray
    units: NameUnits
    groups: np.ndarray

    def design(self, counted: np.ndarray | None = None, *, names_fixed: bool = False) -> CrossedVariance:
        counted = np.ones(self.groups.shape, dtype=bool) if counted is None else counted
        return CrossedVariance(self.units, self.values.shape, counted, names_fixed=names_fixed)

    def adjust(self, counted: np.ndarray | None = None, *, names_fixed: bool = False) -> AdjustedDifferences:
        design = self.design(counted, names_fixed=names_fixed)
        adjusted = adjust_for_covariates(design, self.values, self.covariates, self.groups)
        assert adjusted is not None
        return adjusted


def draw_world(
    seed: int,
    *,
    slopes: np.ndarray = SLOPES,
    countries: tuple[float, ...] = (0, 0, 0, 0, 0),
    rarity: tuple[float, ...] = (2, 1, 0, -1, -2),
    texts: int = 30,
    draws: int = 6,
    noise: float = 1.0,
    rare_names_vary: bool = False,
) -> World:
    """Names of countries of different mean rarity; every name has an effect of its own, every country one too."""
    rng = np.random.default_rng(seed)
    shape = (texts, len(countries), draws)
    of_names = rng.normal(0, 1, (len(countries), NAMES, 2)) + np.array(rarity)[:, None, None]
    own_effects = rng.normal(0, noise, of_names.shape[:2])
    if rare_names_vary:
        own_effects *= np.abs(of_names[..., 1] - np.array(rarity)[:, None])
    country = np.arange(len(countries))[None, :, None]
    name = np.argsort(rng.random((texts, len(countries), NAMES)), axis=-1)[..., :draws]
    covariates = of_names[country, name]
    values = covariates @ slopes + own_effects[country, name] + np.array(countries)[:, None]
    values = values + rng.normal(0, 5, (texts, 1, 1)) + rng.normal(0, noise, shape)
    groups = np.where(rng.random((texts, 1)) < 0.5, np.arange(draws) % 2, 2)  # genders in turn, or one
    values = values + 3 * (groups == 1)[:, None, :]
    units = NameUnits(np.arange(values.size), (country * NAMES + name).ravel(), np.zeros(len(countries) * NAMES, int))
    return World(values, covariates, units, groups)


def test_slopes_and_differences_are_those_of_least_squares_with_dummies() -> None:
    world = draw_world(1, texts=6, draws=5)
    counted = np.random.default_rng(1).random(world.groups.shape) < 0.8
    adjusted = world.adjust(counted)
    rows = [
        (world.values[t, c, d], world.covariates[t, c, d], (t, c, world.groups[t, d]))
        for t, c, d in np.ndindex(world.values.shape)
        if counted[t, d]
    ]
    cells = sorted({cell for *_, cell in rows})
    dummies = np.array([[float(cell == each) for each in cells] for *_, cell in rows])
    covariates = np.array([x for _, x, _ in rows])
    values = np.array([y for y, *_ in rows])
    slopes = np.linalg.lstsq(np.hstack([covariates, dummies]), values, rcond=None)[0][:2]
    np.testing.assert_allclose(adjusted.slopes.value, slopes)
    country = np.array([cell[1] for *_, cell in rows])
    means = np.array([(values - covariates @ slopes)[country == c].mean() for c in range(5)])
    np.testing.assert_allclose(adjusted.adjusted.value, means - means.mean(), atol=1e-9)
    plain = np.array([values[country == c].mean() for c in range(5)])
    np.testing.assert_allclose(adjusted.unadjusted.value, plain - plain.mean(), atol=1e-9)
    np.testing.assert_allclose(adjusted.explained.value, adjusted.unadjusted.value - adjusted.adjusted.value, atol=1e-9)


def test_if_only_rarity_matters_the_country_effects_vanish() -> None:
    adjusted = draw_world(2, rarity=(4, 2, 0, -2, -4)).adjust()
    assert (np.abs(adjusted.unadjusted.value[[0, 4]]) > 1).all() and (
        adjusted.unadjusted.p_adjusted[[0, 4]] < 0.05
    ).all()
    assert (np.abs(adjusted.adjusted.value) < 1).all() and (adjusted.adjusted.p_adjusted > 0.05).all()
    assert (adjusted.explained.p_adjusted[[0, 4]] < 0.05).all()
    np.testing.assert_allclose(adjusted.slopes.value, SLOPES, atol=0.25)


def test_if_only_the_country_matters_it_stays_however_rare_its_names_are() -> None:
    """The effects of countries follow their rarity exactly: a regression without dummies would explain them away."""
    effects = (-4.0, -2.0, 0.0, 2.0, 4.0)
    adjusted = draw_world(3, slopes=np.zeros(2), countries=effects).adjust()
    np.testing.assert_allclose(adjusted.unadjusted.value, effects, atol=0.7)
    np.testing.assert_allclose(adjusted.adjusted.value, effects, atol=0.9)
    assert (adjusted.adjusted.p_adjusted[[0, 4]] < 0.05).all() and (adjusted.explained.p_adjusted > 0.05).all()


def test_country_and_rarity_are_told_apart() -> None:
    effects = np.array([3.0, 0.0, 0.0, 0.0, -3.0])  # opposite to what rarity does: in the raw differences they cancel
    adjusted = draw_world(4, countries=tuple(effects), rarity=(4, 0, 0, 0, -4)).adjust()
    assert (np.abs(adjusted.unadjusted.value) < 1).all()
    np.testing.assert_allclose(adjusted.adjusted.value, effects, atol=1)
    assert (adjusted.adjusted.low <= effects).all() and (effects <= adjusted.adjusted.high).all()


@pytest.mark.parametrize("options", [{}, {"rare_names_vary": True, "noise": 2.0}, {"texts": 15, "draws": 4}])
@pytest.mark.slow
def test_intervals_with_rarity_fixed_have_nominal_coverage(options: dict[str, float]) -> None:
    """100 planted worlds of 5 countries: 0.92 is some three standard errors below 0.95."""
    effects = np.array([2.0, -1.0, 0.0, 0.0, -1.0])
    covered, slopes_covered = [], []
    for seed in range(100):
        adjusted = draw_world(seed, countries=tuple(effects), **options).adjust()  # type: ignore[arg-type]
        covered.append((adjusted.adjusted.low <= effects) & (effects <= adjusted.adjusted.high))
        slopes_covered.append((adjusted.slopes.low <= SLOPES) & (adjusted.slopes.high >= SLOPES))
    assert 0.92 <= np.mean(covered) <= 0.985
    assert np.mean(slopes_covered) >= 0.9


def test_the_uncertainty_of_the_slopes_is_in_the_interval() -> None:
    """With names of very different rarity, what one slope's error does grows with the distance from the mean."""
    world = draw_world(5, rarity=(20, 0, 0, 0, -20))
    adjusted = world.adjust()
    width = adjusted.adjusted.high - adjusted.adjusted.low
    slope_width = (adjusted.slopes.high - adjusted.slopes.low).max()
    assert width[0] > 15 * slope_width


def test_fixed_names_have_narrower_intervals() -> None:
    world = draw_world(6)
    fixed, random = world.adjust(names_fixed=True), world.adjust()
    np.testing.assert_allclose(fixed.adjusted.value, random.adjusted.value)
    assert (fixed.adjusted.high - fixed.adjusted.low).mean() < (random.adjusted.high - random.adjusted.low).mean()


@pytest.mark.parametrize("kind", ["constant", "by country", "twice the same"])
def test_covariates_that_do_not_vary_within_countries_take_no_part(kind: str) -> None:
    world = draw_world(7)
    covariates = world.covariates.copy()
    if kind == "constant":
        covariates[..., 1] = 1
    elif kind == "by country":
        covariates[..., 1] = np.arange(5)[None, :, None]
    else:
        covariates[..., 1] = 2 * covariates[..., 0]
    some = adjust_for_covariates(world.design(), world.values, covariates, world.groups)
    first = adjust_for_covariates(world.design(), world.values, covariates[..., :1], world.groups)
    assert some is not None and first is not None and some.kept == [0]
    np.testing.assert_allclose(some.adjusted.low, first.adjusted.low)
    covariates[..., 0] = 3
    if kind != "twice the same":
        assert adjust_for_covariates(world.design(), world.values, covariates, world.groups) is None


def test_few_texts_have_differences_without_intervals() -> None:
    adjusted = draw_world(8, texts=4).adjust()
    assert not np.isnan(adjusted.adjusted.value).any() and np.isnan(adjusted.adjusted.low).all()
