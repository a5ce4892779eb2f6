"""The store of scores: what is written is read again, and damaged files are deleted."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geobias.engine import store
from geobias.engine.store import FILES_BEFORE_MERGING, KEY, ScoreStore, text_keys
from geobias.errors import InputError
from geobias.files import cache_folder
from tests.conftest import Run


def open_store() -> ScoreStore:
    return ScoreStore("model:aul", ["value"], name="a model")


def fill_store(texts: list[str]) -> Path:
    """Store the scores 0, 1, 2, ... for these texts; return the scorer's folder."""
    store = open_store()
    store.add(texts, np.arange(len(texts), dtype=float)[:, None])
    assert store.folder is not None
    return store.folder


def list_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "geobias"]


def test_a_store_without_fingerprint_writes_nothing(own_store: Path) -> None:
    store = ScoreStore(None, ["value"])
    store.add(["a"], np.array([[1.0]]))
    store.tidy()
    assert np.isnan(ScoreStore(None, ["value"]).lookup(["a"])).all()
    assert not own_store.exists()


# Damage. The folder holds a good file with the texts "a" and "b", and a damaged one with the text "lost".


def write_lost(folder: Path, change: Callable[[bytes], bytes] = bytes) -> Path:
    """Write a file with the score 7 of "lost" under the digest of its content, then change the content."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({KEY: text_keys(["lost"]), "value": pa.array([7.0])}), sink, compression="none")
    content = sink.getvalue().to_pybytes()
    path = folder / f"{blake2b(content, digest_size=16).hexdigest()}.parquet"
    path.write_bytes(change(content))
    return path


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda content: content[: len(content) // 2],
    "one score changed": lambda content: content.replace(struct.pack("d", 7.0), struct.pack("d", 8.0)),
    "emptied": lambda content: b"",
    "not Parquet": lambda content: b"nonsense",
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_deleted_with_one_warning(change: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture) -> None:
    damage = write_lost(fill_store(["a", "b"]), change)
    np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0, 1, np.nan])
    (message,) = list_messages(caplog)
    assert str(damage) in message and "deleted" in message
    assert not damage.exists()
    fill_store(["a", "b", "lost"])
    np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0, 1, 2])


def test_a_good_file_that_cannot_be_read_now_stays(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be another user's, or on a disk that is away: the scores in it may have been paid for."""
    path = write_lost(fill_store(["a", "b"]))
    read_bytes = Path.read_bytes

    def deny(self: Path) -> bytes:
        if self == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return read_bytes(self)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", deny)
        np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0, 1, np.nan])
    (message,) = list_messages(caplog)
    assert str(path) in message and "Permission denied" in message
    assert open_store().lookup(["lost"])[0, 0] == 7


def test_a_file_that_another_process_has_just_merged_is_no_damage(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill_store(["a", "b"])
    path = write_lost(folder)
    read_bytes = Path.read_bytes

    def read(self: Path) -> bytes:
        if self == path:
            path.unlink()
        return read_bytes(self)

    monkeypatch.setattr(Path, "read_bytes", read)
    np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0.0, 1.0, np.nan])
    assert not list_messages(caplog)


def test_a_read_only_cache_can_be_read_and_tidied(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [str(i) for i in range(FILES_BEFORE_MERGING + 1)]
    for text in texts:
        fill_store([text])

    def write_whole(path: Path, content: bytes) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("geobias.engine.store.write_whole", write_whole)
    store = open_store()
    store.tidy()
    assert not np.isnan(store.lookup(texts)).any()
    with pytest.raises(InputError, match="Read-only file system"):
        store.add(["new"], np.array([[1.0]]))


# Temporary files of killed processes


def make_old(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_only_old_temporary_files_are_deleted_when_a_store_is_opened() -> None:
    folder = fill_store(["a"])
    old, young = (folder / f".geobias-{digit * 32}.tmp" for digit in "ab")
    for path, seconds in ((old, 60), (young, -60), (folder / "notes.txt", 60)):
        path.write_bytes(b"half")
        make_old(path, store.TEMPORARY_FILE_SECONDS + seconds)
    before = set(folder.iterdir())
    assert open_store().lookup(["a"])[0, 0] == 0.0
    assert before - set(folder.iterdir()) == {old}


# Merging, and several processes


WRITER = """
import sys
import numpy as np
from geobias.engine.store import ScoreStore

for turn in range(8):
    store = ScoreStore("model:aul", ["value"])
    for part in range(6):
        store.add([f"{sys.argv[1]}-{turn}-{part}"], np.array([[1.0]]))
    store.tidy()
"""


def test_processes_that_write_and_merge_at_once_lose_and_duplicate_nothing(own_store: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    texts = [f"{number}-{turn}-{part}" for number in range(3) for turn in range(8) for part in range(6)]
    assert (open_store().lookup(texts)[:, 0] == 1.0).all()
    rows = sum(pq.read_metadata(file).num_rows for file in own_store.rglob("*.parquet"))
    assert len(texts) <= rows < 4 * len(texts)
    assert [entry.texts for entry in store.stored()] == [len(texts)]


# The whole cache


def test_a_cache_that_cannot_be_written_is_an_input_error(own_store: Path) -> None:
    own_store.write_text("a file where the folder should be")
    with pytest.raises(InputError, match="Cannot write"):
        fill_store(["a"])


def test_scores_are_counted_and_cleared() -> None:
    fill_store(["a", "b"])
    fill_store(["b", "c"])
    (entry,) = store.stored()
    assert (entry.name, entry.fingerprint, entry.texts) == ("a model", "model:aul", 3)
    assert entry.bytes == sum(path.stat().st_size for path in cache_folder().rglob("*.*"))
    store.clear()
    assert store.stored() == []
    assert not (cache_folder() / "scores").exists()
    store.clear()  # nothing to do


def test_clear_deletes_only_what_geobias_wrote(own_store: Path, run: Run) -> None:
    folder = fill_store(["a"])
    kept = [folder / "notes.txt", own_store / "scores/a.parquet", own_store / "scores/run/a.parquet"]
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.write_text("the user's")
    code, _, _ = run("cache", "--clear")
    assert code == 0
    assert {path for path in own_store.rglob("*") if path.is_file()} == set(kept)


def test_large_files_are_not_merged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LARGE_FILE_BYTES", 1)
    for i in range(FILES_BEFORE_MERGING + 4):
        fill_store([f"{i}"])
    scores = open_store()
    scores.tidy()
    assert scores.folder is not None
    assert len(list(scores.folder.glob("*.parquet"))) == FILES_BEFORE_MERGING + 4
