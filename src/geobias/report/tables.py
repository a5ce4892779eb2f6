"""Tables: on the terminal, and as CSV files that a spreadsheet can open safely."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from geobias.errors import InputError
from geobias.measures.estimates import SIGNIFICANT, Estimate

if TYPE_CHECKING:
    from geobias.report.results import HasInterval

NOTHING = "–"
TOO_FEW = "too few"  # texts: `FEWEST_TEXTS_SHOWN`
MARKED_COLUMN = "{} marked (adjusted p < 0.05)"


class QuietConsole(Console):
    """A terminal whose reader may leave early (`| head`): the results are saved, so that is no failure."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0)


def console() -> Console:
    return QuietConsole(highlight=False, markup=False, emoji=False)  # a user's [text] :here: is shown as it is


def print_json(content: Mapping[str, Any]) -> None:
    """On standard output, as files hold it."""
    print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Rows as CSV, under `columns` and whatever else they hold; an absent value is an empty cell.

    Text that a spreadsheet would run is made plain text.
    """
    rows = list(rows)
    columns = list(dict.fromkeys([*columns, *(key for row in rows for key in row)]))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain_cell(row.get(column)) for column in columns] for row in rows)
    return out.getvalue()


def _plain_cell(value: Any) -> Any:
    is_formula = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if is_formula else value


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    path.write_text(csv_text(rows, columns), encoding="utf-8")


def titled_table(title: str, words: Sequence[str] = (), numbers: Sequence[str] = ()) -> Table:
    """A table with columns of words, which a narrow terminal folds, then columns of numbers, which are never cut."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in words:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def digits(value: float | None, factor: float = 1.0) -> str:
    """Four digits after the point, more for what is small; "no data" where there is no pair."""
    if value is None:
        return "no data"
    scaled = value * factor
    return f"{scaled:.4f}" if scaled == 0 or abs(scaled) >= 0.001 else f"{scaled:.3g}"


def marked(text: str, estimate: Estimate) -> str:
    """With a star where the adjusted p-value is small; without, a blank keeps the digits in line."""
    return text + ("*" if is_marked(estimate) else " ")


def is_marked(estimate: Estimate) -> bool:
    return estimate.p_adjusted is not None and estimate.p_adjusted < SIGNIFICANT


def format_places(value: float | None, places: int) -> str:
    """With so many digits after the point; a dash where there is none."""
    return NOTHING if value is None else f"{value:.{places}f}"


def interval(estimate: HasInterval, places: int) -> str:
    """The interval with signs; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{signed(estimate.low, places)} to {signed(estimate.high, places)}"


def format_interval(estimate: HasInterval, form: str) -> str:
    """The interval in a format like .3f; a dash where there is none."""
    if estimate.low is None or estimate.high is None:
        return NOTHING
    return f"{estimate.low:{form}} to {estimate.high:{form}}"


def signed(value: float | None, places: int, nothing: str = NOTHING) -> str:
    """With its sign; what rounds to zero has none."""
    if value is None:
        return nothing
    rounded = round(value, places)
    return f"{rounded:+.{places}f}" if rounded else f"{0:.{places}f}"


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


if TYPE_CHECKING:
    import pyarrow

    from geobias.report.results import HasInterval


def read_columns(path: Path, columns: Sequence[str]) -> pyarrow.Table:
    """Some columns of a file; InputError where it is missing, damaged, or of another run."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise damaged(path) from error
    if set(table.column_names) != set(columns):  # pyarrow passes over absent columns in silence
        raise damaged(path)
    return table


def column_values(table: pyarrow.Table, columns: Sequence[str]) -> np.ndarray:
    """rows x columns."""
    return np.column_stack([table[column].to_numpy() for column in columns]).astype(float)


def damaged(path: Path) -> InputError:
    return InputError(f"{path} is missing, damaged or of another run. Run the audit again with --out {path.parent}.")
