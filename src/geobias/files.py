"""Reading and writing files: whole or not at all, and every failure one sentence.

A `DiskArray` is written piece by piece: in memory while it is small, then in a temporary file. Tables in text form
(CSV, TSV) are read in one way: quoting is strict, rows are as long as the header, and every refusal names the line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import mmap
import os
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import platformdirs

from geobias.checks import shorten
from geobias.errors import InputError

if TYPE_CHECKING:
    import numpy as np

LARGEST_IN_MEMORY = 2**26  # bytes of an array


def cache_folder() -> Path:
    """Where everything is kept: `GEOBIAS_CACHE`, or the user's cache folder."""
    return Path(os.environ.get("GEOBIAS_CACHE") or platformdirs.user_cache_path("geobias")).expanduser()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file and the remedy when writing fails: a full disk, a folder without permission."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"Cannot write {path}: {error.strerror or error}. Free disk space, or choose another folder with --out or "
            "GEOBIAS_CACHE."
        ) from error


def read_text(path: Path, what: str) -> str:
    """Read a user's UTF-8 file; every way it can be unreadable is one sentence."""
    title = f"The {what} {path}"
    return decode_text(read_bytes(path, title), title)


def read_bytes(path: Path, title: str) -> bytes:
    """Read a user's file. `title` begins every error, such as "The word file words.csv"."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{title} does not exist. Check the path.") from None
    except OSError as error:
        raise InputError(f"{title} cannot be read: {error.strerror or error}.") from None


def hash_file(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def decode_text(content: bytes, title: str) -> str:
    """The text in a user's file, without its byte order mark; what is not UTF-8, or blank, is refused."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{title} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from None
    if not text.strip():
        raise InputError(f"{title} is empty.")
    return text


TEMPORARY_FILE = re.compile(r"\.geobias-[0-9a-f]{32}\.tmp")  # a file on its way; what a kill leaves behind


def write_whole(path: Path, content: bytes) -> None:
    """Write the whole file under its name, or nothing: never a part, never over another process's temporary file."""
    temporary = path.with_name(f".geobias-{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def save_file(path: Path, content: bytes) -> None:
    """`write_whole`, in a folder that may not be there yet; a failure names the file and the remedy."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def remove_temporary_files(folder: Path, *, older_than: float = 0.0) -> None:
    """Delete what killed processes left of files on their way, if it is so many seconds old.

    With 0, nobody else may be writing this folder.
    """
    for file in folder.iterdir() if folder.is_dir() else ():
        if TEMPORARY_FILE.fullmatch(file.name) and time.time() - file.stat().st_mtime >= older_than:
            file.unlink()


def check_replaceable(path: Path, is_ours: Callable[[str], bool]) -> None:
    """Refuse to replace a file whose content is not what geobias writes; `is_ours` knows the content by its form."""
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise InputError(f"{path} is not a file. Choose another name.")
    with suppress(OSError, ValueError):
        content = path.read_text(encoding="utf-8")
        if not content or is_ours(content):
            return
    raise InputError(f"{path} exists and was not written by geobias. Choose another name, or move the file.")


class DiskArray:
    """Rows of an array, appended in their order. The temporary file has no name."""

    def __init__(self, dtype: Any, row_shape: Sequence[int] = ()) -> None:
        import numpy as np

        self.dtype, self.row_shape = np.dtype(dtype), tuple(row_shape)
        self._pieces: list[np.ndarray] = [np.empty((0, *self.row_shape), self.dtype)]
        self._bytes = 0
        self._file: IO[bytes] | None = None

    def append(self, rows: np.ndarray) -> None:
        import numpy as np

        self._pieces.append(np.ascontiguousarray(rows, self.dtype))
        self._bytes += self._pieces[-1].nbytes
        if self._bytes > LARGEST_IN_MEMORY:
            with writing(cache_folder()):
                self._file = self._file or _open_temporary_file()
                for piece in self._pieces:
                    unwritten = piece.reshape(-1).view(np.uint8).data
                    while len(unwritten):
                        unwritten = unwritten[self._file.write(unwritten) :]
            self._pieces.clear()

    def finish(self) -> np.ndarray:
        """Return all rows; from a file, as an array that is read from disk when it is used."""
        import numpy as np

        if self._file is None:
            return np.concatenate(self._pieces)
        with writing(cache_folder()), self._file as file:
            return np.memmap(file, self.dtype, mode="r").reshape(-1, *self.row_shape)


def _open_temporary_file() -> IO[bytes]:
    """In the cache folder, or where the system has its temporary files if that cannot be written.

    Nothing is buffered: a full disk is noticed by the write, not when the file is closed.
    """
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        return TemporaryFile(dir=cache_folder(), buffering=0)
    return TemporaryFile(buffering=0)


def read_block(array: np.ndarray, rows: slice) -> np.ndarray:
    """Some rows of an array; of one on disk, a copy, and what this process holds in memory of it is dropped."""
    import numpy as np

    mapping = getattr(array, "_mmap", None)
    if mapping is None:
        return array[rows]
    block = np.array(array[rows])
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
    return block


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
