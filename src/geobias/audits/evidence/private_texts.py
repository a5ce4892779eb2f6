"""Which parts of a run hold texts: they stay out of a bundle unless the user asks for them.

Everything is left out that is not known to be free of texts: a new kind of file cannot leak by being forgotten.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from geobias.report.parquet import damaged

# A table with one of these columns has a row for each text, its parts, or what a model wrote about it.
TEXT_COLUMNS = frozenset(
    "text text_id sentence original changed example person prompt answer response completion generation output".split()
)
FIGURES = (".svg", ".png", ".html")  # in the folder "figures"
EXAMPLES, TEXT = "examples", "text"  # the fields of results.json that hold texts, in findings and elsewhere


def is_free_of_texts(path: Path) -> bool:
    """Whether a file of a run certainly holds no text: a figure, or a table without a column of texts."""
    suffix = path.suffix.lower()
    if path.parent.name == "figures" and suffix in FIGURES:
        return True
    if suffix not in (".csv", ".parquet"):
        return False
    columns = _read_csv_columns(path) if suffix == ".csv" else _read_parquet_columns(path)
    return not TEXT_COLUMNS & {column.casefold() for column in columns}


def leave_out_texts(content: Any) -> Any:
    """The content of results.json with every field `examples` and every string `text` empty."""
    if isinstance(content, dict):
        return {
            key: type(value)() if _is_field_of_texts(key, value) else leave_out_texts(value)
            for key, value in content.items()
        }
    return [leave_out_texts(value) for value in content] if isinstance(content, list) else content


def _is_field_of_texts(key: str, value: Any) -> bool:
    return isinstance(value, dict | list) if key == EXAMPLES else key == TEXT and isinstance(value, str)


def _read_csv_columns(path: Path) -> list[str]:
    with open(path, encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def _read_parquet_columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path) from error
