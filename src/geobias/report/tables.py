"""Tables: on the terminal, and as CSV files that a spreadsheet can open safely."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from geobias.files import write_whole, writing
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.report.results import AuditResult

NO_DATA = "no data"
NOTHING = "–"
MARKED_COLUMN = "{} marked (adjusted p < 0.05)"


class Bounded(Protocol):
    """Anything with an interval."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


class QuietConsole(Console):
    """A terminal whose reader may leave early (`| head`): the results are saved, so that is no failure."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0)


def console() -> Console:
    return QuietConsole(highlight=False, markup=False, emoji=False)  # a user's [text] :here: is shown as it is


def show_tables(tables: Iterable[Table], notes: Iterable[str], closing: Sequence[str], files: str) -> None:
    """A result as every audit ends: its tables, notes, what the numbers mean, and where the files are."""
    out = console()
    for table in tables:
        out.print(table)
    for note in notes:
        out.print(note)
    out.print()
    for line in closing:
        out.print(line, style="dim")
    out.print(files, soft_wrap=True)


def print_json(result: AuditResult) -> None:
    """The content of results.json on standard output."""
    print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Rows as CSV, under `columns` and whatever else they hold; an absent value is an empty cell.

    Text that a spreadsheet would run is made plain text.
    """
    rows = list(rows)
    out = io.StringIO()
    columns = list(dict.fromkeys([*columns, *(key for row in rows for key in row)]))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return out.getvalue()


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    path.write_text(csv_text(rows, columns), encoding="utf-8")


def save_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """A table that joins a finished run: whole or not at all."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, csv_text(rows).encode())


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def titled_table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))


def digits(value: float | None, factor: float = 1.0) -> str:
    """Four digits after the point, more for what is small; "no data" where there is no pair."""
    if value is None:
        return NO_DATA
    scaled = value * factor
    return f"{scaled:.4f}" if scaled == 0 or abs(scaled) >= 0.001 else f"{scaled:.3g}"


def marked(text: str, estimate: Estimate) -> str:
    """With a star where the adjusted p-value is small; without, a blank keeps the digits in line."""
    return f"{text}*" if is_marked(estimate) else f"{text} "


def is_marked(estimate: Estimate) -> bool:
    return estimate.p_adjusted is not None and estimate.p_adjusted < SIGNIFICANT


def interval(estimate: Bounded, places: int) -> str:
    """The interval with signs; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{signed(estimate.low, places)} to {signed(estimate.high, places)}"


def format_interval(bounds: Bounded, form: str) -> str:
    """The interval in a format like .3f; a dash where there is none."""
    if bounds.low is None or bounds.high is None:
        return NOTHING
    return f"{bounds.low:{form}} to {bounds.high:{form}}"


def signed(value: float | None, places: int, nothing: str = NOTHING) -> str:
    """With its sign; what rounds to zero has none."""
    if value is None:
        return nothing
    rounded = round(value, places)
    return f"{rounded:+.{places}f}" if rounded else f"{0:.{places}f}"


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
