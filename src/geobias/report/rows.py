"""Flat tables of typed rows: the numbers of a result, in results.json, in tables/*.csv and in `to_frame`.

A result has a few lists of rows. A row is a dataclass: first what it is about (model, place, label), then its numbers.
An `Estimate` or `Interval` that is annotated with `Measured` is a measure of `to_frame`; the first one is the main
measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

from geobias.measures.estimates import NO_ESTIMATE, SIGNIFICANT, Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import Evidence, SizeWord, grade_evidence, grade_size
from geobias.report.results import AuditResult, HasInterval, Interval, Number, to_json
from geobias.report.tables import is_marked, write_csv


@dataclass(frozen=True)
class Measured:
    """A number that people and programs look for, and what it is compared with."""

    against: str | None = None


@dataclass(frozen=True, kw_only=True)
class Effect:
    """How far one place moves one outcome of one model. Audits of places add their numbers to it."""

    unit: ClassVar[str]
    """Of `estimate`: probability, percentage points, points, times, ..."""
    keys: ClassVar[tuple[str, ...]] = ("model", "place", "code")
    """Columns of `to_frame` that say what a row is about."""

    model: str
    place: str
    """Its name."""
    code: str | None
    """Of the country, or the id of the region; null for what is no place, such as a control."""
    label: str
    """The outcome: a class, or the name of a score."""
    p_adjusted: float | None
    """Of the test that decides whether the place stands out, adjusted for all comparisons."""
    mirrors: str | None = None
    """The place that may be the only reason for a clear difference from a mean of places (`find_mirrors`)."""
    evidence: Evidence = "not testable"
    """By `p_adjusted`; at most suggestive where another place may be the reason."""
    size: SizeWord | None = None
    """How large the difference is; null where the unit has no scale."""

    def __post_init__(self) -> None:
        evidence = grade_evidence(self.p_adjusted)
        evidence = "suggestive" if evidence == "clear" and self.mirrors else evidence
        value = self.estimate.value
        object.__setattr__(self, "evidence", evidence)
        object.__setattr__(self, "size", None if value is None else grade_size(value, self.unit))

    @property
    def estimate(self) -> Estimate:
        """The difference that findings, charts and maps show, with the p-value above."""
        raise NotImplementedError

    @property
    def value(self) -> float:
        return self.estimate.value or 0.0

    @property
    def stands_out(self) -> bool:
        return self.mirrors is None and self.p_adjusted is not None and self.p_adjusted < SIGNIFICANT

    @property
    def title(self) -> str:
        """The place as tables and findings name it."""
        return self.place


@dataclass(frozen=True, kw_only=True)
class Farthest:
    """The place farthest from what places are compared with, either way, with bounds that hold for all at once."""

    model: str
    place: str
    code: str
    label: str | None
    """A class; null for a measure of no single class."""
    value: float
    low: Number
    high: Number


def list_tidy_rows(rows: Sequence[Any], *, too_few: bool = False) -> Iterator[dict[str, Any]]:
    """The rows of `to_frame`, measure by measure; of `too_few` texts they have no numbers."""
    for name, measured in list_measures(type(rows[0])).items() if rows else ():
        for row in rows:
            number = getattr(row, name)
            if number is not None:
                shown = NO_ESTIMATE if too_few else number if isinstance(number, Estimate | Interval) else exact(number)
                label = getattr(row, "label", None)
                yield tidy_row(describe_row(row), name, shown, label=label, against=measured.against)


def exact(number: float) -> Interval:
    """A number that was not estimated, such as a count."""
    return Interval(number, None, None)


def describe_row(row: Any) -> dict[str, Any]:
    """What a row is about: the fields that its class lists as `keys`, or all that hold text."""
    keys = getattr(row, "keys", None) or [name for name, value in vars(row).items() if isinstance(value, str)]
    return {key: getattr(row, key) for key in keys if key != "label"}


def list_measures(kind: type[Any]) -> dict[str, Measured]:
    """The fields of a row that are measures; of a row that marks none all numbers."""
    hints = get_type_hints(kind, include_extras=True)
    notes = {name: get_args(hint)[1:] for name, hint in hints.items() if get_origin(hint) is Annotated}
    marked = {name: note for name, extras in notes.items() for note in extras if isinstance(note, Measured)}
    return marked or {name: Measured() for name, hint in hints.items() if hint in (int, float, Interval, Estimate)}


def write_tables(folder: Path, result: AuditResult) -> None:
    """Each list of rows of a result as a CSV file of its name, which has its columns also where there is no row."""
    for name, kind in list_row_kinds(type(result)).items():
        write_csv(folder / f"{name}.csv", map(flatten, getattr(result, name)), list_columns(kind))


def list_row_kinds(kind: type[AuditResult]) -> dict[str, type[Any]]:
    """The fields of a result that are lists of rows."""
    shared = {each.name for each in fields(AuditResult)}
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in shared}
    rows = {name: get_args(hint)[0] for name, hint in hints.items() if get_origin(hint) is list}
    return {
        name: row for name, row in rows.items() if hasattr(row, "__dataclass_fields__") and row is not ModelIdentity
    }


def list_columns(kind: type[Any]) -> list[str]:
    """The columns of such a file: an estimate takes five, the first of which has its name."""
    hints = get_type_hints(kind, include_extras=True)
    return [column for each in fields(kind) for column in _split_column(each.name, hints[each.name])]


def flatten(row: Any) -> dict[str, Any]:
    """A row of such a file; several values in one cell are separated by commas."""
    flat: dict[str, Any] = {}
    for name, value in to_json(row).items():
        if isinstance(value, dict):
            flat |= {name if key == "value" else f"{name}_{key}": number for key, number in value.items()}
        else:
            flat[name] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return flat


def _split_column(name: str, hint: Any) -> list[str]:
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        name = next((alias for note in notes if (alias := getattr(note, "alias", None))), name)  # such as "from"
    for kind in (Estimate, Interval):
        if hint is kind or kind in get_args(hint):
            return [name if each.name == "value" else f"{name}_{each.name}" for each in fields(kind)]
    return [name]


def tidy_row(
    place: Mapping[str, Any],
    measure: str,
    number: HasInterval,
    *,
    label: str | None = None,
    against: str | None = None,
) -> dict[str, Any]:
    """A row of `to_frame`: what tells the place apart, the measure, and its number with interval and p-values."""
    estimate = number if isinstance(number, Estimate) else None
    return {
        **place,
        "measure": measure,
        "label": label,
        "against": against,
        "value": number.value,
        "low": number.low,
        "high": number.high,
        "p": estimate.p if estimate else None,
        "p_adjusted": estimate.p_adjusted if estimate else None,
        "is_marked": estimate is not None and is_marked(estimate),
    }
