"""Cells of the calibration: shares of repetitions with standard errors, and whether they are inside their bands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from bench.calibration_repetitions import REFERENCES, Repetition, Size, SizeRepetition, repeat_size
from bench.calibration_worlds import WORLDS, World
from geobias.measures.crossed_variance import FEWEST_TEXTS
from geobias.measures.estimates import POWER
from geobias.measures.paired_differences import MEAN, ORIGINALS

COVERAGE, PLAN_POWER, MOST_FALSE_ALARMS = (0.93, 0.98), (0.7, 0.9), 0.06
MONTE_CARLO_ERRORS = 3.0
CAUTIOUS_PLAN = "the plan is cautious: a pilot takes some noise for effects of names"
WIDE_INTERVALS = "the planted country differs between texts, and no interval is narrower than the average one"
PLANNED_POWER = "power of the planned effect"
KNOWN_MISSES = {  # numbers outside of their bands that have been looked into: they do not fail the calibration
    ((15, 50, 6), "planted: negative texts, 6 points", f"coverage, {MEAN}"): WIDE_INTERVALS,
    ((200, 20, 6), "names have no effect", PLANNED_POWER): CAUTIOUS_PLAN,
}
FEWEST_GIVEN = 0.05  # share of repetitions with intervals below which there are too few to say anything of them


class Share(NamedTuple):
    """A share of repetitions, or a mean over them, with its Monte Carlo standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class Cell:
    """One world at one size, audited or compared."""

    world: World
    size: Size
    repetitions: int
    with_intervals: dict[str, float]
    """By reference: share of repetitions with intervals. None are given where too few texts react."""
    shares: dict[str, Share]
    """By number of `Repetition`, over the repetitions that have it; missing where hardly any has."""
    true_effect: float | None = None
    """The smallest effect that is marked in 80 % of the repetitions."""

    def share(self, name: str) -> float | None:
        return self.shares[name].mean if name in self.shares else None

    @property
    def false_marks(self) -> float | None:
        return None if self.world.planted else self.share(f"any_marked {MEAN}")

    @property
    def detections(self) -> float | None:
        """The share of repetitions in which the planted country was marked."""
        return self.share(f"first_marked {MEAN}") if self.world.planted else None

    @property
    def width(self) -> float | None:
        """Mean width of an interval against the mean of countries, relative to one from the true standard error."""
        half_width, squared_error = self.share("half_width"), self.share("squared_error")
        return half_width / (1.96 * squared_error**0.5) if half_width and squared_error else None

    @property
    def note(self) -> str:
        """Why there is no number, or what is to be known of it."""
        if self.size[0] < FEWEST_TEXTS:
            return f"none: fewer than {FEWEST_TEXTS} texts"
        if not self.shares:
            return "none: too few texts react"
        notes = []
        if any(self.list_misses()):
            reasons = {miss: self.explain_miss(miss) for miss in self.list_misses()}
            misses = [f"{miss} ({reason})" if reason else miss for miss, reason in reasons.items()]
            notes.append(f"outside: {', '.join(misses)}")
        if f"coverage {ORIGINALS}" not in self.shares:
            notes.append("originals: none: too few texts react")
        if any((self.share(f"coverage {reference}") or 0) > COVERAGE[1] for reference in REFERENCES):
            notes.append("conservative")
        return "; ".join(notes)

    def explain_miss(self, miss: str) -> str | None:
        """Why a number is outside of its band, where that is known."""
        return KNOWN_MISSES.get((self.size, self.world.name, miss))

    @property
    def fails(self) -> bool:
        """Whether a number is outside of its band for no known reason."""
        return any(self.explain_miss(miss) is None for miss in self.list_misses())

    def list_misses(self) -> Iterator[str]:
        """Which numbers are outside of their bands, beyond Monte Carlo error."""
        for reference in REFERENCES:
            coverage = self.shares.get(f"coverage {reference}")
            if coverage is not None and is_outside(coverage, COVERAGE):
                yield f"coverage, {reference}"
        alarms = [f"simultaneous_misses {reference}" for reference in REFERENCES]
        alarms += ["false_gate_failures", "false_gate_passes"]
        alarms += [] if self.world.planted else [f"any_marked {reference}" for reference in REFERENCES]
        for name in alarms:
            rate = self.share(name)
            count = max(self.with_intervals[ORIGINALS if name.endswith(ORIGINALS) else MEAN] * self.repetitions, 1)
            error = np.sqrt(MOST_FALSE_ALARMS * (1 - MOST_FALSE_ALARMS) / count)
            if rate is not None and rate > MOST_FALSE_ALARMS + MONTE_CARLO_ERRORS * error:
                yield name.replace("_", " ")
        if "power" in self.shares and is_outside(self.shares["power"], PLAN_POWER):
            yield PLANNED_POWER


def is_outside(share: Share, band: tuple[float, float]) -> bool:
    """Whether a share is outside of its band, beyond Monte Carlo error."""
    margin = MONTE_CARLO_ERRORS * share.error
    return not band[0] - margin <= share.mean <= band[1] + margin


def summarize(world: World, size: Size, repetitions: Sequence[Repetition]) -> Cell:
    """The cell of a world from its repetitions."""
    numbers: dict[str, list[float]] = {}
    for repetition in repetitions:
        for name, number in repetition.numbers.items():
            numbers.setdefault(name, []).append(number)
    shares = {
        name: Share(float(np.mean(values)), float(np.std(values) / np.sqrt(len(values))))
        for name, values in numbers.items()
        if len(values) >= FEWEST_GIVEN * len(repetitions)
    }
    with_intervals = {
        reference: len(numbers.get(f"coverage {reference}", [])) / len(repetitions) for reference in REFERENCES
    }
    effects = np.concatenate([each.required_effects for each in repetitions])
    true_effect = float(np.quantile(effects, POWER)) if len(effects) else None
    return Cell(world, size, len(repetitions), with_intervals, shares, true_effect)


def summarize_size(
    size: Size, repetitions: Sequence[SizeRepetition], worlds: Sequence[World] = WORLDS, compared: Sequence[int] = ()
) -> tuple[list[Cell], list[Cell]]:
    """The cells of all worlds at a size, and those of the worlds that were compared."""
    cells = [summarize(world, size, [each.worlds[k] for each in repetitions]) for k, world in enumerate(worlds)]
    comparisons = [
        summarize(worlds[position], size, [each.comparisons[k] for each in repetitions])
        for k, position in enumerate(compared)
    ]
    return cells, comparisons


def judge(world: World, size: Size, repetitions: int) -> Cell:
    """One world at one size."""
    return summarize(world, size, [repeat_size(size, i, [world]).worlds[0] for i in range(repetitions)])


def acceptance(share: float, repetitions: int) -> tuple[float, float]:
    """Where the share of repetitions lies in 999 of 1,000 cases, if `share` is the true one."""
    low, high = stats.binom.interval(0.999, repetitions, share)
    return low / repetitions, high / repetitions
