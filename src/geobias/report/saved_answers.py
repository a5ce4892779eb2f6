"""answers.parquet: what models answered to every text, variant, place and draw; written and read here for all audits.

| column | holds |
|---|---|
| `text_id` | the id of the text |
| `variant` | original, control, place or invented |
| `place` | the code of the place; null for variants without one |
| `name` | what was put into the text: the place, the control, the new name |
| `draw` | which of several versions, from 1 on: a draw of names, a wording; 0 for the original |
| MODEL/OUTCOME | a number for each model and outcome |

An audit may add columns of its own. Rows are in the order of the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geobias.report.tables import column_values, damaged, read_columns

ANSWERS = "answers.parquet"
ORIGINAL, CONTROL, PLACE, INVENTED = "original", "control", "place", "invented"
KEYS = {"text_id": "string", "variant": "string", "place": "string", "name": "string", "draw": "int32"}


@dataclass(frozen=True)
class SavedAnswers:
    """Rows of the file: its keys, and the numbers of some columns."""

    keys: Mapping[str, np.ndarray]
    values: np.ndarray
    """rows x columns."""

    def select(self, variant: str) -> SavedAnswers:
        chosen = self.keys["variant"] == variant
        return SavedAnswers({name: column[chosen] for name, column in self.keys.items()}, self.values[chosen])


def write_answers(
    folder: Path, blocks: Iterable[Mapping[str, Any]], columns: Sequence[str], more: Mapping[str, str] | None = None
) -> None:
    """Write blocks of rows, each a mapping from a column to its values; `more` names further columns with their types.

    Few texts at a time keep memory small: a thousand texts may stand before each of 34,000 cities.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = KEYS | (dict(more) if more else {}) | dict.fromkeys(columns, "float32")
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in types.items()])
    with pq.ParquetWriter(folder / ANSWERS, schema, compression="zstd") as writer:
        for block in blocks:
            writer.write_table(pa.table({name: pa.array(block[name], schema.field(name).type) for name in types}))


def read_answers(folder: Path, columns: Sequence[str]) -> SavedAnswers:
    """The rows with the numbers of some columns; InputError where the file is missing, damaged or of another run."""
    table = read_columns(folder / ANSWERS, [*KEYS, *columns])
    keys = {name: table[name].to_numpy(zero_copy_only=False) for name in KEYS}
    return SavedAnswers(keys, column_values(table, columns))


def reshape_answers(folder: Path, answers: SavedAnswers, *shape: int) -> np.ndarray:
    """The numbers as texts x ... x columns; InputError where there are more or fewer."""
    if len(answers.values) != np.prod(shape):
        raise damaged(folder / ANSWERS)
    return answers.values.reshape(*shape, -1)
