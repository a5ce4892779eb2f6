"""Nearest neighbours in word vectors: both text forms, blocks, and files that are none."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from geobias.errors import InputError
from geobias.world import vectors
from geobias.world.vectors import nearest_words

GLOVE = "kind 1 0 0\nKind 1 0 0\nnice 0.9 0.1 0\nrude -1 0 0.1\nawful -1 0.3 0.3\nstone 0 0 1\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text(GLOVE, encoding="utf-8")
    return path


def test_the_nearest_by_cosine_that_is_another_word(file: Path) -> None:
    # cos(kind, nice) = .9 / sqrt(.82); "Kind" is the same word. cos(rude, awful) = 1.03 / (sqrt(1.01) sqrt(1.18)).
    assert nearest_words(file, ["kind", "rude", "absent"]) == {"kind": "nice", "rude": "awful"}


def test_word2vec_has_a_first_line_of_counts(tmp_path: Path) -> None:
    path = tmp_path / "vectors.vec"
    path.write_text("6 3\n" + GLOVE.replace("\n", " \n"), encoding="utf-8")  # it ends its lines with a blank
    assert nearest_words(path, ["kind", "rude"]) == {"kind": "nice", "rude": "awful"}


def test_packed_and_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def name(i: int) -> str:
        return "word" + chr(97 + i // 10) + chr(97 + i % 10)

    rng = np.random.default_rng(3)
    values = rng.normal(size=(50, 8)).astype(np.float32)
    path = tmp_path / "vectors.txt.gz"
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(f"{name(i)} " + " ".join(map(str, row)) + "\n" for i, row in enumerate(values))
    monkeypatch.setattr(vectors, "WORDS_AT_ONCE", 7)
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -1)
    found = nearest_words(path, [name(i) for i in range(50)])
    assert found == {name(i): name(int(similarity[i].argmax())) for i in range(50)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no vectors"),
        (b"kind 1 0\nnice 1\n", "not have 2 numbers in line 2"),
        (b"kind 1 x\n", "not a number"),
        (b"kind 1 nan\nnice 1 1\n", "not a number"),
        (b"kind 1 0\nkind, 1 0\n", "no word to substitute"),
        (b"kind 1 0\n\xff\xfe 1 0\n", "not UTF-8"),
        (b"other 1 0\nmore 0 1\n", "none of the 1 words"),
    ],
)
def test_files_that_are_no_vectors(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        nearest_words(path, ["kind"])


def test_words_with_blanks_and_marks(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(GLOVE + ". . 1 0 0\nkind, 1 0 0\n", encoding="utf-8")
    assert nearest_words(path, ["kind"]) == {"kind": "nice"}


def test_a_packed_file_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(GLOVE.encode() * 50)[:-9])
    with pytest.raises(InputError, match="Cannot read"):
        nearest_words(path, ["kind"])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        nearest_words(tmp_path / "absent.txt", ["kind"])
    with pytest.raises(InputError, match="Is a directory"):
        nearest_words(tmp_path, ["kind"])
