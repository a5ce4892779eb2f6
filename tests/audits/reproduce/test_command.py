"""`geobias reproduce` as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

import geobias
from geobias.audits.reproduce.design import HERB_MODELS
from geobias.errors import InputError
from tests.conftest import Run

CARDIFF = "cardiffnlp/twitter-"


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


def test_table_4_from_texts_and_a_classifier(run: Run, here: Path) -> None:
    options = ("--hatespeech18", "hate.csv", "--classifier", "hatespeech18=uganda:dislikes")
    code, out, err = run(
        "reproduce", "herb", "--table", "4", "--table", "4_overall", *options, "--full", "--out", "runs/four"
    )
    assert code == 0, err
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "--imdb FILE" in out and "--hatespeech18 FILE" not in out
    with open("runs/four/tables/reproduce-herb-4.csv", encoding="utf-8", newline="") as file:
        cells = {(row["testset"], row["column"]): row for row in csv.DictReader(file)}
    assert len(cells) == 12 * 8
    uganda = cells["Uganda", "hatespeech18_up"]
    assert (uganda["published"], uganda["measured"]) == ("327.0", "2.0")
    assert float(cells["Uganda", "hatespeech18_up_mean"]["measured"]) == pytest.approx(0.4)
    assert cells["Syria", "hatespeech18_up"]["measured"] == "0.0"
    assert cells["Syria", "imdb_up"]["measured"] == ""
    results = json.loads(Path("runs/four/results.json").read_text())
    overall = results["tables"][1]["forms"][0]["measured"]
    assert overall[0][2:] == [0.5, pytest.approx(1 / 3)] and overall[0][:2] == [None, None]
    assert results["audit"] == "reproduce" and Path("runs/four/run.json").is_file()
    assert "Table 4" in Path("runs/four/report.html").read_text()


@pytest.mark.slow
def test_published_only_needs_no_model(run: Run, tmp_path: Path) -> None:
    code, out, err = run("reproduce", "herb", "--table", "5", "--full", "--out", "five")
    assert code == 0, err
    assert (
        "geobias finetune" in out
        and "1.3632" in out
        and "none of 24 published numbers in 1 table was measured" in " ".join(out.split())
    )
    code, out, _ = run("reproduce", "herb", "--table", "5", "--json")
    assert code == 0 and json.loads(out)["counts"]["measured_numbers"] == 0


@pytest.mark.slow
def test_stand_ins_are_measured_and_the_others_named(run: Run, here: Path) -> None:
    options = ("--table", "1", "--limit", "2", "--draws", "2", "--model")
    stand_in = f"{CARDIFF}roberta-base-hate=embedded/hate"
    code, out, err = run("reproduce", "names", *options, stand_in, "--full", "--out", "one")
    assert code == 0, err
    assert "Not the paper's models: embedded/hate for" in " ".join(out.split())
    assert all(len(line) <= 80 for line in out.splitlines())
    said = " ".join(out.split())
    assert "embedded/hate for cardiffnlp/twitter-roberta-base-hate" in said and "not published" in said
    for missing in ("xlm-roberta-base-sentiment", "roberta-base-emotion", "roberta-base-offensive"):
        assert missing in said.split("not available here")[1]
    code, out, err = run("reproduce", "names", *options, stand_in, "--out", "one")
    assert code == 0 and len(out.splitlines()) <= 25, err  # the same again
    code, _, err = run("reproduce", "herb", "--table", "5", "--out", "one")
    assert code == 2 and "other settings" in err


def test_without_any_model_one_message_names_them_all(run: Run, tmp_path: Path) -> None:
    code, out, err = run("reproduce", "herb", "--cities", "0")
    assert code == 2 and not out and len(err.splitlines()) == 1
    assert ", ".join(HERB_MODELS) in err and "--model bert-base-cased=FOLDER" in err
    code, _, err = run("reproduce", "names", "--limit", "1")
    assert code == 2 and len(err.splitlines()) == 1
    for name in ("xlm-roberta-base-sentiment", "xlm-roberta-base", "roberta-base-emotion", "roberta-base-hate",
                 "roberta-base-offensive", "roberta-base"):  # fmt: skip
        assert f"{CARDIFF}{name}," in err or f"{CARDIFF}{name}." in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("paper",), "Unknown paper 'paper'. Choose from: herb, names."),
        (("herb", "--table", "7"), "geobias has no table '7' of herb. Choose from: 1, 2, 3, 4, 4-overall, 5, 6."),
        (("names", "--table", "3"), "geobias has no table '3' of names"),
        (("herb", "--model", "gpt2=embedded/lm"), "--model 'gpt2' is not in the paper's tables. Choose from: bert-b"),
        (("herb", "--model", "bert-base-cased"), "--model must be PUBLISHED=LOCAL, such as bert-base-cased=FOLDER"),
        (("herb", "--model", "bert-base-cased=./nowhere"), "There is no model folder ./nowhere"),
        (("herb", "--model", "bert-base-cased=empty"), "The folder empty has no model: config.json is missing."),
        (("herb", "--draws", "3"), "--draws is only for `geobias reproduce names`. Remove it."),
        (("names", "--cities", "0"), "--cities is only for `geobias reproduce herb`. Remove it."),
        (("herb", "--imdb", "hate.csv"), "--imdb needs a classifier. Add --classifier imdb=MODEL."),
        (("herb", "--classifier", "imdb=uganda:dislikes"), "--classifier imdb needs labelled texts. Add --imdb"),
        (("herb", "--classifier", "news=uganda:dislikes"), "--classifier 'news' is not in the paper's tables"),
        (("herb", "--imdb", "train.csv", "--classifier", "imdb=uganda:dislikes"), "train.csv has no row with 'test'"),
        (("herb", "--device", "nonsense"), "The device 'nonsense' is not available"),
        (("herb", "--cities", "some"), "--cities must be a number or 'all', not 'some'."),
        (("names", "--texts", "xx=hate.csv"), "No table has the language 'xx'. Choose from: en, nl"),
        (("names", "--draws", "0"), "--draws must be between 1 and 10,000, not 0."),
        (("names", "--table", "1", "--model", f"{CARDIFF}roberta-base-hate=embedded/emotion", "--limit", "1"),
         "embedded/emotion cannot replace cardiffnlp/twitter-roberta-base-hate: its labels are anger"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(run: Run, here: Path, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run("reproduce", *arguments)
    assert code == 2 and not out and len(err.splitlines()) == 1
    assert said in err
    assert not (here / "runs").exists()


def test_a_data_frame_for_the_other_paper_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="--texts is only for `geobias reproduce names`"):
        geobias.reproduce("herb", table="1", texts=pd.DataFrame({"text": ["Mary was late."]}))
