"""The parts that an audit in a single module may leave out: its tidy rows as a file, a table and a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from geobias.report.page import blocks
from geobias.report.results import AuditResult
from geobias.report.runs import FinishedRun
from geobias.report.tables import add_ends, digits, titled_table, write_csv

SUMMARY_ROWS = 8  # without --full


def write_files(folder: Path, result: AuditResult) -> None:
    write_csv(folder / "tables" / f"{result.audit}.csv", result.list_tidy_rows())


def summary_table(result: AuditResult, width: int) -> Table:
    return _draw_table(result, SUMMARY_ROWS)


def full_report(result: AuditResult, width: int) -> Iterator[Table]:
    yield _draw_table(result, sys.maxsize)


def describe(result: AuditResult) -> str:
    return f"This run audited {next(iter(result.summarise()))}."


def section(run: FinishedRun[Any], name: str) -> blocks.Section:
    table = blocks.Table(f"{name}-rows", "Results", "", _format_rows(run.result))
    return blocks.Section(id=name, title=run.result.audit, lead=describe(run.result), blocks=[table])


def _draw_table(result: AuditResult, most: int) -> Table:
    """The first and the last rows, if there are more than `most`."""
    table, rows = titled_table(result.audit), _format_rows(result)
    for column in rows[0] if rows else ():
        table.add_column(column)
    add_ends(table, [list(row.values()) for row in rows], most, most // 2)
    return table


def _format_rows(result: AuditResult) -> list[dict[str, str]]:
    rows = list(result.list_tidy_rows())
    columns = dict.fromkeys(column for row in rows for column in row)
    return [{column: _format_cell(row.get(column)) for column in columns} for row in rows]


def _format_cell(cell: Any) -> str:
    return digits(cell) if cell is None or isinstance(cell, float) else str(cell)
