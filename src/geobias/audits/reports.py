"""What people and programs read of a result: each part from the audit's `report.py`, whatever the audit.

An audit that has none gets a table for each of its lists of rows, everywhere, and paths of a gate by model and place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rich.console import RenderableType

from geobias.audits.registry import get_audit
from geobias.models.scorer import ModelIdentity
from geobias.report import declarations
from geobias.report.declarations import EVERYWHERE, Column, Report, Table
from geobias.report.findings import Finding, with_role
from geobias.report.gate_numbers import WORST, GateNumber, TreeNumber, join_path, model_names
from geobias.report.page.blocks import Section
from geobias.report.results import AuditResult
from geobias.report.rows import flatten, list_columns, list_measures, list_row_kinds, list_tidy_rows, write_tables
from geobias.report.runs import FinishedRun
from geobias.report.tables import NOTHING, digits

Result = TypeVar("Result", bound=AuditResult)


def make_report(result: AuditResult) -> Report:
    """The report that an audit declares, or tables of its rows."""
    make = get_audit(result.audit).find("report", "make_report") or _tabulate_rows
    report: Report = make(result)
    return report


def _tabulate_rows(result: AuditResult) -> Report:
    """A table for each list of rows, with the columns of its CSV file."""
    lists = {name: (kind, getattr(result, name)) for name, kind in list_row_kinds(type(result)).items()}
    description = f"This run audited {next(iter(result.summarise()))}."
    tables = [
        Table(
            name,
            name.replace("_", " ").capitalize(),
            "One row each.",
            list(map(flatten, rows)),
            [Column(column, partial(_format_cell, column), is_text=True) for column in list_columns(kind)],
            on=EVERYWHERE,
        )
        for name, (kind, rows) in lists.items()
    ]
    return Report(description, result.audit.capitalize(), description, tables, summary=next(iter(lists)))


def _format_cell(column: str, row: dict[str, Any]) -> str:
    cell = row.get(column)
    if cell is None:
        return NOTHING
    return digits(cell) if isinstance(cell, float) else str(cell)


def add_headlines(result: Result) -> Result:
    """The result whose answers have a headline, if its audit words one."""
    say = get_audit(result.audit).find("report", "say_headline")
    if say is None:
        return result
    findings = [
        replace(each, headline=say(result, each, _list_details(result, each))) if each.role == "overall" else each
        for each in result.findings
    ]
    return replace(result, findings=findings)


def _list_details(result: AuditResult, answer: Finding) -> list[Finding]:
    """What stands out besides, of the same model and measure."""
    key = answer.model, answer.measure
    return [each for each in with_role(result.findings, "detail") if (each.model, each.measure) == key]


def ask_everyday(result: AuditResult, answer: Finding) -> str:
    """The question behind an answer, in everyday words."""
    cards = make_report(result).cards
    card = cards.get(answer.measure or "", cards.get(""))
    return card.question if card else answer.question


def describe(result: AuditResult) -> str:
    """What was audited, in a sentence."""
    return make_report(result).description


def draw_summary(result: AuditResult, width: int) -> list[RenderableType]:
    """What stands below the findings on the terminal."""
    return list(declarations.draw_summary(make_report(result), width))


def draw_full(result: AuditResult, width: int) -> list[RenderableType]:
    """What `--full` prints below the findings."""
    return list(declarations.draw_full(make_report(result), width))


def make_section(run: FinishedRun[Any], name: str) -> Section:
    return declarations.make_section(make_report(run.result), name)


def list_card_rows(result: AuditResult) -> list[dict[str, str]]:
    return list(declarations.list_card_rows(make_report(result)))


def list_gate_numbers(result: AuditResult) -> list[GateNumber]:
    """The numbers for the paths of a gate, with the audit first; of an audit without a report those of its rows."""
    audit = get_audit(result.audit)
    if list_numbers := audit.find("report", "list_gate_numbers"):
        numbers: Iterable[GateNumber] = list_numbers(result)
    else:
        numbers = () if audit.find("report", "make_report") else _list_row_numbers(result)
    return [GateNumber(((result.audit,), *each.path), each.number) for each in numbers]


def _list_row_numbers(result: AuditResult) -> Iterator[GateNumber]:
    """AUDIT.MODEL.LABEL.PLACE, as far as a row has them, and the measure where there are several."""
    kinds = list_row_kinds(type(result))
    has_several = sum(len(list_measures(kind)) for kind in kinds.values()) > 1
    for row in (row for name in kinds for row in list_tidy_rows(getattr(result, name))):
        names = {"model": model_names(row["model"])} if "model" in row else {}
        names["label"] = (row["label"],) if row["label"] else ()
        names["place"] = tuple(row[key] for key in ("place", "code") if row.get(key))
        names["measure"] = (row["measure"],) if has_several else ()
        low, high = (row["value"] if row[end] is None else row[end] for end in ("low", "high"))
        yield GateNumber(tuple(filter(None, names.values())), TreeNumber(row["value"], low, high))


def write_files(folder: Path, result: AuditResult) -> None:
    """The tables of a run as CSV, and the answers behind them."""
    write_tables(folder / "tables", result)
    if write_answers := get_audit(result.audit).find("answers", "write_answers"):
        write_answers(folder, result)


# The last parts of paths that sum up a model; the others are of single countries or regions.
SUMMARIES = (
    (WORST,),
    *(("association", "ratio"), ("known", "auc"), ("known", "offensive")),
    *(("recall", "lowest"), ("recall", "mean"), ("gap",), ("precision",), ("flips", "any")),
)
REGION_SUMMARIES = (("c_w", "balanced"), ("change", "balanced"))  # of the root and the regions directly below it
HIGHER_IS_BETTER = ("recall", "precision", "impact_ratio", "answered")


@dataclass(frozen=True)
class RunNumber:
    """A number of a run with its 95 % interval, and the model that it describes."""

    parts: tuple[str, ...]
    model: ModelIdentity | None  # None where the number is of several models
    value: float
    low: float | None
    high: float | None

    @property
    def path(self) -> str:
        """The path in a rule of a gate: names.sentiment.delta.worst."""
        return join_path(self.parts)

    @property
    def lower_is_better(self) -> bool:
        names = model_names(self.model.name) if self.model else ()
        start = 2 if self.parts[1] in names else 1  # a model may have the name of a measure
        return not any(part in HIGHER_IS_BETTER for part in self.parts[start:])


def list_numbers(result: AuditResult) -> list[RunNumber]:
    """Every number of a result that a gate can check; not those without a value, nor those that share a path."""
    by_path: dict[tuple[str, ...], list[TreeNumber]] = {}
    for each in list_gate_numbers(result):
        by_path.setdefault(tuple(names[0] for names in each.path), []).append(each.number)
    return [
        RunNumber(parts, _find_model(result.model_identities, parts[1]), number.value, number.low, number.high)
        for parts, (number, *others) in by_path.items()
        if number.value is not None and not others
    ]


def list_summary_numbers(result: AuditResult) -> list[RunNumber]:
    """The numbers that sum up each model: worst values, ratios, and C of the largest regions."""
    top_regions = _name_top_regions(result)
    return [
        number
        for number in list_numbers(result)
        if _ends_with(number.parts, SUMMARIES)
        or (_ends_with(number.parts, REGION_SUMMARIES) and number.parts[1] in top_regions)
    ]


def _ends_with(parts: tuple[str, ...], endings: Sequence[tuple[str, ...]]) -> bool:
    return any(parts[-len(ending) :] == ending for ending in endings)


def _name_top_regions(result: AuditResult) -> set[str]:
    """Ids of the root and of what lies directly below it."""
    return {region.id for region in getattr(result, "regions", ()) if region.parent_index in (None, 0)}


def _find_model(models: Sequence[ModelIdentity], name: str) -> ModelIdentity | None:
    """The only model, or the one that a path is of."""
    if len({model.name for model in models}) == 1:
        return models[0]
    return next((model for model in models if model.name == name), None)
