"""Do the intervals, tests and bounds of the decisions audit have their nominal error rates?

    python -m bench.calibrate_decisions [REPETITIONS] [FOLDER] [PROCESSES]      (default: 100, nothing is written)

Each repetition draws situations, names and their effects anew from their populations, makes the log-odds of "yes", and
measures them as the audit does. The truth is the planted effect averaged over these populations. A number outside of
its band by more than three Monte Carlo errors ends in exit code 1.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import special

from geobias.measures.crossed_variance import CrossedVariance, NameUnits
from geobias.measures.decisions import (
    average_means,
    estimate_against_mean,
    estimate_cells,
    smallest_effect,
    summarise_countries,
)
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.impact_ratio import measure_impact_ratios, measure_spread

KINDS = np.array([1.0, -1.0])  # a question whose yes helps, and its mirror
LISTED_NAMES = 30  # of a country
CONTINENTS = 5
COLUMNS = {  # title, and the band of the true rate
    "coverage": ("intervals that cover", (0.935, 1.0)),
    "false_alarm": ("any country marked", (0.0, 0.065)),
    "cell_false_alarm": ("any domain cell marked", (0.0, 0.065)),
    "ratio_coverage": ("impact ratios covered at once", (0.935, 1.0)),
    "spread_coverage": ("spread covered", (0.935, 1.0)),
    "spread_alarm": ("spread test rejects", (0.0, 0.065)),
    "power": ("planted country marked", (0.7, 1.0)),
}


class Size(NamedTuple):
    situations: int
    countries: int
    draws: int  # 1: origin is stated, more: by names
    ways: int = 1


@dataclass(frozen=True)
class World:
    """Standard deviations of log-odds: of situation x country, of names, and what is planted."""

    name: str
    interaction: float = 0.4
    names: float = 0.3
    noise: float = 0.2
    heavy_tails: bool = False
    continents: float = 0.0  # part of the interaction that countries of a continent share
    yes: float = 1.0  # tendency to say yes
    yes_by_country: float = 0.0
    uneven: bool = False  # domains differ in how much they vary
    spread: float = 0.0  # of true preferences
    planted: float = 0.0  # of the first country, in units of what the design detects with a power of 80 %


WORLDS = [
    World("no difference"),
    World("heavy tails", heavy_tails=True),
    World("continents move together", continents=0.8),
    World("yes tendency differs by country", yes_by_country=0.8),
    World("domains vary unevenly", uneven=True),
    World("countries differ, SD 0.2", spread=0.2),
    World("one country at the smallest detectable effect", planted=1.0),
]
SIZES = [Size(10, 12, 1), Size(15, 6, 1), Size(30, 20, 1), Size(30, 12, 4), Size(30, 12, 3, ways=2)]


def simulate(world: World, size: Size, rng: np.random.Generator, planted: float) -> tuple[list[np.ndarray], np.ndarray]:
    """The log-odds of yes by way (situations x countries x answers), and the true preferences.

    Every situation has a question of each kind, for every name.
    """
    situations, countries, draws, ways = size
    preference = world.spread * rng.standard_normal(countries)
    preference[0] += planted
    shape = (situations, countries)
    raw = rng.standard_t(3, shape) / np.sqrt(3) if world.heavy_tails else rng.standard_normal(shape)
    shared = rng.standard_normal((situations, CONTINENTS))[:, np.arange(countries) % CONTINENTS]
    interaction = np.sqrt(1 - world.continents) * raw + np.sqrt(world.continents) * shared
    if world.uneven:
        interaction = interaction * np.where(_number_domains(situations) % 2, 1.4, 0.6)[:, None]
    base = 2 * rng.standard_normal(situations)
    tendency = world.yes + world.yes_by_country * rng.standard_normal(countries)
    favourable = (base[:, None] + preference + world.interaction * interaction)[..., None]
    answers = []
    for way in range(ways):
        by_name = way == ways - 1 and draws > 1
        of_name = favourable + (_draw_name_effects(world, size, rng) if by_name else 0)
        yes = tendency[:, None, None] + of_name[..., None] * KINDS  # the mirror of each question last
        yes = yes.reshape(*shape, -1)
        answers.append(yes + world.noise * rng.standard_normal(yes.shape))
    return answers, preference


def _draw_name_effects(world: World, size: Size, rng: np.random.Generator) -> np.ndarray:
    """The effect of the name of each answer; names have other effects in every repetition."""
    effects = world.names * rng.standard_normal((size.countries, LISTED_NAMES))
    return np.asarray(effects[np.arange(size.countries)[None, :, None], _number_names(size)])


@cache
def _number_names(size: Size) -> np.ndarray:
    rng = np.random.default_rng(0)
    order = rng.random((size.situations, size.countries, LISTED_NAMES)).argsort(axis=2)
    return np.asarray(order[..., : size.draws])


def _number_domains(situations: int) -> np.ndarray:
    return np.arange(situations) % max(situations // 3, 1)


def list_favours(size: Size, draws: int) -> np.ndarray:
    """situations x answers."""
    return np.tile(KINDS, (size.situations, draws))


@cache
def design(size: Size, by_name: bool) -> CrossedVariance:
    draws = size.draws if by_name else 1
    shape = (size.situations, size.countries, 2 * draws)
    counted = np.ones((size.situations, 2 * draws), dtype=bool)
    if not by_name:
        nothing = np.zeros(0, dtype=int)
        return CrossedVariance(NameUnits(nothing, nothing, nothing), shape, counted, names_fixed=True)
    units = np.arange(size.countries)[None, :, None] * LISTED_NAMES + _number_names(size)
    units = np.repeat(units, 2, axis=2)  # a question and its mirror show the same name
    kinds = np.zeros(size.countries * LISTED_NAMES, dtype=int)
    return CrossedVariance(NameUnits(np.arange(units.size), units.ravel(), kinds), shape, counted)


def repeat(world: World, size: Size, planted: float, seed: int) -> dict[str, float]:
    """One repetition: which of the claims hold."""
    answers, preference = simulate(world, size, np.random.default_rng([seed, WORLDS.index(world), *size]), planted)
    designs = [design(size, values.shape[2] > 2) for values in answers]
    favours = [list_favours(size, values.shape[2] // 2) for values in answers]
    favourable = [signs[:, None] * values for signs, values in zip(favours, answers, strict=True)]
    means = average_means(list(map(summarise_countries, designs, favourable, favours)))
    estimates = estimate_against_mean(means)
    truth = preference - preference.mean()
    covers = (estimates.low <= truth) & (truth <= estimates.high)
    marked = estimates.p_adjusted < SIGNIFICANT
    outcome = {"coverage": float(covers.mean()), "half_width": float((estimates.high - estimates.low).mean() / 2)}
    by_scenario = np.mean([values.mean(axis=2) for values in favourable], axis=0)
    groups = _number_domains(size.situations)
    names = means.name_covariance
    cells, _ = estimate_cells(by_scenario, groups, None if names is None else np.diag(names))
    spread = measure_spread(*means.against_mean())
    outcome["spread_coverage"] = float(spread.low <= world.spread <= spread.high)
    has_effects = world.spread or planted
    if not has_effects:
        outcome["false_alarm"] = float(marked.any())
        outcome["cell_false_alarm"] = float((cells.p_adjusted < SIGNIFICANT).any())
        outcome["spread_alarm"] = float(spread.p < SIGNIFICANT)
    if planted:
        del outcome["spread_coverage"]  # one country apart is no normal distribution
        outcome["power"] = float(marked[0])
        outcome["detectable"] = smallest_effect(means.against_mean()[1]) or 0.0
    if not world.yes_by_country:
        rates = [special.expit(values) for values in favourable]
        ratios = measure_impact_ratios(average_means(list(map(summarise_countries, designs, rates, favours))))
        true = true_rates(world, size)(preference)
        true_ratio = true / true.max()
        tolerance = 1e-9
        held = (ratios.low - tolerance <= true_ratio) & (true_ratio <= ratios.high + tolerance)
        outcome["ratio_coverage"] = float(held.all())
    return outcome


@cache
def true_rates(world: World, size: Size) -> partial[np.ndarray]:
    """The selection rate of a country over the population of situations and names, from its preference."""
    rng = np.random.default_rng(0)
    grid = np.linspace(-3, 3, 121)
    answers = 40_000
    tails = rng.standard_t(3, answers) / np.sqrt(3) if world.heavy_tails else rng.standard_normal(answers)
    factor = np.where(rng.random(answers) < 0.5, 1.4, 0.6) if world.uneven else 1.0
    rest = 2 * rng.standard_normal(answers) + world.interaction * factor * tails
    rest += world.noise * rng.standard_normal(answers)
    by_name = rest + world.names * rng.standard_normal(answers)
    kinds = [rest] * (size.ways - 1) + [by_name if size.draws > 1 else rest]
    rates = [
        np.mean([special.expit(preference + side * world.yes + part).mean() for part in kinds for side in (1, -1)])
        for preference in grid
    ]
    return partial(np.interp, xp=grid, fp=np.array(rates))


def calibrate_cell(world: World, size: Size, repetitions: int, pool: ProcessPoolExecutor | None) -> dict[str, float]:
    """Means over the repetitions."""
    run = map if pool is None else partial(pool.map, chunksize=10)
    planted = 0.0
    if world.planted:  # what the design detects is known from a world without differences
        pilot = list(run(partial(repeat, WORLDS[0], size, 1e-9), range(20)))
        detectable = float(np.mean([outcome["detectable"] for outcome in pilot]))
        planted = world.planted * detectable * size.countries / (size.countries - 1)  # it moves the mean, too
    outcomes = list(run(partial(repeat, world, size, planted), range(repetitions)))
    return {key: float(np.mean([outcome[key] for outcome in outcomes])) for key in outcomes[0]} | {"planted": planted}


def is_outside(key: str, value: float, repetitions: int) -> bool:
    low, high = COLUMNS[key][1]
    error = 3 * np.sqrt(max(low * (1 - low), high * (1 - high), 0.02) / repetitions)
    return not low - error <= value <= high + error


def write_table(cells: dict[tuple[Size, str], dict[str, float]], repetitions: int) -> str:
    titles = [title for title, _ in COLUMNS.values()]
    lines = [
        "# Calibration of the decisions audit",
        "",
        f"Simulated deciders, {repetitions:,} repetitions of each row: `python -m bench.calibrate_decisions "
        f"{repetitions} docs/figures`. A rate of 5 % has a Monte Carlo error of "
        f"{100 * np.sqrt(0.05 * 0.95 / repetitions):.1f} points. Nominal: intervals, impact ratios and spread cover "
        "in 95 % of repetitions; without true differences something is marked in at most 5 %; a country at the "
        "smallest detectable effect is marked in 80 %. Per cent.",
        "",
        f"| situations | countries | names | ways | decider | half-width | {' | '.join(titles)} |",
        "|" + "---|" * (6 + len(titles)),
    ]
    for (size, world), rates in cells.items():
        numbers = [f"{100 * rates[key]:.1f}" if key in rates else "" for key in COLUMNS]
        names = size.draws if size.draws > 1 else "none"
        lines.append(
            f"| {size.situations} | {size.countries} | {names} | {size.ways} | {world} | {rates['half_width']:.2f} | "
            f"{' | '.join(numbers)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()
    cells = {}
    with ProcessPoolExecutor(processes) as pool:
        for size in SIZES:
            began = time.perf_counter()
            for world in WORLDS:
                cells[size, world.name] = calibrate_cell(world, size, repetitions, pool)
            print(f"{size}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    page = write_table(cells, repetitions)
    print(page)
    if folder is not None:
        (folder / "calibration_decisions.md").write_text(page, encoding="utf-8")
    outside = [
        (size, world, key)
        for (size, world), rates in cells.items()
        for key in COLUMNS
        if key in rates and is_outside(key, rates[key], repetitions)
    ]
    if outside:
        sys.exit(f"{len(outside)} numbers are outside of their bands: {outside[0]}")


if __name__ == "__main__":
    main()
