"""Tables in text form (CSV, TSV): one way to read them, whichever file they come from.

Quoting is strict, cells may be of any length, and all rows are as long as the header. Every refusal names the line.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from geobias.checks import shorten
from geobias.errors import InputError

LARGEST_CELL = 2**31 - 1  # what a C long holds on every system; the csv module's own limit is 131,072 characters
DELIMITERS = ",;\t"
ROWS_TO_SNIFF = 50

Row = tuple[int, list[str]]  # the line where the row begins, and its cells


def parse_rows(text: str, title: str, delimiter: str, *, pad: bool = False) -> list[Row]:
    """Split a table into rows, the header first.

    `title` begins every error, such as "The word file words.csv". Blank lines are skipped, but for those of a table
    with a single column, where they are rows. With `pad`, short rows end in empty cells.
    """
    _refuse_nul(text, title)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    line = 1
    limit = csv.field_size_limit(LARGEST_CELL)
    try:
        for cells in reader:
            width = len(rows[0][1]) if rows else 0
            is_blank = not cells or (len(cells) == 1 and width != 1 and not cells[0].strip())
            if pad:
                cells += [""] * (width - len(cells))
            if not is_blank and rows and len(cells) != width:
                remedy = "Quote cells that contain the separator" if len(cells) > width else "Add the missing cells"
                raise InputError(
                    f"{title} has {len(cells)} cell(s) in line {line} but {width} in the header. {remedy}."
                )
            if not is_blank:
                rows.append((line, cells))
            line = reader.line_num + 1  # a row may span several lines, and its first one is where to look
    except csv.Error as error:
        raise InputError(
            f"{title} has broken quoting in the row that starts in line {line} ({error}). Quote the whole cell and "
            "double the quotes inside it."
        ) from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise InputError(f"{title} is empty.")
    return rows


def parse_named_rows(text: str, title: str, required: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Read a table of names: the line number and {column: cell} of every row that is not blank.

    The separator is a comma, a semicolon or a tab. Columns are matched without regard to case; spaces around cells are
    dropped. A table that lacks one of the `required` columns is refused.
    """
    delimiter = find_delimiter(text, required)
    if delimiter is None:
        first = first_line(text)
        header = _header(first, max(DELIMITERS, key=first.count))
        missing = ", ".join(column for column in required if column not in header)
        raise InputError(
            f"{title} has no column {missing}. Its first line must be '{','.join(required)}', separated by commas, "
            f"semicolons or tabs, not {shorten(first)!r}."
        )
    (_, names), *rows = parse_rows(text, title, delimiter, pad=True)
    columns = [name.strip().lower() for name in names]
    for column, count in Counter(columns).items():
        if count > 1 and column:
            raise InputError(f"{title} has {count} columns named {shorten(column)!r}: rename all but one.")
    return [
        (line, dict(zip(columns, map(str.strip, cells), strict=True)))
        for line, cells in rows
        if any(map(str.strip, cells))
    ]


def parse_lines(text: str, title: str) -> list[tuple[int, str]]:
    """Line number and content of every line that is not blank, without spaces at its ends."""
    _refuse_nul(text, title)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # as the csv module ends them, and no others
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]


def find_delimiter(text: str, required: Sequence[str]) -> str | None:
    """The separator by which the first line names all required columns; None if there is none."""
    first = first_line(text)
    return next((mark for mark in DELIMITERS if set(required) <= set(_header(first, mark))), None)


def sniff_delimiter(text: str) -> str:
    """The separator of a table with unknown columns: comma, semicolon or tab.

    It splits the header into two cells or more, and, if several do, the first rows into as many as the header; then
    the one with the most cells. A comma where the header is one cell.
    """
    widths = {mark: _row_widths(text, mark) for mark in DELIMITERS}
    several = [mark for mark in DELIMITERS if widths[mark][:1] > [1]]
    return max(several, key=lambda mark: (len(set(widths[mark])) == 1, widths[mark][0]), default=",")


def _row_widths(text: str, delimiter: str) -> list[int]:
    """The numbers of cells in the first rows that are not blank; they end with 0 where the quoting is broken."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    widths: list[int] = []
    try:
        widths.extend(len(cells) for cells in islice(filter(any, reader), ROWS_TO_SNIFF))
    except csv.Error:
        widths.append(0)
    return widths


def first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((line for line in io.StringIO(text, newline=None) if line.strip()), "").strip("\n")


def _header(line: str, delimiter: str) -> list[str]:
    """The column names in a line; none where it is longer than any header."""
    try:
        return [cell.strip().lower() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _refuse_nul(text: str, title: str) -> None:
    position = text.find("\0")
    if position >= 0:
        line = text.count("\n", 0, position) + 1
        raise InputError(
            f"{title} has a NUL character in line {line}: it is damaged or not UTF-8 text. Save it again as UTF-8."
        )
