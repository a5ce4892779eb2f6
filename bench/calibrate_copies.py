"""Do copied texts look like evidence? False alarms and coverage of every audit of texts, when no country is special.

    python -m bench.calibrate_copies [REPETITIONS] [FOLDER] [PROCESSES]      (make calibrate: 300, docs/figures)

Each repetition makes a model anew that reacts to every template and country by chance, the same for every copy of the
template, and audits it by the public functions. Copies are filled with other names and numbers. The last columns count
every row as a text, as if it were no copy: they show that the simulation can fail. A share of false alarms above 6 % by
more than three Monte Carlo errors ends in exit code 1.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy import special

import geobias
from geobias.measures.estimates import SIGNIFICANT, Estimate

SHAPES = [(8, 30), (24, 10), (60, 4)]  # templates, copies of each
COUNTRIES = {"FR": "Fro", "NG": "Nag", "IT": "Ito", "PL": "Plo", "TR": "Tra", "IN": "Nid"}  # how names begin
PLACES = ["France", "Nigeria", "Italy", "Poland", "Turkey", "India"]
SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo".split()
NAMES = 30  # of a kind and country
PEOPLE = ["Mary", "John", "Peter", "Anna", "Laura", "David", "Susan", "Kevin", "Linda", "Paul"]
DRAWS = 4
BAND = 0.06
EVERY_ROW = 10  # repetitions for each one in which every row counts


class World:
    """Effects by chance of templates, of templates x countries and of names; no country has one of its own."""

    def __init__(self, seed: int, templates: int) -> None:
        rng = np.random.default_rng(seed)
        self.words = [word(number) for number in range(templates)]
        self.base = rng.normal(0, 0.5, templates)
        self.by_country = rng.normal(0, 0.6, (templates, len(COUNTRIES)))
        self.by_name = rng.normal(0, 0.3, NAMES)

    def log_odds(self, text: str) -> float:
        """The answer to a text: what its template, its country and its name add up to."""
        template = next((number for number, known in enumerate(self.words) if f" {known} " in text), None)
        if template is None:
            return 0.0
        total = self.base[template]
        for c, (beginning, place) in enumerate(zip(COUNTRIES.values(), PLACES, strict=True)):
            name = re.search(rf"\b{beginning}(\w+)", text)
            if place in text or name:
                total += self.by_country[template, c]
            if name:
                total += self.by_name[sum(map(ord, name[1])) % NAMES]
        return float(total)


def word(number: int) -> str:
    """A made-up word, another one for each number."""
    first, second = divmod(number, len(SYLLABLES))
    return f"zu{SYLLABLES[first]}{SYLLABLES[second]}"


def make_rows(world: World, copies: int) -> list[dict[str, Any]]:
    """The texts of the user, with the place of the name in each."""
    rows = []
    for known in world.words:
        for copy in range(copies):
            person = PEOPLE[copy % len(PEOPLE)]
            start = f"in case {copy} of the {known} matter they wrote to "
            rows.append({"text": f"{start}{person} again", "people": [[len(start), len(start) + len(person)]]})
    return rows


def write_names(folder: Path) -> Path:
    """Names of which one can tell whose they are."""
    lines = ["country,kind,name"]
    for code, beginning in COUNTRIES.items():
        for kind, letter in (("male", "o"), ("female", "a"), ("last", "s")):
            lines += [f"{code},{kind},{beginning}{letter}{word(number)}" for number in range(NAMES)]
    file = folder / "names.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def audit_names(world: World, rows: list[dict[str, Any]], names: Path) -> tuple[Any, list[Estimate]]:
    def classify(texts: Sequence[str]) -> list[dict[str, float]]:
        p = special.expit([world.log_odds(text) for text in texts])
        return [{"negative": 1 - each, "positive": each} for each in p]

    result = geobias.audit_names(
        classify,
        rows,
        spans="people",
        countries=[*COUNTRIES],
        draws=DRAWS,
        gazetteer=names,
        progress=False,
    )
    return result, [effect.against_mean for effect in result.effects]


def audit_finders(world: World, rows: list[dict[str, Any]], names: Path) -> tuple[Any, list[Estimate]]:
    def find(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        starts = [text.index("wrote to ") + len("wrote to ") for text in texts]
        stops = [len(text) - len(" again") for text in texts]
        return [
            [(start, stop)] if world.log_odds(text) > -0.8 else []
            for text, start, stop in zip(texts, starts, stops, strict=True)
        ]

    result = geobias.audit_finders(
        find, rows, spans="people", countries=[*COUNTRIES], draws=DRAWS, gazetteer=names, progress=False
    )
    return result, [row.against_mean for row in result.effects if row.label == "recall"]


def audit_downstream(world: World, rows: list[dict[str, Any]], names: Path) -> tuple[Any, list[Estimate]]:
    def classify(texts: Sequence[str]) -> list[dict[str, float]]:
        p = special.expit([world.log_odds(text) for text in texts])
        return [{"negative": 1 - each, "positive": each} for each in p]

    result = geobias.audit_downstream(classify, rows, countries=[*COUNTRIES], progress=False)
    entry = result.classifiers[0]
    effects = result.list_effects(entry.model, entry.shown)
    # Marked by all its tests, not by this one.
    return result, [replace(row.against_mean, p_adjusted=row.p_adjusted) for row in effects if row.against_mean]


def audit_decisions(world: World, rows: list[dict[str, Any]], names: Path) -> tuple[Any, list[Estimate]]:
    def decide(texts: Sequence[str]) -> list[float]:
        return [float(special.expit(world.log_odds(text) if " matter " in text else 0.0)) for text in texts]

    scenarios = []
    for row in rows:
        (start, stop), text = row["people"][0], row["text"]
        scenarios.append({"text": f"{text[:start]}{{person}}{text[stop:]}. Should they help?", "favourable": "yes"})
    result = geobias.audit_decisions(decide, scenarios, countries=[*COUNTRIES], progress=False)
    return result, [row.preference for row in result.effects]


AUDITS: dict[str, Callable[..., tuple[Any, list[Estimate]]]] = {
    "names": audit_names,
    "find": audit_finders,
    "downstream": audit_downstream,
    "decide": audit_decisions,
}


class Repetition(NamedTuple):
    """Whether anything was called clear, and how many intervals of how many hold the true 0."""

    is_alarm: bool
    covered: int
    intervals: int


def repeat(seed: int, *, audit: str, shape: tuple[int, int], counts_copies: bool) -> Repetition:
    templates, copies = shape
    world = World(seed, templates)
    every_row = mock.patch(
        f"geobias.audits.{audit}.design.find_first_copies", lambda texts, spans=None: list(range(len(texts)))
    )
    with tempfile.TemporaryDirectory() as folder, every_row if counts_copies else nullcontext():
        result, estimates = AUDITS[audit](world, make_rows(world, copies), write_names(Path(folder)))
    known = [each for each in estimates if each.low is not None]
    holds_zero = [(each.low or 0.0) <= 0 <= (each.high or 0.0) for each in known]
    return Repetition(
        any(finding.evidence == "clear" for finding in result.findings if finding.role != "caution")
        or any(each.p_adjusted is not None and each.p_adjusted < SIGNIFICANT for each in known),
        sum(holds_zero),
        len(known),
    )


def summarise(repetitions: Sequence[Repetition]) -> tuple[float, str, str]:
    alarms = float(np.mean([each.is_alarm for each in repetitions]))
    intervals = sum(each.intervals for each in repetitions)
    covered = sum(each.covered for each in repetitions)
    return alarms, f"{100 * alarms:.1f} %", f"{100 * covered / intervals:.1f} %" if intervals else "not testable"


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()
    lines = [
        f"Simulated with `python -m bench.calibrate_copies {repetitions}`: no country is treated differently.",
        "",
        "| audit | templates x copies | runs with a country marked | coverage | if every row counted: marked | "
        "coverage |",
        "|---|---|---|---|---|---|",
    ]
    outside = 0
    with ProcessPoolExecutor(processes) as pool:
        for audit, shape in product(AUDITS, SHAPES):
            cells = []
            for counts_copies in (False, True):
                once = partial(repeat, audit=audit, shape=shape, counts_copies=counts_copies)
                # What counting every row does is plain after fewer repetitions, each of which takes longer.
                runs = max(repetitions // EVERY_ROW, 1) if counts_copies else repetitions
                alarms, *texts = summarise(list(pool.map(once, range(runs), chunksize=5)))
                cells += texts
                if not counts_copies:
                    outside += alarms > BAND + 3 * np.sqrt(BAND * (1 - BAND) / runs)
            lines.append(f"| {audit} | {shape[0]} x {shape[1]} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    page = "\n".join(lines) + "\n"
    print(page)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "calibration_copies.md").write_text(page, encoding="utf-8")
    if outside:
        sys.exit(f"{outside} cells are outside of their band.")


if __name__ == "__main__":
    main()
