"""What a comparison measures: how far apart runs of one audit are, each against the first.

The `compare.py` of each audit pairs the classifiers of two runs and lists their differences by the functions here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from geobias.audits.labels import is_emotion
from geobias.audits.side_by_side import short_names
from geobias.errors import InputError
from geobias.measures.estimates import Estimate
from geobias.measures.paired_differences import ORIGINALS, MeasureKey, PairedDifference
from geobias.models.scorer import ModelIdentity
from geobias.report.results import AuditResult, Number, number
from geobias.report.rows import tidy_row
from geobias.report.runs import FinishedRun
from geobias.report.tables import listed

PAIR = ("first_run", "second_run", "first_model", "second_model")


@dataclass(frozen=True)
class CompareSettings:
    """Which runs are compared."""

    audit: str
    runs: list[str]


@dataclass(frozen=True)
class Difference:
    """One measure of one place in two runs; `difference` is the second minus the first."""

    first_model: str
    second_model: str
    measure: str
    against: str
    """Its reference: originals, mean of countries, control or sub-regions."""
    label: str | None
    """Null where the measure is of no single class."""
    id: str
    """Of the country or region."""
    name: str
    first: Number
    second: Number
    difference: Estimate
    first_run: str = ""
    """The folder of the run."""
    second_run: str = ""

    @property
    def is_known(self) -> bool:
        return self.difference.value is not None

    @property
    def size(self) -> float:
        return abs(self.difference.value or 0)

    @property
    def certainty(self) -> tuple[float, float, float]:
        """To sort by: the smallest p-values first, then the largest differences."""
        p_adjusted, p = self.difference.p_adjusted, self.difference.p
        return 1.0 if p_adjusted is None else p_adjusted, 1.0 if p is None else p, -self.size

    @property
    def title(self) -> str:
        """The place, with the class where the measure has one."""
        return self.name if self.label is None else f"{self.name}, {self.label}"


@dataclass(frozen=True)
class Comparison:
    """Two runs: a row for every measure of every country or region. The `compare_runs` of an audit returns it."""

    first: str
    """The folder of the run."""
    second: str
    left_out: list[str]
    """Classifiers that only one of the runs has."""
    rows: list[Difference]


@dataclass(frozen=True)
class LeftOut:
    """A classifier that only one of two runs has."""

    first_run: str
    second_run: str
    model: str


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareResult(AuditResult):
    """Runs of one audit, each against the first: returned by `compare`.

    Examples
    --------
    >>> comparison = geobias.compare(["runs/v1", "runs/v2"])  # doctest: +SKIP
    >>> comparison.differences[0].difference.p_adjusted  # doctest: +SKIP
    """

    audit: Literal["compare"] = "compare"
    settings: CompareSettings
    models: list[ModelIdentity]
    """The models that were compared, each once."""
    differences: list[Difference]
    """Every measure of every place, for each run but the first: the rows of `to_frame`."""
    left_out: list[LeftOut]
    """Classifiers that only one of two runs has."""

    @property
    def comparisons(self) -> list[Comparison]:
        """The same by pairs of runs."""
        first, *others = self.settings.runs
        return [
            Comparison(
                first,
                second,
                [entry.model for entry in self.left_out if entry.second_run == second],
                [row for row in self.differences if row.second_run == second],
            )
            for second in dict.fromkeys(others)
        ]

    def summarise(self) -> Iterator[str]:
        first, *others = self.settings.runs
        each = "" if len(others) == 1 else "each "
        yield f"{len(others) + 1} runs of the {self.settings.audit} audit: {listed(others)}, {each}against {first}"

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """A row for each difference, which is `value`: the second run minus the first."""
        for row in self.differences:
            place = {key: getattr(row, key) for key in PAIR} | {"place": row.name, "code": row.id}
            numbers = {"first": row.first, "second": row.second}
            yield tidy_row(place, row.measure, row.difference, label=row.label, against=row.against) | numbers


def pair_classifiers(
    runs: tuple[FinishedRun[Any], FinishedRun[Any]],
    read_alike: dict[str, str],
    entries: str = "classifiers",
    noun: str = "classifier",
) -> tuple[list[tuple[Any, Any]], list[str]]:
    """Classifiers of one name; where each run has only one, those two, whatever their names. And who is left out.

    `read_alike` names the fields that must be the same in both, with a word for each; `entries` the field of the result
    that holds the classifiers (or models).
    """
    first, second = ({name_model(entry): entry for entry in getattr(run.result, entries)} for run in runs)
    if len(first) == len(second) == 1:
        pairs, left_out = [(*first.values(), *second.values())], list[str]()
    else:
        pairs = [(first[name], second[name]) for name in first if name in second]
        left_out = sorted(first.keys() ^ second.keys())
    folders = f"{runs[0].folder} and {runs[1].folder} cannot be compared"
    if not pairs:
        raise InputError(f"{folders}: they have no {noun} in common ({', '.join(left_out)}).")
    for pair in pairs:
        for field, label in read_alike.items():
            values = [getattr(entry, field) for entry in pair]
            first_value, second_value = (sorted(value) if isinstance(value, list) else value for value in values)
            if first_value != second_value:
                raise InputError(f"{folders}: different {label} ({name_model(pair[0])}, {name_model(pair[1])}).")
    return pairs, left_out


def name_model(entry: Any) -> str:
    """The name of a classifier's model: some results have the whole identity there."""
    return str(getattr(entry.model, "name", entry.model))


def list_differences(
    models: Sequence[str],
    measure: MeasureKey,
    labels: Sequence[str],
    places: list[tuple[str, str]],
    paired: PairedDifference,
) -> Iterator[Difference]:
    """A row for each place, and for each label where the measure has them (labels x places)."""
    for index in np.ndindex(paired.first.shape):
        label = labels[index[0]] if labels else None
        first, second = number(paired.first[index]), number(paired.second[index])
        difference = paired.difference.at(*index)
        yield Difference(models[0], models[1], *measure, label, *places[index[-1]], first, second, difference)


# How sentences, tables and charts speak of measures and of pairs of models

SCORE = "c_w.balanced"
PREFERENCE, ANSWERED, SPREAD = "preference", "answered", "spread"  # of decisions
MEAN_LIMIT = "Each number is against the mean of countries: what one country loses, the others gain."


@dataclass(frozen=True)
class MeasureWords:
    """What a measure is of, in which unit, what its rows are about, and what limits it."""

    quantity: str  # with {label} where it has one
    unit: str
    subject: str  # with {place}
    places: str
    data: str
    limit: str
    title: str  # of charts


WORDS = {
    "delta": MeasureWords(
        "Δ",
        "points",
        "names from {place}",
        "countries",
        "texts and names",
        MEAN_LIMIT,
        "Δ against the mean of countries, points",
    ),
    "change": MeasureWords(
        "the change of {label} predictions",
        "percentage points",
        "names from {place}",
        "countries",
        "texts and names",
        MEAN_LIMIT,
        "change of predictions against the mean of countries, %",
    ),
    PREFERENCE: MeasureWords(
        "the preference",
        "nats",
        "people of {place}",
        "countries",
        "cases",
        MEAN_LIMIT,
        "preference against the mean of countries, nats",
    ),
    ANSWERED: MeasureWords(
        "the share answered",
        "of questions",
        "people of {place}",
        "countries",
        "cases",
        MEAN_LIMIT,
        "share of questions answered, against the mean of countries",
    ),
    SPREAD: MeasureWords(
        "the spread between countries",
        "nats",
        "{place}",
        "groups",
        "cases",
        "A smaller spread is no fairer decision by itself: a model that answers at random has none.",
        "spread between countries, nats",
    ),
    "against_control": MeasureWords(
        "the shift of p({label})",
        "probability",
        "texts from {place}",
        "places",
        "texts and prefixes",
        "Shifts are of probabilities, beyond what a prefix without a place does: labels need not flip.",
        "probability against the control",
    ),
    SCORE: MeasureWords(
        "C_w",
        "C_w",
        "the sub-regions of {place}",
        "regions",
        "words",
        "C_w says how different descriptions are, not for whom they are worse.",
        "balanced C_w",
    ),
}


@dataclass(frozen=True)
class ModelPair:
    """Two models that were compared, and their differences by measure, the main measure first."""

    runs: tuple[str, str]
    first: str
    """As sentences name it; with its run where several runs have a model of this name."""
    second: str
    model: str
    """The full name of the second model, told apart in the same way."""
    rows: dict[str, list[Difference]]

    @property
    def is_about_emotions(self) -> bool:
        """Whether a label is an emotion: it is neither better nor worse for the people in a text."""
        return any(is_emotion(row.label) for rows in self.rows.values() for row in rows if row.label)

    @property
    def title(self) -> str:
        return f"{self.second} minus {self.first}"


def list_pairs(result: CompareResult) -> list[ModelPair]:
    """Every pair of models of every two runs.

    Differences from the original texts are left out: they show what any renaming or prefix does, and are in the files.
    """
    runs = list(dict.fromkeys(result.settings.runs))
    run_names = dict(zip(runs, short_names(list(map(Path, runs))), strict=True))
    runs_of: dict[str, set[str]] = {}
    for row in result.differences:
        runs_of.setdefault(row.first_model, set()).add(row.first_run)
        runs_of.setdefault(row.second_model, set()).add(row.second_run)
    model_names = {model: "/".join(Path(model).parts[-2:]) for model in runs_of}

    def name_model(run: str, model: str, name: str) -> str:
        return f"{name} ({run_names[run]})" if len(runs_of[model]) > 1 else name

    def name_shortly(run: str, model: str) -> str:
        is_unique = list(model_names.values()).count(model_names[model]) == 1
        return name_model(run, model, model_names[model] if is_unique else model)

    pairs = []
    rows = (row for row in result.differences if row.against != ORIGINALS)
    for (*both, first, second), group in groupby(rows, key=attrgetter(*PAIR)):
        by_measure = {measure: list(each) for measure, each in groupby(group, key=attrgetter("measure"))}
        model = name_model(both[1], second, second)
        pairs.append(
            ModelPair(
                (both[0], both[1]), name_shortly(both[0], first), name_shortly(both[1], second), model, by_measure
            )
        )
    return pairs
