"""Scores on disk: a text is scored once per scorer, ever.

A scorer's scores lie in one folder of the cache as Parquet files: 16 bytes that stand for the text, and the
scorer's columns. Files are only ever added whole (written aside, then renamed), and each is named after
the digest of its content: what was killed half-way is never seen, what was damaged later is noticed, and
two programs may write at once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from geobias.files import cache_folder, write_whole, writing

KEY = "text_digest"
KEY_BYTES = 16
FILES_BEFORE_MERGING = 16
log = logging.getLogger("geobias")


def text_keys(texts: Iterable[str]) -> pa.FixedSizeBinaryArray:
    """A 128-bit digest for each text: enough that no two texts ever share one."""
    joined = b"".join(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest() for text in texts
    )
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(KEY_BYTES), len(joined) // KEY_BYTES, [None, pa.py_buffer(joined)]
    )


class ScoreStore:
    """The scores of one scorer, as they were when it was opened. Without a fingerprint nothing is known or kept."""

    def __init__(self, fingerprint: str | None, columns: Sequence[str], *, name: str = "") -> None:
        self.columns = list(columns)
        self.folder: Path | None = None
        self._added: list[dict[Path, pa.Table]] = []  # files of this run: single answers, then 16 together, then 256
        self._known = self._table(text_keys([]), np.empty((0, len(self.columns))))
        if fingerprint is not None:
            about = {"fingerprint": fingerprint, "columns": self.columns, "name": name}
            self.folder = cache_folder() / "scores" / _digest(json.dumps([fingerprint, self.columns]).encode())
            with writing(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                write_whole(self.folder / "scorer.json", json.dumps(about, indent=1).encode())
            self._known = _distinct(pa.concat_tables([self._known, *self._read_all()]))

    def lookup(self, texts: Sequence[str]) -> np.ndarray:
        """The scores of these texts, a row each; NaN in the first column where there is none."""
        if not len(self._known):  # then the texts need not even be looked at
            return np.full((len(texts), len(self.columns)), np.nan)
        found = pc.index_in(text_keys(texts), value_set=self._known[KEY])
        rows = self._known.select(self.columns).take(found)
        return np.column_stack([rows[column].to_numpy() for column in self.columns])

    def add(self, texts: Sequence[str], scores: np.ndarray) -> None:
        """Keep the scores of these texts for later runs; they are on disk when this returns."""
        if self.folder is not None:
            self._keep(self._table(text_keys(texts), scores), 0)

    def tidy(self) -> None:
        """Many small files become one; the old ones go only when the new one is there."""
        if self.folder is None:
            return
        files = sorted(self.folder.glob("*.parquet"))
        if len(files) > FILES_BEFORE_MERGING:
            merged = self._write(_distinct(pa.concat_tables(list(self._read_all()))))
            for file in files:
                if file != merged:
                    file.unlink(missing_ok=True)

    def _keep(self, table: pa.Table, level: int) -> None:
        """Write a file; as soon as a level has many, they become one of the next: few files, few rows written again."""
        if level == len(self._added):
            self._added.append({})
        files = self._added[level]
        files[self._write(table)] = table
        if len(files) == FILES_BEFORE_MERGING:
            self._added[level] = {}
            self._keep(pa.concat_tables(files.values()), level + 1)
            for file in files:
                file.unlink(missing_ok=True)

    def _table(self, keys: pa.FixedSizeBinaryArray, scores: np.ndarray) -> pa.Table:
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

    def _read_all(self) -> Iterator[pa.Table]:
        assert self.folder is not None
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                continue  # another program has just merged it into a larger file, read in a later run
            if _digest(content) == path.stem:
                yield pq.read_table(pa.BufferReader(content), columns=[KEY, *self.columns])
            else:
                log.warning("The score file %s is damaged: set aside, its texts are scored again.", path)
                path.rename(path.with_suffix(".damaged"))


def _distinct(table: pa.Table) -> pa.Table:
    """Each text once: two programs that merge at the same time leave the same rows in two files."""
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
    """What lies in the cache, scorer by scorer."""
    found = []
    for folder in sorted((cache_folder() / "scores").glob("*/")):
        files = list(folder.glob("*.parquet"))
        texts = sum(pq.read_metadata(file).num_rows for file in files if _digest(file.read_bytes()) == file.stem)
        size = sum(file.stat().st_size for file in folder.iterdir())
        try:
            about = json.loads((folder / "scorer.json").read_text(encoding="utf-8"))
            found.append(StoredScores(about["name"], about["fingerprint"], texts, size))
        except (OSError, ValueError, KeyError, TypeError):  # it only describes: the scores are in the other files
            found.append(StoredScores("(description damaged)", folder.name, texts, size))
    return found


def clear() -> None:
    """Delete every score; the next run computes what it needs again."""
    scores = cache_folder() / "scores"
    with writing(scores):
        if scores.exists():
            shutil.rmtree(scores)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
