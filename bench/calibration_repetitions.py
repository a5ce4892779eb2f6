"""One repetition of the calibration: texts and names drawn anew, measured as the names audit, compare and --plan do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.calibration_worlds import WORLDS, Layout, World
from geobias.audits.plan import PILOT_DRAWS, PILOT_TEXTS
from geobias.measures.crossed_variance import FEWEST_TEXTS, CrossedVariance, LinearMeasure
from geobias.measures.estimates import SIGNIFICANT, Estimates
from geobias.measures.paired_differences import MEAN, ORIGINALS, MeasureKey, NamesAnswers, delta_differences
from geobias.measures.uncertainty import Family

REFERENCES = (ORIGINALS, MEAN)
Size = tuple[int, int, int]  # texts, draws, countries


@dataclass(frozen=True)
class Repetition:
    """What one repetition says of a world; keys of `numbers` are those of `CellResult` or "KEY REFERENCE"."""

    numbers: dict[str, float]
    required_effects: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Of each country: the effect from which on it would have been marked in this repetition."""


@dataclass(frozen=True)
class SizeRepetition:
    """One draw of texts and names, answered in every world, and by two classifiers of the worlds to compare."""

    worlds: list[Repetition]
    comparisons: list[Repetition]


def repeat_size(
    size: Size, index: int, worlds: Sequence[World] = WORLDS, compared: Sequence[int] = ()
) -> SizeRepetition:
    """Repetition `index` of a size. Worlds share the draw of names, and nothing else.

    `compared` are positions in `worlds`.
    """
    texts, draws, countries = size
    nothing = SizeRepetition([Repetition({}) for _ in worlds], [Repetition({}) for _ in compared])
    if texts < FEWEST_TEXTS:
        return nothing
    layout = Layout(texts, countries, draws, np.random.default_rng([*size, index]))
    design = CrossedVariance(layout.units, layout.shape, np.ones((texts, draws), dtype=bool))
    if not design.is_estimable:
        return nothing
    in_pilot = np.zeros((texts, draws), dtype=bool)
    in_pilot[:PILOT_TEXTS, :PILOT_DRAWS] = True
    pilot = CrossedVariance(layout.units, layout.shape, in_pilot)

    def draw(position: int, classifier: int) -> np.ndarray:
        return layout.draw_answers(worlds[position], np.random.default_rng([*size, index, position, classifier]))

    return SizeRepetition(
        [_measure_world(world, draw(k, 0), design, pilot, seed=index) for k, world in enumerate(worlds)],
        [_compare(worlds[k], draw(k, 1), draw(k, 2), design) for k in compared],
    )


def _measure_world(
    world: World, values: np.ndarray, design: CrossedVariance, pilot: CrossedVariance, *, seed: int
) -> Repetition:
    countries = design.countries
    contrasts = np.eye(countries) - 1 / countries
    numbers: dict[str, float] = {}
    required = np.empty(0)
    for reference, matrix in zip(REFERENCES, (np.eye(countries), contrasts), strict=True):
        value, truth = matrix @ design.means(values), matrix @ world.truth(countries)
        family = Family([value], [design.uncertainty(LinearMeasure(values, matrix))], seed=seed)
        effect = family.largest_effect(0)
        if effect is None:
            continue
        estimates, half_width = family.estimates(0), family.simultaneous_half_width(0)
        numbers |= _judge_intervals(reference, estimates, truth)
        numbers[f"simultaneous_misses {reference}"] = float((np.abs(value - truth) > half_width).any())
        if reference == MEAN:
            largest = np.abs(truth).max()
            numbers |= {
                "squared_error": float(((value - truth) ** 2).mean()),
                "half_width": float((estimates.high - estimates.low).mean() / 2),
                "false_gate_failures": float(effect.low > largest + 1e-9),
                "false_gate_passes": float(effect.high < largest - 1e-9),
            }
            required = np.maximum(half_width - value, 0)
    if len(required) and not world.planted and pilot.reacts_enough(LinearMeasure(values, contrasts)):
        planned = design.smallest_effect(pilot.variance_components(values))
        numbers |= {"planned_effect": planned, "power": float((required <= planned).mean())}
    return Repetition(numbers, required)


def _compare(world: World, first: np.ndarray, own: np.ndarray, design: CrossedVariance) -> Repetition:
    """The second classifier has all effects of the first, and effects of its own, which may be planted."""
    before, after = (_as_probabilities(values) for values in (first, first + own))
    differences = delta_differences(before, after, design, positive=[0], negative=[1])
    numbers: dict[str, float] = {}
    for reference in REFERENCES:
        difference = differences[MeasureKey("delta", reference)].difference
        truth = world.truth(design.countries)
        truth = truth - truth.mean() if reference == MEAN else truth
        if not np.isnan(difference.low).any():
            numbers |= _judge_intervals(reference, difference, truth)
    return Repetition(numbers)


def _judge_intervals(reference: str, estimates: Estimates, truth: np.ndarray) -> dict[str, float]:
    is_covered, is_marked = (estimates.low <= truth) & (truth <= estimates.high), estimates.p_adjusted < SIGNIFICANT
    return {
        f"coverage {reference}": float(is_covered.mean()),
        f"any_marked {reference}": float(is_marked.any()),
        f"first_marked {reference}": float(is_marked[0]),
    }


def _as_probabilities(values: np.ndarray) -> NamesAnswers:
    """A classifier of two classes whose Delta is `values`."""
    positive = 0.5 + values / 200
    return NamesAnswers(np.full((len(values), 2), 0.5), np.stack([positive, 1 - positive], axis=-1))
