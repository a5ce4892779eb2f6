"""`geobias reproduce` as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

import geobias
from geobias.errors import InputError
from tests.conftest import Run


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Labelled texts and a function in the folder where the command is run."""
    (tmp_path / "uganda.py").write_text(
        """
def dislikes(texts):
    bad = [0.2 + 0.4 * text.startswith("I am from Uganda") + 0.3 * ("awful" in text) for text in texts]
    return [{"noHate": 1 - p, "hate": p} for p in bad]
""",
        encoding="utf-8",
    )
    rows = "text,label,split\nfine,noHate,test\nawful,hate,test\nawful,noHate,train\n"
    (tmp_path / "hate.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "train.csv").write_text("text,label,split\nfine,noHate,train\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    return tmp_path


def read_cells(path: str) -> dict[tuple[str, str], dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return {(row["testset"], row["column"]): row for row in csv.DictReader(file)}


def test_table_4_from_texts_and_a_classifier(run: Run, here: Path) -> None:
    options = ("--texts", "hate.csv", "--model", "uganda:dislikes")
    code, out, err = run("reproduce", "herb", "4", *options, "--out", "runs/four")
    assert code == 0, err
    assert all(len(line) <= 80 for line in out.splitlines())
    lines = out.splitlines()
    uganda = next(k for k, line in enumerate(lines) if line.split()[:1] == ["Uganda"])
    assert lines[uganda + 1].split()[0] == "measured"
    assert "--texts imdb=FILE" in " ".join(out.split()) and "2 of hate.csv, in the place of hatespeech18" in out
    cells = read_cells("runs/four/tables/herb-table-4.csv")
    assert len(cells) == 12 * 8
    row = cells["Uganda", "hatespeech18_up"]
    assert (row["published"], row["measured"]) == ("327.0", "2.0")
    assert float(cells["Uganda", "hatespeech18_up_mean"]["measured"]) == pytest.approx(0.4)
    assert cells["Syria", "hatespeech18_up"]["measured"] == "0.0" and cells["Syria", "imdb_up"]["measured"] == ""
    named = ("--texts", "hatespeech18=hate.csv", "--model", "hatespeech18=uganda:dislikes", "--json")
    code, out, err = run("reproduce", "herb", "table_4_overall", *named, "--out", "overall")
    assert code == 0, err
    numbers = {(row["testset"], row["column"]): row["measured"] for row in json.loads(out)["numbers"]}
    assert numbers["Original", "hatespeech18_accuracy"] == 0.5 and numbers["Original", "imdb_accuracy"] is None
    assert numbers["Original", "hatespeech18_macro_f1"] == pytest.approx(1 / 3)


def test_a_folder_keeps_its_run(run: Run, here: Path) -> None:
    command = ("reproduce", "herb", "table-4", "--texts", "hate.csv", "--model", "uganda:dislikes", "--out", "one")
    assert run(*command)[0] == 0
    before = Path("one/results.json").read_bytes()
    assert run(*command, "--quiet")[0] == 0 and Path("one/results.json").read_bytes() == before
    code, _, err = run(*command[:2], "table-4-overall", *command[3:])
    assert code == 2 and "other settings" in err
    (here / "taken").mkdir()
    (here / "taken/thesis.txt").write_text("mine", encoding="utf-8")
    code, _, err = run(*command[:-1], "taken")
    assert code == 2 and "not a geobias run" in err and [*(here / "taken").iterdir()] == [here / "taken/thesis.txt"]
    code, _, err = run("report", "one")
    assert code == 2 and "is a run of `geobias reproduce`" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("paper", "1"), "Unknown paper 'paper'. Choose from: herb, names."),
        (("herb", "table-7"), "geobias has no 'table-7' of herb."),
        (("names", "figure-1"), "geobias has no 'figure-1' of names. Choose from: table-1"),
        (("herb", "table-1", "--model", "./nowhere"), "There is no model folder ./nowhere"),
        (("herb", "table-1", "--model", "empty"), "The folder empty has no model: config.json is missing."),
        (("herb", "table-1", "--draws", "3"), "--draws is not an option of herb table-1, which has --model, --cities."),
        (("names", "table-2", "--cities", "0"), "--cities is not an option of names table-2"),
        (("herb", "table-3", "--model", "a", "--model", "b"), "herb table-3 shows one model."),
        (("herb", "table-4", "--texts", "imdb=hate.csv"), "--texts imdb=FILE --model imdb=MODEL"),
        (("herb", "table-4"), "--texts hatespeech18=FILE --model hatespeech18=MODEL"),
        (("herb", "table-4", "--texts", "news=hate.csv"), "The paper has no texts 'news'"),
        (("herb", "4", "--texts", "train.csv", "--model", "uganda:dislikes"), "train.csv has no row with 'test'"),
        (("herb", "table-1", "--device", "nonsense"), "The device 'nonsense' is not available"),
        (("herb", "table-1", "--cities", "some"), "--cities must be a number or 'all', not 'some'."),
        (("names", "table-4", "--texts", "xx=hate.csv"), "No table has the language 'xx'. Choose from: en, nl"),
        (("names", "table-1", "--model", "embedded/hate", "--draws", "0"), "--draws must be between 1 and 10,000"),
        (("names", "table-3", "--model", "embedded/hate"), "embedded/hate has the labels not-hate, hate, which are"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(run: Run, here: Path, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run("reproduce", *arguments)
    assert code == 2 and not out and len(err.splitlines()) == 1, err
    assert said in err
    assert not (here / "runs").exists()


def test_a_data_frame_for_another_table_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="--texts is not an option of herb table-1"):
        geobias.reproduce("herb", "table-1", texts=pd.DataFrame({"text": ["Mary was late."]}))
