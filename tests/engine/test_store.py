"""Scores on disk: kept, found again, never read when damaged."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from geobias.engine import store
from geobias.engine.store import ScoreStore
from geobias.errors import InputError
from geobias.files import cache_folder


def filled(texts: list[str]) -> ScoreStore:
    kept = ScoreStore("model:aul", ["value"], name="a model")
    kept.add(texts, np.arange(len(texts), dtype=float)[:, None])
    return kept


def test_scores_are_found_again_by_another_store() -> None:
    filled(["a", "b", "ü"])
    found = ScoreStore("model:aul", ["value"]).lookup(["b", "new", "ü", "b"])
    np.testing.assert_array_equal(found[:, 0], [1.0, np.nan, 2.0, 1.0])


@pytest.mark.parametrize(("fingerprint", "columns"), [("other:aul", ["value"]), ("model:aul", ["another"])])
def test_other_models_and_columns_are_apart(fingerprint: str, columns: list[str]) -> None:
    filled(["a"])
    assert np.isnan(ScoreStore(fingerprint, columns).lookup(["a"])).all()


def test_without_fingerprint_nothing_is_kept(own_store: Path) -> None:
    kept = ScoreStore(None, ["value"])
    kept.add(["a"], np.array([[1.0]]))
    assert np.isnan(ScoreStore(None, ["value"]).lookup(["a"])).all()
    assert not own_store.exists()


@pytest.mark.parametrize("damage", ["cut short", "one byte", "empty"])
def test_a_damaged_file_is_named_and_set_aside(damage: str, caplog: pytest.LogCaptureFixture, own_store: Path) -> None:
    filled(["a", "b"])
    (file,) = own_store.rglob("*.parquet")
    content = bytearray(file.read_bytes())
    if damage == "cut short":
        content = content[: len(content) // 2]
    elif damage == "one byte":
        content[len(content) // 2] ^= 1
    else:
        content = bytearray()
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        found = ScoreStore("model:aul", ["value"]).lookup(["a", "b"])
    assert np.isnan(found).all()
    assert str(file) in caplog.text
    assert not file.exists() and file.with_suffix(".damaged").exists()


def test_what_was_killed_half_written_is_never_read(own_store: Path) -> None:
    kept = filled(["a"])
    assert kept.folder is not None
    (whole,) = own_store.rglob("*.parquet")
    (kept.folder / f".{whole.name}.1234").write_bytes(whole.read_bytes()[:20])
    assert ScoreStore("model:aul", ["value"]).lookup(["a"])[0, 0] == 0.0


def test_many_files_become_one_and_lose_nothing(own_store: Path) -> None:
    texts = [str(i) for i in range(40)]
    for i, text in enumerate(texts):  # each by a run of its own
        kept = ScoreStore("model:aul", ["value"])
        kept.add([text], np.array([[float(i)]]))
    assert len(list(own_store.rglob("*.parquet"))) == 40
    kept.tidy()
    assert len(list(own_store.rglob("*.parquet"))) == 1
    np.testing.assert_array_equal(ScoreStore("model:aul", ["value"]).lookup(texts)[:, 0], np.arange(40.0))


WRITER = """
import sys
import numpy as np
from geobias.engine.store import ScoreStore

for turn in range(8):
    kept = ScoreStore("model:aul", ["value"])
    for part in range(6):
        kept.add([f"{sys.argv[1]}-{turn}-{part}"], np.array([[1.0]]))
    kept.tidy()
"""


def test_programs_that_write_and_merge_at_once_lose_and_double_nothing(own_store: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    kept = ScoreStore("model:aul", ["value"])
    texts = [f"{number}-{turn}-{part}" for number in range(3) for turn in range(8) for part in range(6)]
    assert (kept.lookup(texts)[:, 0] == 1.0).all()
    rows = sum(pq.read_metadata(file).num_rows for file in own_store.rglob("*.parquet"))
    assert len(texts) <= rows < 4 * len(texts)


def test_a_cache_that_cannot_be_written_is_said(own_store: Path) -> None:
    own_store.write_text("a file where the folder should be")
    with pytest.raises(InputError, match="Cannot write"):
        filled(["a"])


def test_what_is_stored_is_told_and_cleared() -> None:
    filled(["a", "b"])
    (held,) = store.stored()
    assert (held.name, held.fingerprint, held.texts) == ("a model", "model:aul", 2)
    assert held.bytes > 0
    next(cache_folder().rglob("scorer.json")).write_text("{damaged")
    assert store.stored()[0].texts == 2
    store.clear()
    assert store.stored() == []
