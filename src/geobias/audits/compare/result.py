"""What a comparison measures: how far apart runs of one audit are, each against the first.

The `compare.py` of each audit pairs the classifiers of two runs and lists their differences by the functions here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geobias.errors import InputError
from geobias.measures.estimates import Estimate
from geobias.measures.paired_differences import MeasureKey, PairedDifference
from geobias.models.scorer import ModelIdentity
from geobias.report.results import AuditResult, Number, number
from geobias.report.runs import FinishedRun
from geobias.report.tables import listed
from geobias.report.tidy import tidy_row

ASSOCIATION = "association.ratio"  # in comparisons of earlier versions: training alone moves it


@dataclass(frozen=True)
class CompareSettings:
    """Which runs are compared."""

    audit: str
    runs: list[str]


@dataclass(frozen=True)
class Difference:
    """One measure of one place in two runs; `difference` is the second minus the first."""

    models: list[str]
    """In the first and in the second run."""
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


@dataclass(frozen=True)
class Comparison:
    """Two runs: a row for every measure of every country or region."""

    first: str
    """The folder of the run."""
    second: str
    left_out: list[str]
    """Classifiers that only one of the runs has."""
    rows: list[Difference]


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareResult(AuditResult):
    """Runs of one audit, each against the first.

    Attributes
    ----------
    schema_version : int
        Version of the format of results.json.
    audit : str
        Name of the audit.
    settings : object
        Everything that identifies the run.
    findings : list of Finding
        The conclusions: the overall answer for each model, then details, then cautions.
    nondeterministic_models : list of NondeterministicModel
        Models that gave other answers to the same texts when they were asked twice.
    versions : dict of str
        Versions of Python and of the packages that can change a number.
    work : dict of int
        How much was computed rather than read from the store. Not saved.
    folder : Path or None
        Where the run is saved.
    models : list of ModelIdentity
        The models of the runs.
    comparisons : list of Comparison
        For each run but the first: `rows`, with `first`, `second` and `difference` of every measure and place.

    Notes
    -----
    Returned by `compare`. Printing it shows the findings.

    Examples
    --------
    >>> comparison = geobias.compare(["runs/v1", "runs/v2"])  # doctest: +SKIP
    >>> comparison.comparisons[0].rows[0].difference.p_adjusted  # doctest: +SKIP
    """

    audit: Literal["compare"] = "compare"
    settings: CompareSettings
    models: list[ModelIdentity]
    """The models that were compared, each once."""
    comparisons: list[Comparison]

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    def summarise(self) -> Iterator[str]:
        first, *others = self.settings.runs
        each = "" if len(others) == 1 else "each "
        yield f"{len(others) + 1} runs of the {self.settings.audit} audit: {listed(others)}, {each}against {first}"

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """A row for each difference, which is `value`: the second run minus the first."""
        for comparison in self.comparisons:
            for row in comparison.rows:
                place = {"first_run": comparison.first, "second_run": comparison.second}
                place |= {"first_model": row.models[0], "second_model": row.models[1]}
                place |= {"place": row.name, "code": row.id}
                numbers = {"first": row.first, "second": row.second}
                yield tidy_row(place, row.measure, row.difference, label=row.label, against=row.against) | numbers

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference: tables/compare.csv."""
        return [
            {
                "first_run": comparison.first,
                "second_run": comparison.second,
                "first_model": row.models[0],
                "second_model": row.models[1],
                **{key: getattr(row, key) for key in ("measure", "against", "label", "id", "name", "first", "second")},
                "difference": row.difference.value,
                **{key: getattr(row.difference, key) for key in ("low", "high", "p", "p_adjusted")},
            }
            for comparison in self.comparisons
            for row in comparison.rows
        ]


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
        yield Difference(list(models), *measure, label, *places[index[-1]], first, second, difference)
