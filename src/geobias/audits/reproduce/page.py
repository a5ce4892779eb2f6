"""A paper's tables on the page: published numbers, and measured ones below them."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.reproduce.published import PAPERS
from geobias.audits.reproduce.result import ReproducedTable, ReproduceResult, TableForm
from geobias.audits.reproduce.terminal import form_title
from geobias.report.page.blocks import Block, Chart, Row, Section, Table
from geobias.report.page.charts import dots
from geobias.report.runs import FinishedRun
from geobias.report.tables import format_places

ROWS = ("published", "measured")


def describe(result: ReproduceResult) -> str:
    """What was scored, in a sentence."""
    return (
        f"{result.counts.measured_numbers:,} numbers of {result.counts.tables} "
        f"{'table' if result.counts.tables == 1 else 'tables'} of {PAPERS[result.settings.paper]} were measured again."
    )


def section(run: FinishedRun[ReproduceResult], name: str) -> Section:
    result = run.result
    paper = result.settings.paper
    return Section(
        id=name,
        title=f"{PAPERS[paper]}: measured and published numbers",
        lead=" ".join(result.notes),
        blocks=[
            block
            for table in result.tables
            for form in table.forms
            for block in _blocks(name, form_title(paper, table, form), table, form)
        ],
        notes=[note for table in result.tables for note in table.notes],
    )


def _blocks(name: str, heading: str, table: ReproducedTable, form: TableForm) -> Iterator[Block]:
    block_id = "-".join(filter(None, (name, table.table, form.form)))
    reading = " ".join(table.notes) or "Published, then measured."
    yield Table(f"{block_id}-table", heading, reading, list(_rows(table, form)))
    if chart := _chart(f"{block_id}-chart", heading, table, form):
        yield chart


def _rows(table: ReproducedTable, form: TableForm) -> Iterator[dict[str, str]]:
    headings = [
        f"{column} (is {table.taken_for[column]})" if column in table.taken_for else column for column in table.columns
    ]
    for i, names in enumerate(table.rows):
        for kind, numbers in zip(ROWS, (form.published, form.measured), strict=True):
            cells = map(format_places, numbers[i], form.places)
            yield {" ".join(table.keys): " ".join(names), "": kind, **dict(zip(headings, cells, strict=True))}


def _chart(chart_id: str, heading: str, table: ReproducedTable, form: TableForm) -> Chart | None:
    """The last column as dots, since it is the one that sums a row up; nothing where it was not measured."""
    column = table.columns[-1]
    if all(row[-1] is None for row in form.measured):
        return None
    rows: list[Row] = [
        {"row": " ".join(names), "what": kind, "value": numbers[i][-1], "marked": True}
        for i, names in enumerate(table.rows)
        for kind, numbers in zip(ROWS, (form.published, form.measured), strict=True)
        if numbers[i][-1] is not None
    ]
    return Chart(
        chart_id,
        f"{heading}: {column}",
        "A line for each row of the table, a dot for what was published and one for what was measured.",
        f"Measured and published numbers of the column {column}.",
        dots(rows, label="row", title=column, order=[row["row"] for row in rows], colour="what"),
        rows,
    )
