"""The report of an audit in a single module that has none: a table of its tidy rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from geobias.report.declarations import ALL_TABLES, Column, Report, Table
from geobias.report.results import AuditResult
from geobias.report.tables import NOTHING, digits

MOST = {"terminal": 8, "full": 10_000}  # rows


def make_report(result: AuditResult) -> Report:
    rows = list(result.list_tidy_rows())
    headings = dict.fromkeys(heading for row in rows for heading in row)
    columns = [Column(heading, partial(_format_cell, heading), is_text=True) for heading in headings]
    description = f"This run audited {next(iter(result.summarise()))}."
    table = Table("rows", "Results", "", rows, columns, most=MOST, on=ALL_TABLES)
    return Report(description, title=result.audit, lead=description, blocks=[table], summary="rows")


def _format_cell(heading: str, row: dict[str, Any]) -> str:
    cell = row.get(heading)
    if cell is None:
        return NOTHING
    return digits(cell) if isinstance(cell, float) else str(cell)
