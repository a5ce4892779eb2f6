"""The answers behind a run, read again from its Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geobias.errors import InputError

if TYPE_CHECKING:
    import pyarrow


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
