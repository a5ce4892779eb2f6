"""The parts that an audit in a single module may leave out: its tidy rows as a file, a table and a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from geobias.report.page import blocks
from geobias.report.results import AuditResult
from geobias.report.runs import FinishedRun
from geobias.report.tables import titled_table, write_csv


def write_files(folder: Path, result: AuditResult) -> None:
    write_csv(folder / "tables" / f"{result.audit}.csv", result.list_tidy_rows())


def summary_table(result: AuditResult, width: int) -> Table:
    table, rows = titled_table(result.audit), _format_rows(result)
    for column in rows[0] if rows else ():
        table.add_column(column)
    for row in rows:
        table.add_row(*row.values())
    return table


def full_report(result: AuditResult, width: int) -> Iterator[Table]:
    yield summary_table(result, width)


def describe(result: AuditResult) -> str:
    return f"This run audited {next(iter(result.summarise()))}."


def section(run: FinishedRun[Any], name: str) -> blocks.Section:
    table = blocks.Table(f"{name}-rows", "Results", "", _format_rows(run.result))
    return blocks.Section(id=name, title=run.result.audit, lead=describe(run.result), blocks=[table])


def _format_rows(result: AuditResult) -> list[dict[str, str]]:
    return [{column: str(cell) for column, cell in row.items()} for row in result.list_tidy_rows()]
