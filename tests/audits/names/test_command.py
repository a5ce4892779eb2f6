"""`geobias names` as a user types it."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import Run, spell

PLAIN = ("--draws", "2", "--countries", "FR,MA,GB")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    file = tmp_path / "texts.csv"
    file.write_text(
        'text,truth,topic\n"Mary Smith is here, [bold]hi[/bold]",positive,a\nJohn Brown is awful,negative,=b\n',
        encoding="utf-8",
    )
    return file


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module of functions in the folder where the command is run."""
    (tmp_path / "own_names.py").write_text(
        """
import numpy as np

def fair(texts):
    return [{"negative": 0.4, "positive": 0.6} for _ in texts]

def too_few(texts):
    return np.full((len(texts) // 2 + 1 if len(texts) > 1 else 1, 2), 0.5)

def not_a_number(texts):
    return np.full((len(texts), 2), np.nan if len(texts) > 1 else 0.5)

def breaks(texts):
    raise KeyError("weights")
""",
        encoding="utf-8",
    )
    return tmp_path


def test_a_function_on_a_file_ends_in_a_folder(run: Run, texts: Path, module: Path) -> None:
    heading, *rows = texts.read_text(encoding="utf-8").splitlines()
    rows = [row.replace(" is ", f" is {spell(n)} ") for n in range(3) for row in rows]
    texts.write_text("\n".join([heading, *rows]), encoding="utf-8")
    code, out, err = run("names", "own_names:fair", "--texts", texts, *PLAIN, "--label", "truth", "--subset", "topic",
                         "--full", "--out", "here")  # fmt: skip
    assert code == 0, err
    assert out.startswith("These 6 texts cannot tell") and "tests need at least 15 texts" in " ".join(out.split())
    for shown in ("United Kingdom", "Morocco", "against", "topic =b", "false +", "6 texts, 6 of them"):
        assert shown in out
    results = json.loads((module / "here/results.json").read_text())
    (entry,) = results["classifiers"]
    assert entry["labels"] == ["negative", "positive"]
    effects = [row for row in results["effects"] if row["subset"] is None]
    assert [row["place"] for row in effects] == ["France", "Morocco", "United Kingdom"]
    assert all(row["against_originals"]["value"] == 0 for row in effects)
    with open(module / "here/tables/classes.csv", encoding="utf-8") as file:
        classes = list(csv.DictReader(file))
    assert {row["subset"] for row in classes} == {"", "topic a", "topic =b"}
    assert {row["against_originals"] for row in classes if row["label"] == "negative"} == {""}  # never predicted before
    assert "never predicted" in out and "none before" in out


def test_preview_shows_texts_and_asks_nobody(run: Run, texts: Path, tmp_path: Path) -> None:
    code, out, _ = run("names", "no/such-model", "--texts", texts, "--preview", "2", "--countries", "FR,MA")
    assert code == 0 and "may be offensive" in out
    assert "[bold]hi[/bold]" in out and "France" in out and "Morocco" in out
    assert not (tmp_path / "runs").exists()


def test_several_languages_have_a_column_each(run: Run, small_models: dict[str, Path], module: Path) -> None:
    (module / "en.txt").write_text("Mary is here\nJohn left\nPeter and Paul\n", encoding="utf-8")
    with gzip.open(module / "eu.txt.gz", "wt", encoding="utf-8") as file:
        file.write("Mary hemen dago\nJohn joan da\nPeter eta Paul\n")
    code, out, err = run("names", "own_names:fair", "--texts", "en=en.txt", "--texts", "eu=eu.txt.gz", "--draws", "3",
                         "--perplexity", small_models["roberta"], "--countries", "FR,MA",
                         "--full", "--out", "here")  # fmt: skip
    assert code == 0, err
    words = " ".join(out.split())
    for shown in ("language eu", "original texts en", "original texts eu", "the same, length held fixed"):
        assert shown in words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("own_names:too_few",), "rows for"),
        (("own_names:not_a_number",), "between 0 and 1"),
        (("own_names:breaks",), "KeyError"),
        (("embedded/lm",), "embedded/lm"),
        (("own_names:fair", "--preview", "0"), "--preview"),
        (("own_names:fair", "--gazetteer", "absent.csv"), "absent.csv"),
    ],
)
def test_bad_input_ends_with_one_line_and_nothing_written(
    run: Run, texts: Path, module: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run("names", *PLAIN, "--texts", texts, *arguments, "--out", "here")
    assert code == 2 and message in err and err.count("\n") == 1 and not out
    assert not (module / "here").exists()
