"""Measured beside published: terminal tables and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from geobias.audits.reproduce.result import Form, Reproduced, ReproduceResult
from geobias.report.tables import NOTHING, titled_table, write_csv

RANKS = "rank corr."  # Spearman's, measured against published
HEAD = "published,\n  measured"
EDGES = 2  # of a terminal table
FORM_TITLES = {"": "", "balanced": "balanced", "paper": "the paper's form, x 1000"}


def name(paper: str, number: str) -> str:
    return f"{'HERB' if paper == 'herb' else 'Names'}, Table {number}"


def file_name(paper: str, number: str) -> str:
    return f"reproduce-{paper}-{number}.csv"


def write_files(folder: Path, result: ReproduceResult) -> None:
    """A CSV file for each table: a line for each of its numbers, in each of its forms."""
    for table in result.tables:
        write_csv(folder / "tables" / file_name(table.table.paper, table.table.number), list(cells(table.to_dict())))


def cells(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every number of a table, as results.json has it."""
    for form in table["forms"]:
        for i, names in enumerate(table["rows"]):
            for k, column in enumerate(table["columns"]):
                yield {
                    **dict(zip(table["keys"], names, strict=True)),
                    "column": column,
                    "taken_for": table["taken_for"].get(column, column),
                    "form": form["form"],
                    "published": form["published"][i][k],
                    "measured": form["measured"][i][k],
                }


def title(paper: str, number: str, about: str, form: str) -> str:
    return "; ".join(filter(None, (f"{name(paper, number)}: {about}", FORM_TITLES[form])))


def tables(result: ReproduceResult, *, width: int) -> Iterator[tuple[list[Table], tuple[str, ...]]]:
    """For each published table its terminal tables and its notes.

    No number is cut: columns that do not fit go into a further table below.
    """
    for one in result.tables:
        yield [table for form in one.forms for table in _tables(one, form, width)], one.notes


def _tables(one: Reproduced, form: Form, width: int) -> Iterator[Table]:
    heading = title(one.table.paper, one.table.number, one.table.title, form.name)
    names, *columns = _columns(one, form)
    for n, group in enumerate(_groups(columns, width - EDGES - _width(names))):
        table = titled_table(f"{heading}; further columns" if n else heading)
        table.padding = 0
        for k, column in enumerate([names, *group]):
            table.add_column(column[0], no_wrap=True, justify="right" if k else "left")
        *pairs, ranks = list(zip(names, *group, strict=True))[1:]
        for published, measured in zip(pairs[::2], pairs[1::2], strict=True):
            table.add_row(*published)
            if one.is_measured:
                table.add_row(*measured, style="bold")
        if one.is_measured:
            table.add_section()
            table.add_row(*ranks)
        yield table


def _columns(one: Reproduced, form: Form) -> Iterator[list[str]]:
    """The names, then every column: a head, two lines for each row (published, measured), and the rank correlation."""
    names = [HEAD if one.is_measured else "published"]
    for of_row, found in zip(one.table.rows, form.measured, strict=True):
        state = "not available" if np.isnan(found).all() else "measured"
        names += [of_row[0], "  " + ", ".join((*of_row[1:], state))]
    yield [*names, RANKS]
    for k, rank in enumerate(form.over_rows()):
        values = np.column_stack([form.published[:, k], form.measured[:, k]]).ravel()
        yield [_heading(one, k), *(_shown(value, form.places[k]) for value in values), correlation(rank)]
    if one.ranked and one.is_measured:
        ranks = map(correlation, form.over_columns(one.ranked_columns))
        yield [RANKS.replace(" ", "\n"), *(cell for rank in ranks for cell in ("", rank)), ""]


def _width(column: Sequence[str]) -> int:
    return max(len(line) for cell in column for line in cell.split("\n"))


def _groups(columns: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Columns in as few tables as they fit into."""
    group: list[list[str]] = []
    for column in columns:
        if group and sum(_width(one) + 1 for one in (*group, column)) > room:
            yield group
            group = []
        group.append(column)
    yield group


def _heading(one: Reproduced, column: int) -> str:
    """A column whose label is likely wrong says what it is taken for; long names are broken."""
    printed = one.table.columns[column]
    if printed in one.taken_for:
        return f"{printed}\nis {one.taken_for[printed]}"
    return printed.replace("_", "\n")


def _shown(value: float, places: int) -> str:
    return NOTHING if np.isnan(value) else f"{value:.{places}f}"


def correlation(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.2f}"
