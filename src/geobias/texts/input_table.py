"""A user's data as a table of named columns, from a file or from memory, every value as it stands.

This module knows formats; `user_texts.py` knows what the columns mean. polars and Hugging Face datasets are not
dependencies: their data are recognised by their methods.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobias.checks import find_unusable_character, shorten
from geobias.delimited import parse_rows
from geobias.errors import InputError
from geobias.files import decode_text, read_bytes


@dataclass(frozen=True)
class InputTable:
    """Columns by name; without names there are only texts, which any name returns."""

    source: str  # for settings: the path, or the kind of data
    title: str  # for messages: how a sentence about it begins
    names: tuple[str, ...] | None
    column: Callable[[str], list[Any]]

    def __post_init__(self) -> None:
        for number, name in enumerate(self.names or (), 1):
            problem = find_unusable_character(name)
            if problem:
                raise InputError(f"{self.title}: column {number} ({shorten(name)!r}) has {problem}: rename it.")
        for name, count in Counter(self.names).items():
            if count > 1 and name:  # spreadsheets leave columns without a name
                raise InputError(f"{self.title} has {count} columns named {shorten(name)!r}: rename all but one.")


def read_table(source: Any) -> InputTable:
    """The table in a file (its suffix tells the format) or in memory."""
    if isinstance(source, str | os.PathLike):
        return _from_file(Path(source))
    return _from_memory(source)


def _from_file(path: Path) -> InputTable:
    title = f"The text file {path}"
    name = path.name.lower()
    packed = name.endswith(".gz")
    kind = Path(name.removesuffix(".gz")).suffix
    if kind == ".parquet":
        if packed:
            raise InputError(f"{title} is a packed Parquet file: unpack it with gunzip and give the .parquet file.")
        return _parquet(_content(path, title), str(path), title)
    text = decode_text(_content(path, title, packed), title)
    if kind in (".csv", ".tsv"):
        header, *rows = (cells for _, cells in parse_rows(text, title, "," if kind == ".csv" else "\t"))
        names = tuple(cell.strip() for cell in header)
        return InputTable(str(path), title, names, lambda name: [row[names.index(name)] for row in rows])
    # Lines end at a line feed only: other marks that Python takes for line ends may stand inside a text.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if kind in (".jsonl", ".ndjson", ".json"):
        return _records(_objects(lines, title), str(path), title)
    return InputTable(str(path), title, None, lambda _: list(lines))


def _content(path: Path, title: str, packed: bool = False) -> bytes:
    content = read_bytes(path, title)
    if packed and content:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{title} is damaged or not packed by gzip ({error}): pack or fetch it again.") from None
    if not content.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError(f"{title} is empty.")
    return content


def _objects(lines: list[str], title: str) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{title} has no JSON in line {number} ({error}): each line must be one object.") from None
        if not isinstance(row, dict):
            raise InputError(
                f"{title} has no object in line {number}: each line must be one, such as " + '{"text": "..."}.'
            )
        rows.append(row)
    return rows


def _parquet(content: bytes, source: str, title: str) -> InputTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(pa.BufferReader(content)).read()
        table.validate(full=True)  # finds strings that are not UTF-8 before they are met
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise InputError(f"{title} is no Parquet file or a damaged one ({reason}): write it again.") from None

    def column(name: str) -> list[Any]:
        try:
            return list(table[name].to_pylist())
        except (pa.ArrowException, ValueError, OverflowError, KeyError) as error:  # a date beyond Python's, for example
            raise InputError(f"{title}: column {shorten(name)!r} cannot be read ({error}): write it as text.") from None

    return InputTable(source, title, tuple(table.column_names), column)


def _from_memory(data: Any) -> InputTable:
    source = f"the {type(data).__name__} given"
    title = source[0].upper() + source[1:]
    if hasattr(data, "__len__") and not isinstance(data, bytes | bytearray):
        names = data.column_names if hasattr(data, "column_names") else getattr(data, "columns", None)
        if isinstance(names, Mapping):
            raise InputError(f"{title} has several splits ({', '.join(names)}): give one of them.")
        if names is not None:
            keys = {str(name): name for name in names}  # pandas names columns by numbers too
            return InputTable(source, title, tuple(map(str, names)), lambda name: _values(data[keys[name]]))
        if isinstance(data, Sequence) or hasattr(data, "tolist") or hasattr(data, "to_list"):
            values = _values(data)
            if values and isinstance(values[0], Mapping):
                for number, row in enumerate(values, 1):
                    if not isinstance(row, Mapping):
                        raise InputError(f"{title} has no dict in row {number}: every row must be one.")
                return _records(values, source, title)
            return InputTable(source, title, None, lambda _: values)
    raise InputError(f"{title} cannot be read: give a path, a list of texts or of dicts, a DataFrame or a Dataset.")


def _records(rows: Sequence[Mapping[str, Any]], source: str, title: str) -> InputTable:
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return InputTable(source, title, tuple(names), lambda name: [row.get(name) for row in rows])


def _values(column: Any) -> list[Any]:
    if hasattr(column, "isna"):  # pandas says in several ways that nothing is there
        return [
            None if is_missing else value
            for value, is_missing in zip(column.tolist(), column.isna().tolist(), strict=True)
        ]
    for method in ("to_list", "to_pylist", "tolist"):  # polars, pyarrow, NumPy
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)
