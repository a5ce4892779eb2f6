"""A user's data as a table of named columns, from a file or from memory, every value as it stands.

This module knows formats; `user_texts.py` knows what the columns mean. polars and Hugging Face datasets are not
dependencies: their data are recognised by their methods.

**From the Hugging Face Hub**: files by `hf://` paths, and datasets by name.

    hf://datasets/OWNER/NAME/path/to/file.parquet     one file; @REVISION may follow NAME, also @refs/pr/1
    datasets:OWNER/NAME:test                          a split of a dataset, read by the package datasets

A dataset may also be a folder on this machine: one that `Dataset.save_to_disk` wrote, or one of data files.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geobias.checks import need, shorten
from geobias.errors import InputError
from geobias.files import decode_text, parse_rows, read_bytes, sniff_delimiter

HUB_PATH, DATASET = "hf://", "datasets:"
_HUB_FILE = re.compile(r"hf://datasets/([^/@]+/[^/@]+)(?:@(refs/[^/]+/[^/]+|(?!refs/)[^/]+))?/(.+)")


def is_hub_name(source: object) -> bool:
    """Whether texts are named by an `hf://` path or as `datasets:NAME`."""
    return isinstance(source, str) and source.startswith((HUB_PATH, DATASET))


def fetch_hub_file(path: str) -> Path:
    """The local copy of the file at an `hf://` path; it is downloaded unless the cache of the Hub has it."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    match = _HUB_FILE.fullmatch(path)
    if match is None:
        raise InputError(f"{path} is not a file of a dataset. Write hf://datasets/OWNER/NAME/FILE.")
    name, revision, file = match.groups()
    try:
        return Path(hf_hub_download(name, file, repo_type="dataset", revision=revision))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise InputError(
            f"Cannot read {path} ({_shorten(error)}). Check the path, the network and your login."
        ) from None


def load_hub_dataset(name: str) -> Any:
    """A split of a dataset: `datasets:NAME`, or `datasets:NAME:SPLIT` where it has several."""
    need("datasets", extra="datasets", user=name)
    import datasets

    path, _, split = name.removeprefix(DATASET).partition(":")
    try:
        if os.path.isdir(path) and any(Path(path, file).is_file() for file in ("state.json", "dataset_dict.json")):
            dataset = datasets.load_from_disk(path)
        else:
            dataset = datasets.load_dataset(path)
    except Exception as error:  # the package raises errors of every kind
        raise InputError(
            f"Cannot read {name} ({_shorten(error)}). Check the name, the network and your login."
        ) from None
    if not isinstance(dataset, dict):
        if split:
            raise InputError(f"{name} has no splits. Write {DATASET}{path}.")
        return dataset
    splits = list(dataset)
    if not split and len(splits) == 1:
        split = splits[0]
    if split not in dataset:
        raise InputError(f"{name} has the splits {', '.join(splits)}. Choose one: {DATASET}{path}:{splits[0]}.")
    return dataset[split]


def _shorten(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


_SPREADSHEET = "a spreadsheet. Save it as CSV, or pass pandas.read_excel(path) in Python"
_DOCUMENT = "a document. Copy its texts into a CSV file, or into a text file with one text per line"
_ARCHIVE = "an archive. Extract it and pass one of its files"
OTHER_FORMATS = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), _SPREADSHEET),
    **dict.fromkeys((".docx", ".doc", ".odt", ".pdf", ".rtf"), _DOCUMENT),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z"), _ARCHIVE),
    **dict.fromkeys((".pkl", ".pickle"), "a pickle, which can run any code. Save it as CSV or Parquet"),
}


@dataclass(frozen=True)
class InputTable:
    """Columns by name; without names there are only texts, which any name returns."""

    source: str  # for settings: the path, or the kind of data
    title: str  # for messages: how a sentence about it begins
    names: tuple[str, ...] | None
    column: Callable[[str], list[Any]]

    def __post_init__(self) -> None:
        for name, count in Counter(self.names).items():
            if count > 1 and name:  # spreadsheets leave columns without a name
                raise InputError(f"{self.title} has {count} columns named {shorten(name)!r}: rename all but one.")


def read_table(source: Any) -> InputTable:
    """The table in a file (its suffix tells the format) or in memory."""
    if is_hub_name(source):
        return _from_hub(source)
    if not isinstance(source, str | os.PathLike):
        return _from_memory(source)
    path = Path(source)
    title = f"The text file {path}"
    packed = path.name.lower().endswith(".gz")
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind in OTHER_FORMATS:
        raise InputError(f"{title} is {OTHER_FORMATS[kind]}.")
    content = _content(path, title, packed)
    if kind == ".parquet":
        return _parquet(content, str(path), title)
    text = decode_text(content, title)
    if kind in (".csv", ".tsv"):
        delimiter = "\t" if kind == ".tsv" else sniff_delimiter(text)
        header, *rows = (cells for _, cells in parse_rows(text, title, delimiter))
        names = tuple(cell.strip() for cell in header)
        return InputTable(str(path), title, names, lambda name: [row[names.index(name)] for row in rows])
    if kind == ".json" and text.lstrip().startswith("["):
        return _from_list(_parse_json(text, title), str(path), title)
    # Lines end at a line feed only: other marks that Python takes for line ends may stand inside a text.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if kind in (".jsonl", ".ndjson", ".json"):
        objects = [_parse_json(line, f"{title}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]
        return _records(objects, str(path), title)
    return InputTable(str(path), title, None, lambda _: list(lines))


def _from_hub(name: str) -> InputTable:
    """The table behind an `hf://` path or in a dataset of the Hub; results name it as the user does."""
    table = read_table(fetch_hub_file(name)) if name.startswith(HUB_PATH) else _from_memory(load_hub_dataset(name))
    return replace(table, source=name, title=f"The dataset {name}")


def _content(path: Path, title: str, packed: bool = False) -> bytes:
    content = read_bytes(path, title)
    if packed and content:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{title} is damaged or not gzipped ({error}). Compress or download it again.") from None
    if not content.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError(f"{title} is empty.")
    return content


def _parse_json(text: str, title: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{title} is not valid JSON ({error}). Use one array of texts or objects, or one object in each line."
        ) from None


def _parquet(content: bytes, source: str, title: str) -> InputTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        names = tuple(file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{title} is damaged or not a Parquet file ({_shorten(error)}). Write it again.") from None

    def column(name: str) -> list[Any]:
        try:
            return list(file.read(columns=[name]).column(name).to_pylist())
        except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:  # a date beyond Python's
            problem = f"cannot be read ({_shorten(error)}). Write the file again, the column as text"
            raise InputError(f"{title}: column {shorten(name)!r} {problem}.") from None

    return InputTable(source, title, names, column)


def _from_memory(data: Any) -> InputTable:
    source = f"the {type(data).__name__} given"
    title = source[0].upper() + source[1:]
    if hasattr(data, "__len__") and not isinstance(data, bytes | bytearray):
        names = data.column_names if hasattr(data, "column_names") else getattr(data, "columns", None)
        if isinstance(names, Mapping):
            raise InputError(f"{title} has several splits ({', '.join(names)}). Pass one of them.")
        if names is not None:
            keys = {str(name): name for name in names}  # pandas names columns by numbers too
            return InputTable(source, title, tuple(map(str, names)), lambda name: _values(data[keys[name]]))
        if isinstance(data, Sequence) or hasattr(data, "tolist") or hasattr(data, "to_list"):
            return _from_list(_values(data), source, title)
    raise InputError(f"{title} cannot be read. Pass a path, a list of texts or dicts, a DataFrame or a Dataset.")


def _from_list(values: list[Any], source: str, title: str) -> InputTable:
    """A table from a list of mappings or of texts."""
    if not values or not isinstance(values[0], Mapping):
        return InputTable(source, title, None, lambda _: values)
    return _records(values, source, title)


def _records(rows: Sequence[Any], source: str, title: str) -> InputTable:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"{title}: row {number} is {shorten(str(row))}. Every row must be an object.")
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
