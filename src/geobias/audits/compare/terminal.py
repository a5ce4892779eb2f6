"""What `geobias compare` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.table import Table

from geobias.audits.compare.differences import Comparison, Difference
from geobias.audits.compare.result import CompareResult
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.paired_differences import FEWEST_TEXTS
from geobias.report.runs import shown
from geobias.report.tables import console, interval, is_marked, signed, titled_table

MOST_ROWS = 24  # of more the terminal shows those with the smallest p-values; the files have all
HIDDEN = "originals"  # what any renaming or prefix does, model by model: in the files only
MEANING = (
    "Each difference is the second run minus the first, on the same texts and names or the same words, which are "
    "resampled together; the interval is a 95 % one. p is adjusted (Benjamini and Hochberg) within one measure, over "
    f"places and classes. Of more than {MOST_ROWS} rows those with the smallest p are shown. It speaks of models, not "
    "of people."
)


def show(result: CompareResult, folder: Path) -> None:
    out = console()
    for comparison in result.comparisons:
        for table in tables(comparison):
            out.print(table)
        for note in notes(comparison):
            out.print(note)
        out.print()
    out.print(MEANING, style="dim")
    out.print(f"Every difference: tables/compare.csv.\nResults: {shown(folder)}", soft_wrap=True)


def shown_rows(comparison: Comparison) -> list[Difference]:
    """The rows that the terminal and the page show."""
    return [row for row in comparison.rows if row.against != HIDDEN]


def tables(comparison: Comparison) -> Iterator[Table]:
    """A table for each pair of models and measure."""
    for (models, measure), group in groupby(shown_rows(comparison), key=lambda row: (row.models, row.measure)):
        rows = list(group)
        digits = 4 if abs(max((row.first or 0 for row in rows), key=abs)) < 1 else 2
        table = titled_table(
            f"{describe_pair(models, comparison.first, comparison.second)}: {measure} against {rows[0].against}"
        )
        table.add_column("place", overflow="fold")
        if rows[0].label is not None:
            table.add_column("class", overflow="fold")
        for heading in ("first", "second", "difference", "95 % interval"):
            table.add_column(heading, justify="right", no_wrap=True, style="bold" if heading == "difference" else "")
        table.add_column("")
        for row in most_certain(rows):
            labels = [] if row.label is None else [row.label]
            values = (signed(value, digits) for value in (row.first, row.second, row.difference.value))
            mark = "*" if is_marked(row.difference) else ""
            table.add_row(row.name, *labels, *values, interval(row.difference, digits), mark)
        yield table


def notes(comparison: Comparison) -> Iterator[str]:
    """How much is marked, of how much; what is not shown, and what was left out."""
    rows = shown_rows(comparison)
    marked = sum(is_marked(row.difference) for row in rows)
    unknown = sum(row.difference.value is None for row in rows)
    yield f"Marked *: {marked:,} of {len(rows) - unknown:,} differences (adjusted p below {SIGNIFICANT})."
    if unknown:
        yield f"Without a difference, since a run predicts the class in fewer than {FEWEST_TEXTS} texts: {unknown:,}."
    if comparison.left_out:
        yield f"Classifiers that only one of the runs has, left out: {', '.join(comparison.left_out)}."


def describe_pair(models: Sequence[str], first_run: str, second_run: str) -> str:
    """The models, second minus first; the runs where one model was asked twice."""
    first, second = models if models[0] != models[1] else (first_run, second_run)
    model = f"{models[0]}, " if models[0] == models[1] else ""
    return f"{model}{second} minus {first}"


def most_certain(rows: list[Difference]) -> list[Difference]:
    """All of them, or, where they are many, those with the smallest p-values."""
    if len(rows) <= MOST_ROWS:
        return rows
    known = [row for row in rows if row.difference.value is not None]
    return sorted(known, key=lambda row: (row.difference.p, -abs(row.difference.value or 0)))[:MOST_ROWS]
