"""A `Report` on the terminal, on the page and in a model card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from geobias.report.declarations import CARD, FULL, PAGE, TERMINAL, ByModel, Column, Report, ReportBlock, Table
from geobias.report.page import blocks
from geobias.report.tables import titled_table

MOST = {TERMINAL: 4, FULL: 16, PAGE: 300, CARD: 40}  # rows
GAP = "..."
FILES = "Every number: tables/*.csv and results.json; what models answered: *.parquet."


def draw_summary(report: Report, width: int) -> Iterator[RenderableType]:
    """The table below the findings, and the line below it."""
    yield draw_table(next(table for table in report.tables(TERMINAL) if table.id == report.summary), TERMINAL, width)
    if report.summary_note:
        yield Text(report.summary_note, style="dim")


def draw_full(report: Report, width: int) -> Iterator[RenderableType]:
    """Every table and note, what the numbers mean, and where the files are."""
    yield from (draw_table(table, FULL, width) for table in report.tables(FULL))
    yield report.description
    yield from (*report.full_notes, *report.notes)
    yield from (Text(line, style="dim") for line in (report.meaning, FILES) if line)


def draw_table(table: Table, place: str, width: int) -> RichTable:
    """Numbers are never cut: a narrow terminal shows fewer columns, then folds the words of the others."""
    first = list(table.first) if place == FULL else []
    rows = [*first, *_cut(table, place)]
    columns = _list_columns(table, place)
    cells = {
        column: [GAP if row is None else column.show(row, too_few=table.too_few) for row in rows] for column in columns
    }
    while sum(_measure_width(column, cells[column]) for column in columns) + 1 > width:  # and an edge
        spare = max(reversed(columns), key=lambda column: column.keep)
        if spare.keep == 1:
            break
        columns.remove(spare)
    drawn = titled_table(table.title)
    for column in columns:
        is_text = column.is_text
        drawn.add_column(column.heading, justify="left" if is_text else "right", no_wrap=not is_text, overflow="fold")
    for k, row in enumerate(rows):
        line = [GAP] if row is None else [cells[column][k] for column in columns]
        drawn.add_row(*line, end_section=k == len(first) - 1 or _ends_group(table, rows[k : k + 2]))
    return drawn


def _list_columns(table: Table, place: str) -> list[Column]:
    return [column for column in table.columns if place in column.on]


def _measure_width(column: Column, cells: Sequence[str]) -> int:
    return max(map(len, (*column.heading.splitlines(), *cells))) + 2


def _ends_group(table: Table, rows: Sequence[Any]) -> bool:
    return table.group is not None and len(rows) == 2 and None not in rows and len(set(map(table.group, rows))) == 2


def _cut(table: Table, place: str) -> list[Any]:
    """The rows that are shown; of too many both ends, with None between them."""
    rows, most = list(table.rows), table.most.get(place, MOST[place])
    if len(rows) <= most:
        return rows
    gap = [] if place == TERMINAL else [None]
    return [*rows[: most // 2], *gap, *rows[-(most // 2) :]]


def make_section(report: Report, name: str) -> blocks.Section:
    """Its part of a page, whose ids begin with `name`: a page may have several runs."""
    shown = [block for block in report.blocks if not isinstance(block, Table) or PAGE in block.on]
    groups = [list(group) for _, group in groupby(enumerate(shown), key=_group_key)]
    made = [block for group in groups for block in _make_blocks([each for _, each in group], name, report.model_noun)]
    return blocks.Section(name, report.title, report.lead, made, list(report.notes))


def _group_key(numbered: tuple[int, ReportBlock]) -> Any:
    """Tables of one id come together; every other block stands by itself."""
    number, block = numbered
    return block.id if isinstance(block, Table) else number


def _make_blocks(group: Sequence[ReportBlock], name: str, noun: str) -> list[blocks.Block]:
    """One block; those of several models become a choice between them."""
    first = group[0]
    if isinstance(first, ByModel):
        noun = first.noun or noun
        options: dict[str, Any] = {
            model: replace(chart, id=f"{name}-{chart.id}") for model, chart in first.charts.items()
        }
    elif isinstance(first, Table):
        tables = [each for each in group if isinstance(each, Table)]
        options = {
            each.model or str(n): make_page_table(each, f"{name}-{each.id}-{n}") for n, each in enumerate(tables)
        }
    else:
        return [replace(first, id=f"{name}-{first.id}")]
    if len(options) < 2:
        return list(options.values())
    block_id = next(iter(options.values())).id.removesuffix("-0")
    return [blocks.Choice(block_id, noun, options)]


def make_page_table(table: Table, block_id: str) -> blocks.Table:
    columns = _list_columns(table, PAGE)
    rows = [row for row in _cut(table, PAGE) if row is not None]
    cut = "" if len(rows) == len(table.rows) else f" Both ends of {len(table.rows):,} rows: tables/*.csv has all."
    return blocks.Table(
        block_id,
        table.title,
        f"{table.reading}{cut}",
        [_show_row(table, columns, row) for row in rows],
        table.text_columns,
    )


def list_card_rows(report: Report) -> Iterator[dict[str, str]]:
    """The rows of a model card."""
    for table in report.tables(CARD):
        columns = _list_columns(table, CARD)
        yield from (_show_row(table, columns, row) for row in table.rows)


def _show_row(table: Table, columns: Sequence[Column], row: Any) -> dict[str, str]:
    return {column.heading: column.show(row, too_few=table.too_few).strip() for column in columns}
