"""A paper's tables on the page: measured beside published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geobias.audits.reproduce.terminal import cells, correlation, name, title
from geobias.report.page.parts import Block, Chart, Number, Section, Table
from geobias.report.page.theme import dots
from geobias.report.tables import NOTHING

PAPERS = {"herb": "HERB (Li et al. 2022)", "names": "Barriere and Cifuentes (2024)"}


def reproduce_section(folder: Path, results: Mapping[str, Any], section: str) -> Section:
    paper = results["settings"]["paper"]
    return Section(
        id=section,
        title=f"{PAPERS[paper]} again: measured beside published",
        lead=" ".join(results["notes"]),
        blocks=[block for table in results["tables"] for block in _blocks(paper, table, section)],
        numbers=list(_numbers(paper, results["tables"])),
        notes=[note for table in results["tables"] for note in table["notes"]],
    )


def asked(results: Mapping[str, Any]) -> str:
    settings = results["settings"]
    measured = results["counts"]["measured_numbers"]
    return (
        f"{len(settings['tables'])} table(s) of {PAPERS[settings['paper']]} again: {measured:,} numbers were measured."
    )


def _blocks(paper: str, table: dict[str, Any], section: str) -> Iterator[Block]:
    for form in table["forms"]:
        one = {**table, "forms": [form]}
        id = "-".join(filter(None, (section, table["table"], form["form"])))
        heading = title(paper, table["table"], table["title"], form["form"])
        rows = list(_rows(table, form))
        yield Table(f"{id}-table", heading, " ".join(table["notes"]) or "Published, then measured.", rows)
        if chart := _chart(f"{id}-chart", heading, one):
            yield chart


def _rows(table: dict[str, Any], form: dict[str, Any]) -> Iterator[dict[str, str]]:
    for i, names in enumerate(table["rows"]):
        for what in ("published", "measured"):
            row = {" ".join(table["keys"]): " ".join(names), "": what}
            for k, column in enumerate(table["columns"]):
                value, likely = form[what][i][k], table["taken_for"].get(column)
                head = f"{column} (is {likely})" if likely else column
                row[head] = NOTHING if value is None else f"{value:.{form['places'][k]}f}"
            yield row


def _chart(id: str, heading: str, table: dict[str, Any]) -> Chart | None:
    """The last column as dots, since it is the one that sums a row up; nothing where it was not measured."""
    last = [cell for cell in cells(table) if cell["column"] == table["columns"][-1]]
    if all(cell["measured"] is None for cell in last):
        return None
    rows = [
        {"row": " ".join(cell[key] for key in table["keys"]), "what": what, "value": cell[what], "marked": True}
        for cell in last
        for what in ("published", "measured")
        if cell[what] is not None
    ]
    column = table["columns"][-1]
    return Chart(
        id,
        f"{heading}: {column}",
        "A line for each row of the table, a dot for what was published and one for what was measured.",
        f"Measured and published numbers of the column {column}.",
        dots(rows, label="row", title=column, order=[row["row"] for row in rows], colour="what"),
        rows,
    )


def _numbers(paper: str, tables: list[dict[str, Any]]) -> Iterator[Number]:
    """How alike the order of the rows is in the last column of each table."""
    for table in tables:
        form = table["forms"][0]
        value = form["rank_correlation_over_rows"][-1]
        if value is not None:
            column = f"{table['columns'][-1]}, {form['form']}" if form["form"] else table["columns"][-1]
            yield Number(
                name(paper, table["table"]),
                correlation(value),
                "",
                f"rank correlation over {len(table['rows'])} rows ({column})",
            )
