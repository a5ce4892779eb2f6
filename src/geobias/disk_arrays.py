"""Arrays that are written piece by piece: in memory while they are small, then in a temporary file."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from geobias.files import cache_folder, writing

LARGEST_IN_MEMORY = 2**26  # bytes


class DiskArray:
    """Rows of an array, appended in their order. The temporary file has no name."""

    def __init__(self, dtype: Any, row_shape: Sequence[int] = ()) -> None:
        self.dtype, self.row_shape = np.dtype(dtype), tuple(row_shape)
        self._pieces: list[np.ndarray] = [np.empty((0, *self.row_shape), self.dtype)]
        self._bytes = 0
        self._file: IO[bytes] | None = None

    def append(self, rows: np.ndarray) -> None:
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
    mapping = getattr(array, "_mmap", None)
    if mapping is None:
        return array[rows]
    block = np.array(array[rows])
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
    return block
