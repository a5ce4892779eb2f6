"""A comparison of runs as a person sees it: the files of its folder, and its tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Table

from geobias.audits.compare.design import CompareResult, Comparison
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.paired_differences import FEWEST_TEXTS
from geobias.report.tables import is_marked, signed, titled_table, write_csv

MOST_ROWS = 24  # of more the terminal shows those that chance explains least; the files have all
HIDDEN = "originals"  # what any renaming or prefix does, model by model: in the files only
ESTIMATE = ("low", "high", "p", "p_adjusted")

Row = dict[str, Any]


def write_files(folder: Path, result: CompareResult) -> None:
    write_csv(folder / "tables" / "compare.csv", compare_rows(result))


def compare_rows(result: CompareResult) -> Iterator[Row]:
    """tables/compare.csv: results.json's rows."""
    for comparison in result.comparisons:
        for row in comparison.rows:
            yield {
                "first_run": comparison.first,
                "second_run": comparison.second,
                "first_model": row["models"][0],
                "second_model": row["models"][1],
                **{key: row[key] for key in ("measure", "against", "label", "id", "name", "first", "second")},
                "difference": row["difference"]["value"],
                **{key: row["difference"][key] for key in ESTIMATE},
            }


def tables(comparison: Comparison) -> Iterator[Table]:
    """A table for each pair of models and measure."""
    shown = [row for row in comparison.rows if row["against"] != HIDDEN]
    for (models, measure), group in groupby(shown, key=lambda row: (row["models"], row["measure"])):
        rows = list(group)
        places = 4 if abs(max((row["first"] or 0 for row in rows), key=abs)) < 1 else 2
        table = titled_table(
            f"{called(models, comparison.first, comparison.second)}: {measure} against {rows[0]['against']}"
        )
        table.add_column("place", overflow="fold")
        if rows[0]["label"] is not None:
            table.add_column("class", overflow="fold")
        for heading in ("first", "second", "difference", "95 % interval"):
            table.add_column(heading, justify="right", no_wrap=True, style="bold" if heading == "difference" else "")
        table.add_column("")
        for row in most_certain(rows):
            named = [row["name"]] + ([] if row["label"] is None else [row["label"]])
            table.add_row(*named, *_cells(row, places))
        yield table


def notes(comparison: Comparison) -> Iterator[str]:
    """How much is marked, of how much; what is not shown, and who was left out."""
    shown = [row for row in comparison.rows if row["against"] != HIDDEN]
    marked = sum(is_marked(row["difference"]) for row in shown)
    unknown = sum(row["difference"]["value"] is None for row in shown)
    yield f"Marked *: {marked:,} of {len(shown) - unknown:,} differences (adjusted p below {SIGNIFICANT})."
    if unknown:
        yield f"Without a difference, since a run predicts the class in fewer than {FEWEST_TEXTS} texts: {unknown:,}."
    if comparison.left_out:
        yield f"Classifiers that only one of the runs has, left out: {', '.join(comparison.left_out)}."


def called(models: list[str], first_run: str, second_run: str) -> str:
    """The models, second against first; the runs where one model was asked twice."""
    first, second = models if models[0] != models[1] else (first_run, second_run)
    about = f"{models[0]}, " if models[0] == models[1] else ""
    return f"{about}{second} minus {first}"


def most_certain(rows: list[Row]) -> list[Row]:
    """All of them, or, where they are many, those that chance explains least."""
    if len(rows) <= MOST_ROWS:
        return rows
    known = [row for row in rows if row["difference"]["value"] is not None]
    return sorted(known, key=lambda row: (row["difference"]["p"], -abs(row["difference"]["value"])))[:MOST_ROWS]


def _cells(row: Row, places: int) -> list[str]:
    found = row["difference"]
    interval = "" if found["low"] is None else f"{signed(found['low'], places)} to {signed(found['high'], places)}"
    values = (row["first"], row["second"], found["value"])
    return [*(signed(value, places) for value in values), interval, "*" if is_marked(found) else ""]
