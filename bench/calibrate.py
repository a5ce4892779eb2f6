"""Does the instrument work? Intervals and tests of the names audit on answers whose truth is known.

    python bench/calibrate.py [REPETITIONS] [FOLDER]      (make calibrate: 2,000, docs/figures)

Each repetition draws texts and lists of names anew from populations, makes answers from them, and asks how the audit
judges them. The truth is the planted effect averaged over these populations. In 95 of 100 repetitions an interval must
hold it, and of what is marked at most 5 of 100 may be false alarms. Where either is not so, the exit code is 1.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from geobias.measures.estimates import bootstrap_estimates
from geobias.measures.names_bootstrap import NamesBootstrap, NameUnits

TEXTS, COUNTRIES, NAMES, DRAWS = 40, 6, 30, 20
TEXT_SD, TEXT_BY_COUNTRY_SD, NOISE_SD = 5.0, 0.5, 3.0
RESAMPLES = 400  # a repetition's own; the audit takes more

NameEffects = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def none(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape)


def random_effects(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Every name is liked or disliked for reasons of its own."""
    return rng.normal(0, 2, shape)


def rare_names(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """One name in five is disliked by 5 points: 1 point on average, put to 0."""
    return np.where(rng.random(shape) < 0.2, -5.0, 0.0) + 1.0


def long_names(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """The longer, the worse: half a point a letter, put to 0 for a name of average length."""
    return -0.5 * (rng.poisson(4, shape) - 4.0)


@dataclass(frozen=True)
class Cell:
    """One world: what countries really do, and what names do besides."""

    name: str
    effect: dict[int, float] = field(default_factory=dict)  # points, by country
    names: NameEffects = random_effects
    women_only: bool = False  # the effect is on women's names alone

    @property
    def truth(self) -> np.ndarray:
        whole = np.array([self.effect.get(c, 0.0) for c in range(COUNTRIES)])
        return whole / 2 if self.women_only else whole


CELLS = [
    Cell("no effect, names ignored", names=none),
    Cell("no effect, random names"),
    Cell("no effect, long names", names=long_names),
    Cell("no effect, rare names", names=rare_names),
    Cell("one country, 1 point", {0: 1.0}),
    Cell("one country, 2 points", {0: 2.0}),
    Cell("one country, 5 points", {0: 5.0}),
    Cell("two countries, 2 points", {0: 2.0, 1: -2.0}),
    Cell("women's names of one country, 2 points", {0: 2.0}, women_only=True),
    Cell("one country, 2 points, long names", {0: 2.0}, names=long_names),
]


def answers(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, NameUnits]:
    """texts x countries x draws of answers; every other draw shows a woman's name, and each shows a last name too."""
    shape = (TEXTS, COUNTRIES, DRAWS)
    effects = cell.names(rng, (3, COUNTRIES, NAMES))  # men's, women's, last names
    order = np.argsort(rng.random((3, TEXTS, COUNTRIES, NAMES)), axis=-1)
    draw = np.arange(DRAWS)
    country = np.arange(COUNTRIES)[None, :, None]
    kind = np.broadcast_to(draw % 2, shape)
    half = draw // 2
    first = np.where(kind == 0, order[0][..., half], order[1][..., half])
    last = order[2][..., draw % NAMES]
    planted = np.array([cell.effect.get(c, 0.0) for c in range(COUNTRIES)])[None, :, None]
    values = np.where(kind == 1, planted, 0.0 if cell.women_only else planted)
    values = values + effects[kind, country, first] + effects[2, country, last]
    values = values + rng.normal(0, TEXT_SD, (TEXTS, 1, 1)) + rng.normal(0, TEXT_BY_COUNTRY_SD, (TEXTS, COUNTRIES, 1))
    values = values + rng.normal(0, NOISE_SD, shape)
    per_kind = COUNTRIES * NAMES
    units = np.stack([kind * per_kind + country * NAMES + first, 2 * per_kind + country * NAMES + last])
    each = np.tile(np.arange(TEXTS * COUNTRIES * DRAWS), 2)
    return values, NameUnits(each, units.reshape(-1), np.repeat(np.arange(3), per_kind))


@dataclass(frozen=True)
class Judged:
    """How often intervals held the truth, and how often a country was found, over all repetitions."""

    name: str
    repetitions: int
    covered: int  # repetitions: the first country's interval against the originals
    covered_from_mean: int  # ... against the mean of countries
    false_alarms: float  # the share of countries without an effect among those marked, summed over repetitions
    found: int  # repetitions in which the first country was marked
    any_found: int  # repetitions in which the overall test said that countries differ


def judge(cell: Cell, repetitions: int, seed: int = 0) -> Judged:
    counts = np.zeros(5)
    truth = cell.truth
    from_mean = truth - truth.mean()
    for i in range(repetitions):
        values, units = answers(cell, np.random.default_rng([seed, i]))
        bootstrap = NamesBootstrap(
            units, values.shape, np.ones((TEXTS, DRAWS), dtype=bool), seed=i, resamples=RESAMPLES
        )
        among = np.eye(COUNTRIES) - 1 / COUNTRIES
        deviations = bootstrap.deviations([[(values, np.eye(COUNTRIES))], [(values, among)]])
        mean = values.mean(axis=(0, 2))
        p, any_country = bootstrap.permutation_test(values, COUNTRIES)
        plain = bootstrap_estimates(mean, deviations[0], np.full(COUNTRIES, np.nan))
        relative = bootstrap_estimates(mean - mean.mean(), deviations[1], p)
        marked = relative.p_adjusted < 0.05
        counts += [
            plain.low[0] <= truth[0] <= plain.high[0],
            relative.low[0] <= from_mean[0] <= relative.high[0],
            marked[np.isclose(from_mean, 0)].sum() / max(marked.sum(), 1),
            marked[0],
            any_country < 0.05,
        ]
    covered, covered_from_mean, false_alarms, found, any_found = counts
    return Judged(
        cell.name, repetitions, int(covered), int(covered_from_mean), float(false_alarms), int(found), int(any_found)
    )


def acceptance(share: float, repetitions: int) -> tuple[float, float]:
    """Where a share of repetitions lies 999 times in 1,000, if the instrument keeps its word."""
    low, high = stats.binom.interval(0.999, repetitions, share)
    return low / repetitions, high / repetitions


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    low, high = acceptance(0.95, repetitions)
    print(f"{repetitions} repetitions a cell; coverage of 95 % must lie in {low:.1%} to {high:.1%}")
    rows = []
    for cell in CELLS:
        began = time.perf_counter()
        found = judge(cell, repetitions)
        rows.append(vars(found))
        print(
            f"{found.name:42} covers {found.covered / repetitions:6.1%}, against the mean "
            f"{found.covered_from_mean / repetitions:6.1%}; false alarms {found.false_alarms / repetitions:5.1%}; "
            f"found {found.found / repetitions:6.1%}; any {found.any_found / repetitions:6.1%}  "
            f"({time.perf_counter() - began:.0f} s)",
            flush=True,
        )
    if len(sys.argv) > 2:
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "calibration.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        (folder / "calibration.svg").write_text(figure(rows), encoding="utf-8")
    covered = [row[key] / repetitions for row in rows for key in ("covered", "covered_from_mean")]
    alarms = max(row["false_alarms"] / repetitions for row in rows)
    if not low <= min(covered) <= max(covered) <= high or alarms > acceptance(0.05, repetitions)[1]:
        sys.exit("Not as it should be: see the table above.")


def figure(rows: list[dict[str, Any]]) -> str:
    """Coverage and detections of every cell, with the band in which a coverage of 95 % lies."""
    import altair as alt
    import vl_convert

    repetitions = rows[0]["repetitions"]
    low, high = acceptance(0.95, repetitions)
    what = {"covered": "against the originals", "covered_from_mean": "against the mean of countries"}
    points = [
        {"world": row["name"], "share": row[key] / repetitions, "interval": name}
        for row in rows
        for key, name in what.items()
    ]
    order = [row["name"] for row in rows]
    band = alt.Chart(alt.InlineData(values=[{"low": low, "high": high}])).mark_rect(color="#dddddd")
    scale = alt.Scale(domain=[0.9, 1], zero=False, nice=False)
    axis = alt.Axis(format="%", title="intervals of 95 % that hold the truth", tickCount=5)
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X("share:Q", scale=scale, axis=axis),
            y=alt.Y("world:N", sort=order, title=None),
            color=alt.Color("interval:N", title=None, scale=alt.Scale(range=["#0072B2", "#E69F00"])),
        )
    )
    chart = alt.layer(band.encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"), dots).properties(
        width=420, title=f"{repetitions:,} repetitions a world; grey: where 95 % lies 999 times in 1,000"
    )
    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


if __name__ == "__main__":
    main()
