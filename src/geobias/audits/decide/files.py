"""The files of a decisions run: CSV tables, every decision as Parquet, and maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.decide.answers import NO_UNITS, WayAnswers, number_names
from geobias.audits.decide.design import NAME
from geobias.audits.decide.records import CountryEstimate, ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.errors import InputError
from geobias.measures.crossed_variance import CrossedVariance, NameUnits
from geobias.report.runs import FinishedRun, slug
from geobias.report.tables import damaged, read_columns, write_csv

if TYPE_CHECKING:
    import pandas as pd

DECISIONS = "decisions.parquet"
KEYS = ("origin", "case", "country", "answer", "favours")
NAMES = ("first_name", "last_name", "gender")  # null where origin does not show by name

Row = dict[str, Any]


def write_files(folder: Path, result: DecideResult) -> None:
    write_csv(folder / "tables" / "countries.csv", _list_country_rows(result))
    write_csv(folder / "tables" / "domains.csv", _list_group_rows(result, "domain"))
    write_csv(folder / "tables" / "origins.csv", _list_group_rows(result, "origin"))
    write_csv(folder / "tables" / "cases.csv", _list_case_rows(result))
    if any(entry.by_gender for entry in result.decisions):
        write_csv(folder / "tables" / "genders.csv", _list_group_rows(result, "gender"))
    if any(entry.numbers or entry.choices for entry in result.decisions):
        write_csv(folder / "tables" / "numbers_and_choices.csv", _list_other_rows(result))
    _write_decisions(folder / DECISIONS, result)
    _write_maps(folder / "figures", result)


def _list_country_rows(result: DecideResult) -> Iterator[Row]:
    for entry in result.decisions:
        for country in entry.countries:
            row: Row = {"model": entry.model.name, "country": country.country, "code": country.code}
            row |= {f"preference_{key}": value for key, value in vars(country.preference).items()}
            for name in ("probability", "impact_ratio"):
                row |= {f"{name}_{key}": value for key, value in vars(getattr(country, name)).items()}
            row["rate"] = country.rate
            if country.yes_tendency is not None:
                row |= {f"yes_tendency_{key}": value for key, value in vars(country.yes_tendency).items()}
            row |= {"answered": country.answered, "refusals": country.refusals}
            row |= {f"answered_{end}": getattr(country.answered_interval, end) for end in ("low", "high")}
            yield row | {
                f"answered_difference_{key}": number for key, number in vars(country.answered_difference).items()
            }


def _list_group_rows(result: DecideResult, kind: str) -> Iterator[Row]:
    for entry in result.decisions:
        for part in getattr(entry, f"by_{kind}"):
            for country in part.countries:
                yield {"model": entry.model.name, kind: getattr(part, kind), **_estimate_cells(country)}


def _list_other_rows(result: DecideResult) -> Iterator[Row]:
    for entry in result.decisions:
        for measure, countries in (("number", entry.numbers), ("choice", entry.choices)):
            yield from ({"model": entry.model.name, "measure": measure, **_estimate_cells(each)} for each in countries)


def _estimate_cells(country: CountryEstimate) -> Row:
    return {"country": country.country, "code": country.code, **vars(country.estimate)}


def _list_case_rows(result: DecideResult) -> Iterator[Row]:
    for entry in result.decisions:
        yield from ({"model": entry.model.name, **vars(case)} for case in entry.cases)


def _write_decisions(path: Path, result: DecideResult) -> None:
    """A row for every yes/no answer about a country: the name that it shows, and the log-odds of yes by each model.

    They are null where the question is not answered; the share answered has a column of its own.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts: dict[str, list[Any]] = {key: [] for key in (*KEYS, *NAMES)}
    codes = [country.code for country in result.decisions[0].countries]
    for way in result.answers[0].ways:
        layout = way.layout
        rows = np.argwhere(np.broadcast_to(layout.counted[:, None], way.yes.shape))
        parts["origin"] += [way.origin] * len(rows)
        parts["case"] += [layout.cases[k] for k in rows[:, 0]]
        parts["country"] += [codes[c] for c in rows[:, 1]]
        parts["answer"] += rows[:, 2].tolist()
        parts["favours"] += layout.favours[rows[:, 0], rows[:, 2]].astype(int).tolist()
        for key, names in zip(NAMES, _list_names(way, rows), strict=True):
            parts[key] += names
    columns: Row = {key: pa.array(values, pa.string()) if key in NAMES else values for key, values in parts.items()}
    for answers in result.answers:
        for name, field in ((answers.model.name, "yes"), (_name_answered(answers.model.name), "answered")):
            values = [
                getattr(way, field)[np.broadcast_to(way.layout.counted[:, None], way.yes.shape)] for way in answers.ways
            ]
            columns[name] = pa.array(np.concatenate(values), pa.float64(), from_pandas=True)  # null for NaN
    pq.write_table(pa.table(columns), path, compression="zstd")


def _name_answered(model: str) -> str:
    """The column of the probability of yes or no."""
    return f"{model} answered"


def _list_names(way: WayAnswers, rows: np.ndarray) -> list[list[str | None]]:
    """First name, last name and gender in each answer: its case, its country, and its position in the case."""
    if way.names is None or way.genders is None:
        return [[None] * len(rows)] * len(NAMES)
    return [*way.names[:, *rows.T].tolist(), way.genders[rows[:, 0], rows[:, 2]].tolist()]


def _write_maps(folder: Path, result: DecideResult) -> None:
    """A map of preferences for each model."""
    from geobias.report.figures import save_chart, world_map  # only where a map is drawn

    for n, entry in enumerate(result.decisions, start=1):
        values = {each.code: each.preference.value for each in entry.countries if each.preference.value is not None}
        if not values:
            continue
        chart = world_map(
            values,
            {each.code: each.country for each in entry.countries if each.has_estimate},
            title=f"Decisions of {entry.model.name} by country",
            subtitle=f"Mean over {result.counts.cases:,} cases; origin: {', '.join(result.settings.origin)}. It "
            "describes the model, not people.",
            legend="log-odds of the favourable answer against the mean of countries",
            centre=0,
            tone=1,
        )
        stem = f"map-{slug(entry.model.name)}"
        taken = (folder / f"{stem}.svg").exists()  # by a model of the same last name
        save_chart(chart, folder / (f"{stem}-{n}" if taken else stem))


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of one model where origin shows in one way, as `decisions.parquet` has them."""

    yes: np.ndarray  # cases x countries x answers: log-odds; NaN if unanswered, 0 where a case has fewer answers
    answered: np.ndarray  # the same: share answered
    counted: np.ndarray  # cases x answers
    favours: np.ndarray  # the same
    units: NameUnits | None = None  # without names: None
    names: np.ndarray | None = None  # first and last x cases x countries x answers

    def has_same_design(self, other: StoredAnswers) -> bool:
        """Whether the answers are to the same cases, asked the same way, and show the same names."""
        pairs = [(self.counted, other.counted), (self.favours, other.favours)]
        if self.names is not None and other.names is not None:
            pairs.append((self.names, other.names))
        return all(np.array_equal(before, after) for before, after in pairs)

    def crossed_variance(self) -> CrossedVariance:
        names_fixed = self.units is None
        return CrossedVariance(self.units or NO_UNITS, self.yes.shape, self.counted, names_fixed=names_fixed)


def read_decisions(run: FinishedRun[DecideResult], entry: ModelDecisions) -> list[StoredAnswers]:
    """The answers of one model, by way of showing origin."""
    path, ways, model = run.folder / DECISIONS, run.result.settings.origin, entry.model.name
    has_names = NAME in ways
    columns, answered = [*KEYS, *(NAMES if has_names else ()), model], _name_answered(model)
    try:
        table = read_columns(path, [*columns, answered]).to_pandas()
    except InputError:  # made before shares were stored
        table = read_columns(path, columns).to_pandas()
        table[answered] = table[model].notna().astype(float)
    codes = {country.code: c for c, country in enumerate(entry.countries)}
    if not (set(table["origin"]) == set(ways) and set(table["country"]) == set(codes)):
        raise damaged(path)
    return [_arrange(table[table["origin"] == way], codes, model, has_names=way == NAME) for way in ways]


def _arrange(rows: pd.DataFrame, codes: Mapping[str, int], model: str, *, has_names: bool) -> StoredAnswers:
    cases, case = np.unique(rows["case"].to_numpy(dtype=str), return_inverse=True)
    country, answer = rows["country"].map(codes).to_numpy(), rows["answer"].to_numpy()
    shape = (len(cases), len(codes), int(answer.max()) + 1)
    counted, favours = np.zeros((shape[0], shape[2]), dtype=bool), np.ones((shape[0], shape[2]))
    yes, answered = np.zeros(shape), np.zeros(shape)
    yes[case, country, answer], answered[case, country, answer] = rows[model], rows[_name_answered(model)]
    counted[case, answer], favours[case, answer] = True, rows["favours"]
    if not has_names:
        return StoredAnswers(yes, answered, counted, favours)
    names, genders = np.full((2, *shape), "", dtype=object), np.full(counted.shape, "", dtype=object)
    names[:, case, country, answer] = rows[["first_name", "last_name"]].to_numpy(dtype=object).T
    genders[case, answer] = rows["gender"]
    return StoredAnswers(yes, answered, counted, favours, number_names(names, genders), names)
