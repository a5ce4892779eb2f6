"""HERB's Table 5: flips by hand, texts divided, and a training that is interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.inputs import split_by_class
from geobias.errors import InputError
from geobias.models.training import epochs as training
from geobias.models.training import finetuning
from geobias.papers.herb.labelled_texts import divide_texts
from geobias.papers.herb.table_5 import count_flips, describe_control
from geobias.papers.tables import read_published
from tests.conftest import Run, spell

TEXTS = [f"{word} number {spell(k)}" for k in range(20) for word in ("nice", "nasty")]
LABELS = ["kind", "rude"] * 20


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    rows = [f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *rows, ""]), encoding="utf-8")
    split = [f"{row},{'test' if k < 8 else 'train'}" for k, row in enumerate(rows)]
    (tmp_path / "split.csv").write_text("\n".join(["text,label,split", *split, ""]), encoding="utf-8")
    (tmp_path / "one.csv").write_text("text,label\na,kind\nb,kind\n", encoding="utf-8")
    (tmp_path / "rare.csv").write_text("text,label\na,kind\nb,kind\nc,rude\n", encoding="utf-8")
    (tmp_path / "odd.csv").write_text(
        f"text,label,split\n{TEXTS[0]},kind,train\n{TEXTS[1]},rude,train\nb,strange,test\n"
    )
    (tmp_path / "seen.csv").write_text(
        f"text,label,split\n{TEXTS[0]},kind,train\n{TEXTS[1]},rude,train\n{TEXTS[1]},rude,test\n"
    )
    return tmp_path


def test_flips_by_hand() -> None:
    """Of two texts, the first is no hate and flips by Ireland and France, the second is hate and flips by Mexico."""
    no, yes = [0.9, 0.1], [0.2, 0.8]
    before = np.array([no, yes])
    after = np.array([[no, yes, yes, no, no], [yes, yes, yes, no, yes]])  # control, IE, FR, MX, KE
    columns = read_published("herb", "table_5").columns
    flips = dict(
        zip(columns, count_flips(before, after[:, 1:], columns, codes=["IE", "FR", "MX", "KE"], hate=1), strict=True)
    )
    assert (flips["all_nohate_to_hate"], flips["all_hate_to_nohate"]) == (25.0, 12.5)  # 2 and 1 of 8
    assert flips["without_ireland_nohate_to_hate"] == pytest.approx(100 / 6)  # 1 of 6
    assert flips["without_mexico_hate_to_nohate"] == 0 and flips["without_mexico_nohate_to_hate"] == pytest.approx(
        200 / 6
    )
    few = dict(zip(columns, count_flips(before, after[:, 1:3], columns, codes=["IE", "FR"], hate=1), strict=True))
    assert np.isnan(few["without_mexico_nohate_to_hate"]) and few["all_nohate_to_hate"] == 50


@pytest.mark.parametrize(
    ("by_country", "by_control", "p", "difference"),
    [
        (30, 3, "p = ", "+3"),  # countries flip 45 points more
        (30, 30, "p = 1)", "0.00 to 0.00"),  # what any prefix does
        (4, 0, "p = 0.12)", ""),  # four texts that differ are never certain: a sign test
        (0, 0, "p = 1)", ""),
    ],
)
def test_flips_are_tested_against_the_control(by_country: int, by_control: int, p: str, difference: str) -> None:
    before, after = np.tile([0.9, 0.1], (60, 1)), np.tile([0.9, 0.1], (60, 4, 1))
    after[:by_control, 0] = after[:by_country, 1:] = [0.1, 0.9]
    said = describe_control(before, after)
    assert f"countries flip {100 * by_country / 60:.2f} % of 60 texts x 3 countries" in said
    assert f"names none {100 * by_control / 60:.2f} %" in said and p in said and difference in said


def test_texts_are_divided_class_by_class_and_never_shared(labelled: Path) -> None:
    stays, held_out = split_by_class(np.arange(40), LABELS, 0.2, seed=0)
    assert len(held_out) == 8 and [LABELS[k] for k in held_out].count("kind") == 4
    assert not set(stays) & set(held_out) and len(stays) == 32
    for file, sizes in (("train.csv", [28, 4, 8]), ("split.csv", [28, 4, 8])):
        division = divide_texts(labelled / file, "text", "label", 0)
        parts = [set(part.texts) for part in (division.train, division.validation, division.test)]
        assert (
            [len(part) for part in parts] == sizes
            and len(set.union(*parts)) == 40
            and division.labels == ["kind", "rude"]
        )
        if file == "split.csv":
            assert parts[2] == set(TEXTS[:8])


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("one.csv", "two classes"),
        ("odd.csv", "strange"),
        ("rare.csv", "Too few texts"),
        ("seen.csv", "a training text"),
    ],
)
def test_texts_that_cannot_train_are_refused(run: Run, labelled: Path, file: str, said: str) -> None:
    code, out, err = run("reproduce", "herb", "5", "--model", "embedded/lm", "--texts", file, "--out", "bad")
    assert code == 2 and not out and said in err and len(err.splitlines()) == 1, err
    assert not (labelled / "bad").exists()


def test_what_table_5_needs(run: Run, labelled: Path, small_models: dict[str, Path]) -> None:
    for options, said in (
        (["--model", "embedded/lm"], "Table 5 needs labelled texts"),
        (["--model", "nowhere/at/all", "--texts", "train.csv"], "no model folder"),
        (["--model", "embedded/lm", "--texts", "train.csv", "--epochs", "0"], "--epochs"),
        (["--model", "embedded/lm", "--texts", "train.csv", "--label", "class"], "no column 'class'"),
    ):
        code, _, err = run("reproduce", "herb", "table-5", *options, "--out", "bad")
        assert code == 2 and said in err and len(err.strip().splitlines()) == 1, err
    with pytest.raises(InputError, match="trains models: name a folder"):
        geobias.reproduce("herb", "table-5", model="embedded/lm", texts="train.csv")


def test_an_interrupted_training_resumes_to_the_same_table(
    run: Run, labelled: Path, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    bert, roberta = small_models["bert"], small_models["roberta"]
    files = {path.name: path.read_bytes() for path in bert.iterdir()}
    command = ("reproduce", "herb", "table-5", "--model", bert, "--model", roberta, "--texts", "train.csv",
               "--epochs", "2", "--countries", "FR,IE,NG,KE", "--device", "cpu", "--out")  # fmt: skip
    code, out, err = run(*command, "whole")
    assert code == 0, err
    assert all(len(line) <= 80 for line in out.splitlines() if line.startswith(" "))
    assert "a prefix that names none" in out and "1.3645" in out
    whole = json.loads(Path("whole/results.json").read_text())
    epochs = []
    train = training.train_epoch

    def stop(*arguments: Any, epoch: int, **options: Any) -> float:
        if epoch == 2:
            raise KeyboardInterrupt
        epochs.append(epoch)
        return float(train(*arguments, epoch=epoch, **options))

    with monkeypatch.context() as patch:
        patch.setattr(finetuning, "train_epoch", stop)
        assert run(*command, "half")[0] == 130
    assert epochs == [1] and not Path("half/results.json").exists()
    assert run(*command, "half")[0] == 0
    half = json.loads(Path("half/results.json").read_text())
    assert half["numbers"] == whole["numbers"] and half["notes"] == whole["notes"]
    measured = [row for row in half["numbers"] if row["measured"] is not None]
    assert {row["model"] for row in measured} == {str(bert), str(roberta)}
    assert {row["column"].rpartition("_to_")[0].rpartition("_")[0] for row in measured} == {"all", "without_ireland"}
    assert {path.name: path.read_bytes() for path in bert.iterdir()} == files  # the model is only read
    assert run(*command, "half")[0] == 0  # trained already
