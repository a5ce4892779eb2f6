"""Scores by the digest of their text: digests sorted in memory, scores on disk where they are many."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from geobias.disk_arrays import DiskArray


class ScoreIndex:
    """The rows of tables of digests and scores. Of equal digests, the first counts."""

    def __init__(self, tables: Iterable[pa.Table], width: int) -> None:
        digests, rows = DiskArray(np.uint64, (2,)), DiskArray(np.float64, (width,))
        for table in tables:
            for chunk in table.column(0).chunks:
                digests.append(_split_digests(chunk))
            rows.append(np.column_stack([column.to_numpy() for column in table.columns[1:]]))
        halves = digests.finish()
        self._rows, self._order = rows.finish(), np.argsort(halves[:, 0], kind="stable")
        self._first_half, self._second_half = (halves[self._order, k] for k in range(2))

    def __len__(self) -> int:
        return len(self._rows)

    def lookup(self, keys: pa.FixedSizeBinaryArray) -> np.ndarray:
        """Return the row of each digest; NaN where there is none.

        Two digests with the same first half are so unlikely that the second of them counts as not found.
        """
        first, second = _split_digests(keys).T
        by_size = np.argsort(first)  # neighbours are then found near each other
        places = np.empty(len(keys), dtype=np.int64)
        places[by_size] = np.searchsorted(self._first_half, first[by_size])
        places = np.minimum(places, len(self) - 1)
        is_found = (self._first_half[places] == first) & (self._second_half[places] == second)
        rows = np.full((len(keys), self._rows.shape[1]), np.nan)
        rows[is_found] = self._rows[self._order[places[is_found]]]
        return rows


def _split_digests(keys: pa.FixedSizeBinaryArray) -> np.ndarray:
    """Digests of 16 bytes as two numbers each."""
    numbers = np.frombuffer(keys.buffers()[1] or b"", dtype="<u8").reshape(-1, 2)
    return numbers[keys.offset : keys.offset + len(keys)]
