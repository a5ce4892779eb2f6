"""Scores on disk: each scorer scores a text once, ever.

Each scorer has one folder in the cache. Its Parquet files hold a 16-byte digest of each text and the scorer's columns.
A file is written under a temporary name, then renamed, and its name is the digest of its content. So no reader sees a
half-written file, later damage is noticed, and several processes can write at once.
"""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from geobias.errors import InputError
from geobias.files import DiskArray, cache_folder, remove_temporary_files, write_whole, writing
from geobias.models.scorer import LOG_P

KEY = "text_digest"
KEY_BYTES = 16
KEYS_AT_ONCE = 2**16  # that are Python objects
FILES_BEFORE_MERGING = 16
LARGE_FILE_BYTES = 2**24  # a file that is not merged with others when a store is tidied
# A killed process leaves its temporary file behind. A younger one may belong to a process that is writing now.
TEMPORARY_FILE_SECONDS = 24 * 60 * 60
SCORER_FOLDER, DESCRIPTION, SCORE_FILES = "[0-9a-f]" * 32, "scorer.json", "*.parquet"  # patterns of names
OUR_FILES = (SCORE_FILES, DESCRIPTION, ".geobias-*.tmp")
TextsOrKeys: TypeAlias = Sequence[str] | pa.FixedSizeBinaryArray  # texts, or what `text_keys` has returned for them
log = logging.getLogger("geobias")


def text_keys(texts: TextsOrKeys | Iterable[str]) -> pa.FixedSizeBinaryArray:
    """Return a 128-bit digest of each text: enough that no two texts ever share one. Keys are returned unchanged."""
    if isinstance(texts, pa.FixedSizeBinaryArray):
        return texts
    digests = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest() for text in texts)
    raw = b"".join(iter(lambda: b"".join(itertools.islice(digests, KEYS_AT_ONCE)), b""))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_BYTES), len(raw) // KEY_BYTES, [None, pa.py_buffer(raw)])


def find_scored(rows: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """Return which rows are scores: every number is finite, or log P = -inf of an answer that never comes."""
    is_log_p = np.array([column.startswith(LOG_P) for column in columns])
    rows = rows.astype(np.float64)
    return np.asarray((np.isfinite(rows) | (is_log_p & (rows == -np.inf))).all(axis=1))


class ScoreStore:
    """The scores of one scorer, as they are on disk when the store is opened. Without a fingerprint it stays empty."""

    def __init__(self, fingerprint: str | None, columns: Sequence[str], *, name: str = "") -> None:
        self.columns = list(columns)
        self.folder: Path | None = None
        self._new_files: dict[Path, pa.Table] = {}  # not merged yet
        tables: Iterable[tuple[Path, pa.Table]] = ()
        if fingerprint is not None:
            self.folder = cache_folder() / "scores" / _digest(json.dumps([fingerprint, self.columns]).encode())
            _open_folder(self.folder, {"fingerprint": fingerprint, "columns": self.columns, "name": name})
            tables = _read_tables(self.folder.glob(SCORE_FILES))
        self._scores = ScoreIndex((table for _, table in tables), len(self.columns))

    def lookup(self, texts: TextsOrKeys) -> np.ndarray:
        """Return the scores of these texts, one row each. A row is NaN if its text has no score."""
        if not len(self._scores):  # saves the digests of the texts
            return np.full((len(texts), len(self.columns)), np.nan)
        return self._scores.lookup(text_keys(texts))

    def add(self, texts: TextsOrKeys, scores: np.ndarray) -> None:
        """Write the scores of these texts for later runs; they are on disk when this returns."""
        if self.folder is None or not len(texts):
            return
        columns = np.ascontiguousarray(scores.T, dtype=np.float64)
        table = pa.table([text_keys(texts), *map(pa.array, columns)], names=[KEY, *self.columns])
        self._new_files[self._write(table)] = table
        if len(self._new_files) == FILES_BEFORE_MERGING:
            self._merge(self._new_files)
            self._new_files = {}

    def tidy(self) -> None:
        """Merge many small files into one: those of several runs, and what a killed run left."""
        files = self.folder.glob(SCORE_FILES) if self.folder is not None else ()
        small_files = [path for path, size in _list_sizes(files).items() if size < LARGE_FILE_BYTES]
        if len(small_files) > FILES_BEFORE_MERGING:
            self._merge(dict(_read_tables(small_files)))

    def _merge(self, tables: dict[Path, pa.Table]) -> None:
        """Write the rows of files into one file, then delete those files."""
        if len(tables) > 1:
            with suppress(InputError):  # all scores are on disk: a failure to merge them does no harm
                merged_file = self._write(_drop_duplicates(pa.concat_tables(tables.values())))
                _delete_files(tables.keys() - {merged_file})

    def _write(self, table: pa.Table) -> Path:
        assert self.folder is not None
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        content = sink.getvalue().to_pybytes()
        path = self.folder / f"{_digest(content)}.parquet"
        with writing(path):
            write_whole(path, content)
        return path


def _open_folder(folder: Path, description: dict[str, Any]) -> None:
    """Create a scorer's folder and its description where needed, and delete old temporary files."""
    file = folder / DESCRIPTION
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():  # a read-only cache can be opened
            write_whole(file, json.dumps(description, indent=1).encode())
    with suppress(OSError):  # another process deletes them, too
        remove_temporary_files(folder, older_than=TEMPORARY_FILE_SECONDS)


def _read_tables(files: Iterable[Path]) -> Iterator[tuple[Path, pa.Table]]:
    """Read score files one by one; delete a damaged one with a warning."""
    for path in sorted(files):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue  # another process has merged it into a larger file, read by a later run
        except OSError as error:  # another user's, or on a disk that is away: its scores may have been paid for
            log.warning("Cannot read %s (%s): skipped; its texts are scored again.", path, error.strerror or error)
            continue
        if _digest(content) == path.stem:
            yield path, pq.read_table(pa.BufferReader(content))
        else:
            log.warning("%s is damaged: deleted; its texts are scored again.", path)
            _delete_files([path])


def _drop_duplicates(table: pa.Table) -> pa.Table:
    """Keep the first row of each text: two processes that merge at the same time write the same rows twice."""
    codes = table[KEY].combine_chunks().dictionary_encode().indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    return table.combine_chunks() if len(first) == len(codes) else table.take(np.sort(first)).combine_chunks()


@dataclass(frozen=True)
class StoredScores:
    """What the cache holds of one scorer."""

    name: str
    fingerprint: str
    texts: int
    bytes: int


def stored() -> list[StoredScores]:
    """Count the scores in the cache, scorer by scorer."""
    entries = []
    for folder in _list_scorer_folders():
        keys = [table.select([KEY]) for _, table in _read_tables(folder.glob(SCORE_FILES))]
        texts = len(_drop_duplicates(pa.concat_tables(keys))) if keys else 0
        description = json.loads((folder / DESCRIPTION).read_bytes())
        size = sum(_list_sizes(folder.iterdir()).values())
        entries.append(StoredScores(description["name"], description["fingerprint"], texts, size))
    return entries


def clear() -> None:
    """Delete all scores. Files that geobias did not write stay."""
    folders = _list_scorer_folders()
    scores = cache_folder() / "scores"
    with writing(scores):
        for file in (file for folder in folders for pattern in OUR_FILES for file in folder.glob(pattern)):
            file.unlink(missing_ok=True)
    for folder in [*folders, scores]:
        with suppress(OSError):  # it holds other files
            folder.rmdir()


def _list_scorer_folders() -> list[Path]:
    return sorted(file.parent for file in (cache_folder() / "scores").glob(f"{SCORER_FOLDER}/{DESCRIPTION}"))


def _list_sizes(files: Iterable[Path]) -> dict[Path, int]:
    """Sizes in bytes. Another process may have just deleted some of the files."""
    sizes = {}
    for path in files:
        with suppress(FileNotFoundError):
            sizes[path] = path.stat().st_size
    return sizes


def _delete_files(files: Iterable[Path]) -> None:
    """Delete files that are no longer needed. One that cannot be deleted does no harm."""
    for file in files:
        with suppress(OSError):
            file.unlink()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


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
