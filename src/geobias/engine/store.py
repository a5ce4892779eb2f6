"""Scores on disk: each scorer scores a text once, ever.

Each scorer has one folder in the cache. Its Parquet files hold a 16-byte digest of each text and the scorer's columns.
A file is written under a temporary name, then renamed, and its name is the digest of its content. So no reader sees a
half-written file, later damage is noticed, and several processes can write at once.
"""

from __future__ import annotations

import errno
import itertools
import json
import logging
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from geobias.errors import InputError
from geobias.files import DiskArray, cache_folder, write_whole, writing
from geobias.models.scorer import LOG_P

KEY = "text_digest"
KEY_BYTES = 16
KEYS_AT_ONCE = 2**16  # that are Python objects
FILES_BEFORE_MERGING = 16
ROWS_BEFORE_MERGING = 2**21  # files that hold so many rows together are merged, and not again
LARGE_FILE_BYTES = 2**24  # a file that is not merged with others when a store is tidied
# A killed process leaves its temporary file behind. A younger one may belong to a process that is writing now.
TEMPORARY_FILE_SECONDS = 24 * 60 * 60
SCORER_FOLDER = r"[0-9a-f]{32}"
SCORE_FILE = r"[^.].*\.parquet"
TEMPORARY_NAME = r"\.geobias-.*\.tmp"
CACHE_FILE = rf".+\.parquet|scorer\.json|{TEMPORARY_NAME}"  # what geobias writes into a scorer's folder
TextsOrKeys: TypeAlias = Sequence[str] | pa.FixedSizeBinaryArray  # texts, or what `text_keys` has returned for them
DamageReport = Callable[[Path, str, bool], None]  # takes a file, what is wrong with it, and whether it is damaged
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
        self._new_files: defaultdict[int, dict[Path, pa.Table]] = defaultdict(dict)  # by level of merging
        tables: Iterable[tuple[Path, pa.Table]] = ()
        if fingerprint is not None:
            self.folder = cache_folder() / "scores" / _digest(json.dumps([fingerprint, self.columns]).encode())
            _open_folder(self.folder, {"fingerprint": fingerprint, "columns": self.columns, "name": name})
            tables = _read_tables(_list_folder(self.folder, SCORE_FILE), self.columns, _delete_damaged)
        self._scores = ScoreIndex((table for _, table in tables), len(self.columns))

    def lookup(self, texts: TextsOrKeys) -> np.ndarray:
        """Return the scores of these texts, one row each. A row is NaN if its text has no score."""
        if not len(self._scores):  # saves the digests of the texts
            return np.full((len(texts), len(self.columns)), np.nan)
        return self._scores.lookup(text_keys(texts))

    def add(self, texts: TextsOrKeys, scores: np.ndarray) -> None:
        """Write the scores of these texts for later runs; they are on disk when this returns."""
        if self.folder is not None and len(texts):
            self._write_level(self._make_table(text_keys(texts), scores), 0)

    def tidy(self) -> None:
        """Merge many small files into one. Delete only files whose rows the merged file holds."""
        files = _list_folder(self.folder, SCORE_FILE) if self.folder is not None else {}
        small_files = [path for path, status in files.items() if status.st_size < LARGE_FILE_BYTES]
        if len(small_files) > FILES_BEFORE_MERGING:
            tables = dict(_read_tables(small_files, self.columns, lambda *damage: None))  # opening reports damage
            if len(tables) > 1:
                with suppress(InputError):  # all scores are on disk: a failure to merge them does no harm
                    merged_file = self._write(_drop_duplicates(pa.concat_tables(tables.values())))
                    _delete_files(tables.keys() - {merged_file})

    def _write_level(self, table: pa.Table, level: int) -> None:
        """Write a file; merge a full level into one file of the next, so that files are few and rewrites rare."""
        files = self._new_files[level]
        path = self._write(table)
        if len(table) >= ROWS_BEFORE_MERGING:
            return  # not kept in memory
        files[path] = table
        if len(files) == FILES_BEFORE_MERGING or sum(map(len, files.values())) >= ROWS_BEFORE_MERGING:
            del self._new_files[level]
            self._write_level(pa.concat_tables(files.values()), level + 1)
            _delete_files(files)

    def _make_table(self, keys: pa.FixedSizeBinaryArray, scores: np.ndarray) -> pa.Table:
        arrays = [pa.array(np.ascontiguousarray(scores[:, i], dtype=np.float64)) for i in range(len(self.columns))]
        return pa.table([keys, *arrays], names=[KEY, *self.columns])

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
    file = folder / "scorer.json"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if _read_description(folder) != description:  # a read-only cache that needs no change can be opened
            write_whole(file, json.dumps(description, indent=1).encode())
    cutoff = time.time() - TEMPORARY_FILE_SECONDS
    temporary_entries = _list_folder(folder, TEMPORARY_NAME).items()
    _delete_files(path for path, status in temporary_entries if S_ISREG(status.st_mode) and status.st_mtime < cutoff)


def _read_tables(
    files: Iterable[Path], columns: list[str] | None, report: DamageReport
) -> Iterator[tuple[Path, pa.Table]]:
    """Read score files one by one; call `report` for each that is not a table of this scorer."""
    for path in sorted(files):
        try:
            table = _read_table(path, columns)
        except (OSError, ValueError, pa.ArrowException) as error:
            if isinstance(error, MemoryError) or getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):
                raise  # the process lacks resources: this says nothing about the file
            reason = getattr(error, "strerror", None) or " ".join(str(error).split()).rstrip(".")
            if not os.path.lexists(path):
                continue  # another process has merged it into a larger file, read by a later run
            # A file that cannot be read may be another user's, on a disk that is away, or from a newer Arrow.
            is_unreadable = isinstance(error, OSError) and os.path.isfile(path)
            report(path, reason, not is_unreadable and not isinstance(error, pa.ArrowNotImplementedError))
        else:
            yield path, table


def _read_table(path: Path, columns: list[str] | None) -> pa.Table:
    """Read the rows of a score file that are scores. If `columns` is None, they may have any names."""
    content = path.read_bytes()
    if _digest(content) != path.stem:
        raise ValueError("its content does not match its name")
    table = pq.ParquetFile(pa.BufferReader(content)).read()
    names = table.column_names[1:] if columns is None else columns
    schema = pa.schema([(KEY, pa.binary(KEY_BYTES)), *((name, pa.float64()) for name in names)])
    if not names or not table.schema.equals(schema) or any(column.null_count for column in table.columns):
        raise ValueError("it is not a table of this scorer's scores")
    scored = find_scored(np.column_stack([column.to_numpy() for column in table.columns[1:]]), names)
    return table if scored.all() else table.filter(pa.array(scored))


def _delete_damaged(path: Path, reason: str, is_damaged: bool = True) -> None:
    """Delete a damaged file with a warning. A folder, or a file that may be good, stays, with a warning too."""
    if not is_damaged or (path.is_dir() and not path.is_symlink()):
        log.warning("Cannot read %s (%s): skipped; its texts are scored again.", path, reason)
        return
    action = "deleted"
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        action = f"skipped, and cannot be deleted ({error.strerror or error})"
    log.warning("%s is damaged (%s): %s; its texts are scored again.", path, reason, action)


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
    """Count the readable scores in the cache, scorer by scorer. This changes nothing on disk."""
    entries = []

    def warn(path: Path, reason: str, is_damaged: bool = True) -> None:
        problem, action = ("is damaged", "deletes it") if is_damaged else ("cannot be read", "skips it")
        log.warning("%s %s (%s): the next run %s and scores its texts again.", path, problem, reason, action)

    for folder in _list_folder(cache_folder() / "scores", SCORER_FOLDER):
        if not os.path.isdir(folder):
            warn(folder, "it is not a folder")
        description = _read_description(folder)
        contents = _list_folder(folder, CACHE_FILE)
        files = [path for path in contents if re.fullmatch(SCORE_FILE, path.name)]
        tables = _read_tables(files, description["columns"], warn)
        keys = [pa.table({KEY: text_keys([])}), *(table.select([KEY]) for _, table in tables)]
        texts = len(_drop_duplicates(pa.concat_tables(keys)))
        sizes = [status.st_size for status in contents.values() if not S_ISDIR(status.st_mode)]
        if sizes:
            entries.append(StoredScores(description["name"], description["fingerprint"], texts, sum(sizes)))
    return entries


def _read_description(folder: Path) -> dict[str, Any]:
    """Read a scorer's name, fingerprint and columns; columns are None if the description is damaged."""
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):  # the scores are in the other files
        description = json.loads((folder / "scorer.json").read_bytes())
        scorer = [description["fingerprint"], description["columns"]]
        if _digest(json.dumps(scorer).encode()) == folder.name and isinstance(description["name"], str):
            return description
    return {"name": "(description damaged)", "fingerprint": folder.name, "columns": None}


def clear() -> None:
    """Delete all scores. Leave files that geobias did not write, and links to folders, as they are."""
    scores = cache_folder() / "scores"
    folders = [path for path, status in _list_folder(scores, SCORER_FOLDER).items() if S_ISDIR(status.st_mode)]
    with writing(scores):
        for path, status in (entry for folder in folders for entry in _list_folder(folder, CACHE_FILE).items()):
            if not S_ISDIR(status.st_mode):
                path.unlink(missing_ok=True)
    for folder in [*folders, scores]:
        with suppress(OSError):  # it holds other files
            folder.rmdir()


def _list_folder(folder: Path, pattern: str) -> dict[Path, os.stat_result]:
    """List the entries whose names match, in order, with their status; that of a link is its own, not its target's."""
    entries = {}
    try:
        for path in sorted(folder.iterdir()) if os.path.isdir(folder) else ():
            if re.fullmatch(pattern, path.name):
                with suppress(FileNotFoundError):  # another process has just deleted it
                    entries[path] = path.lstat()
    except OSError as error:
        log.warning("Cannot read the folder %s: %s.", folder, error.strerror or error)
    return entries


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
