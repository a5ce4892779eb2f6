"""The store of scores: what is written is read again, and damaged files are deleted."""

from __future__ import annotations

import errno
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

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


def describe_tree(folder: Path) -> dict[Path, tuple[int, int, int]]:
    """Everything below a folder with its inode, size and modification time."""
    statuses = {path: path.lstat() for path in folder.rglob("*")}
    return {path: (status.st_ino, status.st_size, status.st_mtime_ns) for path, status in statuses.items()}


def test_another_store_finds_the_scores() -> None:
    fill_store(["a", "b", "ü"])
    scores = open_store().lookup(["b", "new", "ü", "b"])
    np.testing.assert_array_equal(scores[:, 0], [1.0, np.nan, 2.0, 1.0])


@pytest.mark.parametrize(("fingerprint", "columns"), [("other:aul", ["value"]), ("model:aul", ["another"])])
def test_scorers_with_other_fingerprint_or_columns_share_nothing(fingerprint: str, columns: list[str]) -> None:
    fill_store(["a"])
    assert np.isnan(ScoreStore(fingerprint, columns).lookup(["a"])).all()


def test_a_store_without_fingerprint_writes_nothing(own_store: Path) -> None:
    store = ScoreStore(None, ["value"])
    store.add(["a"], np.array([[1.0]]))
    store.tidy()
    assert np.isnan(ScoreStore(None, ["value"]).lookup(["a"])).all()
    assert not own_store.exists()


def test_rows_with_a_number_that_is_none_are_not_served() -> None:
    columns = ["value", "log_p(yes)"]
    rows = [[np.nan, 1.0], [np.inf, 1.0], [3.0, np.nan], [3.0, np.inf], [3.0, -np.inf]]
    ScoreStore("model:aul", columns).add(list("abcde"), np.array(rows))
    reopened = ScoreStore("model:aul", columns)
    np.testing.assert_array_equal(reopened.lookup(list("abcde")), [*[[np.nan] * 2] * 4, [3.0, -np.inf]])


def test_a_score_is_found_whichever_file_has_a_row_without_one() -> None:
    texts = [str(i) for i in range(8)]
    for text in texts:  # a file each, so that some are read before the file of the scores
        open_store().add([text], np.array([[-np.inf]]))
    fill_store(texts)
    np.testing.assert_array_equal(open_store().lookup(texts)[:, 0], np.arange(8.0))
    assert [entry.texts for entry in store.stored()] == [8]


# Damage: each function damages the cache of a scorer's folder and returns the path that is reported and deleted. The
# folder holds one good file with the texts "a" and "b". Damaged files hold the text "lost".


def write_score_file(folder: Path, content: pa.Table | bytes) -> Path:
    """Write a file under the digest of its content."""
    if isinstance(content, pa.Table):
        sink = pa.BufferOutputStream()
        pq.write_table(content, sink, compression="none")
        content = sink.getvalue().to_pybytes()
    path = folder / f"{blake2b(content, digest_size=16).hexdigest()}.parquet"
    path.write_bytes(content)
    return path


def make_table(**replacements: Any) -> pa.Table:
    """A table of this scorer; columns may be replaced, and removed by None."""
    columns = {KEY: text_keys(["lost"]), "value": pa.array([7.0])} | replacements
    return pa.table({name: column for name, column in columns.items() if column is not None})


def write_content(content: bytes) -> Callable[[Path], Path]:
    return lambda folder: write_score_file(folder, content)


def write_table(**replacements: Any) -> Callable[[Path], Path]:
    return lambda folder: write_score_file(folder, make_table(**replacements))


def change_content(change: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    """A good file is changed after it was written."""

    def damage(folder: Path) -> Path:
        path = write_score_file(folder, make_table())
        path.write_bytes(change(path.read_bytes()))
        return path

    return damage


def make_folder(folder: Path) -> Path:
    path = folder / "anything.parquet"
    path.mkdir()
    (path / "notes.txt").write_text("inside")
    return path


def make_link(target: str) -> Callable[[Path], Path]:
    def damage(folder: Path) -> Path:
        path = folder / "link.parquet"
        path.symlink_to(target)
        return path

    return damage


SCORE_FILE_DAMAGE: dict[str, Callable[[Path], Path]] = {
    "cut short": change_content(lambda content: content[: len(content) // 2]),
    "one score changed": change_content(lambda content: content.replace(struct.pack("d", 7.0), struct.pack("d", 8.0))),
    "emptied": change_content(lambda content: b""),
    "empty": write_content(b""),
    "not Parquet": write_content(b"nonsense"),
    "Parquet magic only": write_content(b"PAR1PAR1"),
    "column missing": write_table(value=None),
    "key missing": write_table(**{KEY: None}),
    "another column": write_table(value=None, another=pa.array([7.0])),
    "one column too many": write_table(another=pa.array([7.0])),
    "strings": write_table(value=pa.array(["7.0"])),
    "integers": write_table(value=pa.array([7])),
    "single precision": write_table(value=pa.array([7.0], pa.float32())),
    "nested": write_table(value=pa.array([[7.0]])),
    "key of 8 bytes": write_table(**{KEY: pa.array([b"8 bytes."], pa.binary(8))}),
    "key of any length": write_table(**{KEY: text_keys(["lost"]).cast(pa.binary())}),
    "key is text": write_table(**{KEY: pa.array(["lost"])}),
    "null key": write_table(**{KEY: pa.array([None], pa.binary(16))}),
    "null score": write_table(value=pa.array([None], pa.float64())),
    "a folder": make_folder,
    "broken link": make_link("nowhere"),
    "link to itself": make_link("link.parquet"),
}


@pytest.fixture(params=SCORE_FILE_DAMAGE)
def damage(request: pytest.FixtureRequest) -> Path:
    """A damaged path beside a good file with the texts "a" and "b"."""
    return SCORE_FILE_DAMAGE[request.param](fill_store(["a", "b"]))


def deny_reading(path: Path, error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading this file fails, also for root."""
    read_bytes = Path.read_bytes

    def read(self: Path) -> bytes:
        if self == path:
            raise error
        return read_bytes(self)

    monkeypatch.setattr(Path, "read_bytes", read)


def test_damage_is_deleted_with_one_warning(damage: Path, caplog: pytest.LogCaptureFixture) -> None:
    is_folder = damage.is_dir()
    np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0, 1, np.nan])
    (message,) = list_messages(caplog)
    assert str(damage) in message and message.endswith("; its texts are scored again.")
    assert os.path.lexists(damage) == is_folder  # a folder is nothing that geobias wrote
    fill_store(["a", "b", "lost"])
    np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0, 1, 2])


def test_a_good_file_that_cannot_be_read_now_stays(
    run: Run, own_store: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be another user's, or on a disk that is away: the scores in it may have been paid for."""
    path = write_score_file(fill_store(["a", "b"]), make_table())
    before = describe_tree(own_store)
    with monkeypatch.context() as patch:
        deny_reading(path, PermissionError(errno.EACCES, "Permission denied"), patch)
        np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0, 1, np.nan])
        (message,) = list_messages(caplog)
        assert message == f"Cannot read {path} (Permission denied): skipped; its texts are scored again."
        _, _, err = run("cache")
        assert f"{path} cannot be read (Permission denied): the next run skips it" in err
    assert describe_tree(own_store) == before
    assert not np.isnan(open_store().lookup(["lost"])).any()


def test_the_cache_command_reports_damage_and_changes_nothing(damage: Path, run: Run, own_store: Path) -> None:
    tree = describe_tree(own_store)
    code, out, err = run("cache")
    assert code == 0 and "2 texts  a model" in out
    (line,) = err.splitlines()
    assert f"{damage} is damaged (" in line and "scores its texts again" in line
    assert describe_tree(own_store) == tree


def test_a_file_that_another_process_has_just_merged_is_no_damage(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill_store(["a", "b"])
    path = write_score_file(folder, make_table())
    read_bytes = Path.read_bytes

    def read(self: Path) -> bytes:
        if self == path:
            path.unlink()
        return read_bytes(self)

    monkeypatch.setattr(Path, "read_bytes", read)
    np.testing.assert_array_equal(open_store().lookup(["a", "b", "lost"])[:, 0], [0.0, 1.0, np.nan])
    assert not list_messages(caplog)


def test_a_store_of_damaged_files_only_is_tidied() -> None:
    store = open_store()
    assert store.folder is not None
    for i in range(FILES_BEFORE_MERGING + 1):
        write_score_file(store.folder, b"nonsense %d" % i)
    tree = describe_tree(store.folder)
    store.tidy()
    assert describe_tree(store.folder) == tree


def test_a_file_that_this_version_of_arrow_cannot_read_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill_store(["a"])

    def read(self: pq.ParquetFile) -> pa.Table:
        raise pa.ArrowNotImplementedError("Support for codec 'lzo' not built")

    monkeypatch.setattr(pq.ParquetFile, "read", read)
    assert np.isnan(open_store().lookup(["a"])).all()
    assert len(list(folder.glob("*.parquet"))) == 1


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_process_without_resources_deletes_nothing(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_score_file(fill_store(["a"]), make_table())
    deny_reading(path, OSError(number, os.strerror(number)), monkeypatch)
    with pytest.raises(OSError, match="open files"):
        open_store()
    assert path.exists()


# The description, scorer.json


DESCRIPTION = {"fingerprint": "model:aul", "columns": ["value"], "name": "a model"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{damaged",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        json.dumps(DESCRIPTION | {"name": 5}).encode(),
        json.dumps(DESCRIPTION | {"fingerprint": None}).encode(),
        json.dumps(DESCRIPTION | {"fingerprint": "another"}).encode(),
        json.dumps(DESCRIPTION | {"columns": ["another"]}).encode(),
    ],
    ids=lambda content: content[:60].decode(errors="replace"),
)
def test_a_damaged_description_hides_no_scores_and_is_written_again(content: bytes, run: Run) -> None:
    file = fill_store(["a", "b"]) / "scorer.json"
    file.write_bytes(content)
    code, out, err = run("cache")
    assert code == 0 and "2 texts  (description damaged)" in out and not err
    assert file.read_bytes() == content
    assert open_store().lookup(["b"])[0, 0] == 1.0
    assert json.loads(file.read_bytes()) == DESCRIPTION


def test_without_a_description_damaged_files_are_still_not_counted(run: Run) -> None:
    folder = fill_store(["a", "b"])
    (folder / "scorer.json").unlink()
    paths = [SCORE_FILE_DAMAGE[kind](folder) for kind in ("strings", "null score", "column missing", "a folder")]
    code, out, err = run("cache")
    assert code == 0 and "2 texts" in out
    assert sorted(line.split()[1] for line in err.splitlines()) == sorted(map(str, paths))


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


def make_old(path: Path, seconds: float = store.TEMPORARY_FILE_SECONDS + 60) -> Path:
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)
    return path


def test_only_old_temporary_files_are_deleted_when_a_store_is_opened(own_store: Path, tmp_path: Path) -> None:
    folder = fill_store(["a"])
    (score_file,) = folder.glob("*.parquet")
    young = [folder / ".geobias-young.tmp", folder / "._hidden.parquet"]
    old = [folder / ".geobias-old.tmp", folder / ".geobias-older.tmp"]
    others = [folder / "notes.txt", folder.parent / ".geobias-old.tmp", tmp_path / "target"]
    for path in [*young, *old, *others]:
        path.write_bytes(score_file.read_bytes()[:20])
    for path in young:
        make_old(path, store.TEMPORARY_FILE_SECONDS - 60)
    (folder / ".folder").mkdir()
    (folder / ".link").symlink_to(tmp_path / "target")
    (folder / ".broken").symlink_to("nowhere")
    for path in [*old, *others, score_file, folder / ".folder", folder / ".link", folder / ".broken"]:
        make_old(path)
    tree = set(own_store.rglob("*"))
    assert open_store().lookup(["a"])[0, 0] == 0.0
    assert tree - set(own_store.rglob("*")) == set(old)
    assert (tmp_path / "target").exists()


def test_a_temporary_file_that_vanishes_or_cannot_be_deleted_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill_store(["a"])
    paths = [make_old_file(folder / f".geobias-{i}.tmp") for i in range(3)]
    lstat, unlink = Path.lstat, Path.unlink

    def vanish(self: Path) -> os.stat_result:
        if self == paths[0]:
            unlink(self)
        return lstat(self)

    def refuse(self: Path, missing_ok: bool = False) -> None:
        if self == paths[1]:
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "lstat", vanish)
    monkeypatch.setattr(Path, "unlink", refuse)
    assert open_store().lookup(["a"])[0, 0] == 0.0
    assert list(folder.glob(".*")) == [paths[1]]


def make_old_file(path: Path) -> Path:
    path.write_bytes(b"half")
    return make_old(path)


# Merging, and several processes


def test_many_files_become_one_and_lose_nothing(own_store: Path) -> None:
    texts = [str(i) for i in range(40)]
    for i, text in enumerate(texts):  # a run each
        store = open_store()
        store.add([text], np.array([[float(i)]]))
    assert len(list(own_store.rglob("*.parquet"))) == 40
    store.tidy()
    assert len(list(own_store.rglob("*.parquet"))) == 1
    np.testing.assert_array_equal(open_store().lookup(texts)[:, 0], np.arange(40.0))


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


@pytest.mark.slow
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


def test_a_file_of_the_user_named_scores_is_left_alone(own_store: Path, run: Run) -> None:
    own_store.mkdir()
    (own_store / "scores").write_text("the user's")
    with pytest.raises(InputError, match="Cannot write"):
        fill_store(["a"])
    for arguments in (["cache"], ["cache", "--clear"]):
        code, out, err = run(*arguments)
        assert code == 0 and "The score store is empty" in out and not err
    assert (own_store / "scores").read_text() == "the user's"


def test_a_folder_that_cannot_be_listed_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill_store(["a"])
    iterdir = Path.iterdir

    def refuse(self: Path) -> Any:
        if self == folder:
            raise PermissionError(errno.EACCES, "Permission denied")
        return iterdir(self)

    monkeypatch.setattr(Path, "iterdir", refuse)
    code, _, err = run("cache")
    assert code == 0 and err == f"geobias: Cannot read the folder {folder}: Permission denied.\n"


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


def write_files(folder: Path, *names: str) -> list[Path]:
    """Write files, and the folders that hold them."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("the user's")
    return [folder / name for name in names]


def test_clear_deletes_only_what_geobias_wrote(own_store: Path, tmp_path: Path, run: Run) -> None:
    folder, scores, outside = fill_store(["a"]), own_store / "scores", tmp_path / "outside"
    mixed, empty, linked = (scores / (digit * 32) for digit in "abc")
    write_score_file(folder, b"nonsense")
    write_files(folder, ".geobias-1.tmp")
    write_files(outside, "a.parquet", "scorer.json")
    (folder / "link.parquet").symlink_to(outside / "a.parquet")
    empty.mkdir()
    deleted = {folder, *folder.iterdir(), empty, *write_files(mixed, "x.parquet", "scorer.json")}
    assert len(deleted) == 9
    linked.symlink_to(outside, target_is_directory=True)
    write_files(mixed, "notes.txt", ".hidden", "folder.parquet/x.parquet")
    write_files(own_store, "models/x.parquet", f"{'d' * 32}/x.parquet")
    write_files(scores, "a.parquet", "scorer.json", ".geobias-1.tmp", "run/x.parquet", "e" * 32)
    write_files(scores, *(f"{name}/x.parquet" for name in ("A" * 32, "a" * 31, "a" * 33, "g" * 32, f"run/{'a' * 32}")))
    tree = set(tmp_path.rglob("*"))
    code, _, _ = run("cache", "--clear")
    assert code == 0
    assert tree - set(tmp_path.rglob("*")) == deleted


def test_the_cache_command_ignores_folders_of_the_user(own_store: Path, run: Run) -> None:
    write_files(own_store / "scores", "2024/x.parquet", f"{'a' * 32}/notes.txt", "a.parquet")
    code, out, err = run("cache")
    assert code == 0 and "The score store is empty" in out and not err


def test_a_cache_that_cannot_be_cleared_is_an_input_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_store(["a"])

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    code, _, err = run("cache", "--clear")
    assert code == 2 and "Cannot write" in err and "Permission denied" in err


def test_large_files_are_not_merged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "ROWS_BEFORE_MERGING", 4)
    monkeypatch.setattr(store, "LARGE_FILE_BYTES", 1)
    scores = open_store()
    for i in range(12):
        scores.add([f"{i}", f"{i}!"], np.full((2, 1), float(i)))
    scores.tidy()
    assert scores.folder is not None
    assert len(list(scores.folder.glob("*.parquet"))) == 6
    np.testing.assert_array_equal(open_store().lookup([f"{i}!" for i in range(12)])[:, 0], np.arange(12))
