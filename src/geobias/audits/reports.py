"""What people and programs read of a result: each part from the audit's `report.py`, whatever the audit.

An audit without a `report.py` still has the older modules `terminal.py`, `page.py`, `files.py` and `gate_and_card.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from geobias.audits.registry import Audit, audits_with, get_audit
from geobias.report import render
from geobias.report.declarations import Report
from geobias.report.number_tree import NumberTree, make_tree
from geobias.report.page.blocks import Chart, Section
from geobias.report.results import AuditResult
from geobias.report.rows import write_tables
from geobias.report.runs import FinishedRun

REPORT, PAGE, OTHERS = "report", "page", "gate_and_card"


def make_report(result: AuditResult) -> Report | None:
    make = _find(result, REPORT, "make_report")
    report: Report | None = None if make is None else make(result)
    return report


def describe(result: AuditResult) -> str:
    """What was audited, in a sentence."""
    report = make_report(result)
    return report.description if report else str(get_audit(result.audit).load(PAGE, "describe")(result))


def draw_summary(result: AuditResult, width: int) -> list[RenderableType]:
    """What stands below the findings on the terminal."""
    if report := make_report(result):
        note = [Text(report.summary_note, style="dim")] if report.summary_note else []
        return [render.draw_summary(report, width), *note]
    more = _find(result, "terminal", "summary_lines")
    return [get_audit(result.audit).load("terminal", "summary_table")(result, width), *(more(result) if more else ())]


def draw_full(result: AuditResult, width: int) -> list[RenderableType]:
    """What `--full` prints below the findings."""
    if report := make_report(result):
        return list(render.draw_full(report, width))
    return list(get_audit(result.audit).load("terminal", "full_report")(result, width))


def make_section(run: FinishedRun[Any], name: str) -> Section:
    if report := make_report(run.result):
        return render.make_section(report, name)
    section: Section = get_audit(run.result.audit).load(PAGE, "section")(run, name)
    return section


def list_card_rows(result: AuditResult) -> list[dict[str, str]]:
    if report := make_report(result):
        return list(render.list_card_rows(report))
    return list(get_audit(result.audit).load(OTHERS, "card_rows")(result))


def find_number_tree(result: AuditResult) -> NumberTree | None:
    """The numbers for the paths of a gate; None for an audit without any."""
    if list_numbers := _find(result, REPORT, "list_gate_numbers"):
        return make_tree(list_numbers(result))
    gate_numbers = _find(result, OTHERS, "gate_numbers")
    return gate_numbers(result) if gate_numbers else None


def write_files(folder: Path, result: AuditResult) -> None:
    """The tables of a run as CSV, and the answers behind them."""
    if _find(result, REPORT, "make_report") is None:
        get_audit(result.audit).load("files", "write_files")(folder, result)
        return
    write_tables(folder / "tables", result)
    if write_answers := _find(result, "answers", "write_answers"):
        write_answers(folder, result)


def find_overlay(audit: Audit) -> Callable[[Sequence[Any]], Chart | None] | None:
    """The function that draws several runs of an audit in one chart, where it has one."""
    return audit.find(REPORT, "overlay_runs") or audit.find(PAGE, "overlay_runs")


def list_audits_with_card() -> list[str]:
    """The names of the audits that a model card can show."""
    return [*audits_with(REPORT, "make_report"), *audits_with(OTHERS, "card_rows")]


def list_audits_with_numbers() -> list[str]:
    """The names of the audits that a gate can check by their numbers."""
    return [*audits_with(REPORT, "list_gate_numbers"), *audits_with(OTHERS, "gate_numbers")]


def _find(result: AuditResult, module: str, attribute: str) -> Callable[..., Any] | None:
    return get_audit(result.audit).find(module, attribute)
