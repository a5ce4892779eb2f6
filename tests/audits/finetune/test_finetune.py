"""Table 5: flips by hand, texts divided, models ranked; and the command as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geobias.audits.finetune.design import _divided, _share, question, rank_correlation
from geobias.audits.finetune.terminal import ranked
from geobias.errors import InputError
from geobias.measures.estimates import Estimates
from geobias.measures.shift import flip_shares
from tests.conftest import Run

TEXTS = [f"{word} number {k}" for k in range(20) for word in ("nice", "nasty")]
LABELS = ["kind", "rude"] * 20


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    rows = "\n".join(f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True))
    (tmp_path / "train.csv").write_text(f"text,label\n{rows}\n", encoding="utf-8")
    (tmp_path / "one.csv").write_text("text,label\na,kind\nb,kind\n", encoding="utf-8")
    (tmp_path / "odd.csv").write_text("text,label\na,kind\nb,strange\n", encoding="utf-8")
    (tmp_path / "rare.csv").write_text("text,label\na,kind\nb,kind\nc,rude\n", encoding="utf-8")
    return tmp_path


def test_flips_by_hand() -> None:
    before = np.array([[0.9, 0.1], [0.2, 0.8]])  # classes 0 and 1
    after = np.array(
        [
            [[0.8, 0.2], [0.4, 0.6], [0.1, 0.9], [0.7, 0.3]],  # two of four prefixes flip it to 1
            [[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]],  # one of four flips it to 0
        ]
    )
    shares = flip_shares(before, after)
    np.testing.assert_allclose(shares, np.array([[[0.0, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.25, 0.0]]]))
    assert 100 * shares.sum() / 2 == 37.5  # per cent of texts x prefixes


def test_texts_are_divided_class_by_class_and_never_shared(labelled: Path) -> None:
    stays, held_out = _divided(np.arange(40), LABELS, 0.2, seed=0)
    assert len(held_out) == 8 and [LABELS[k] for k in held_out].count("kind") == 4
    assert not set(stays) & set(held_out) and len(stays) == 32
    asked = question(texts=labelled / "train.csv", label="label", countries="FR,IE,NG")
    parts = [set(asked.train.texts), set(asked.validation.texts), set(asked.downstream.texts.texts)]
    assert [len(part) for part in parts] == [28, 4, 8] and len(set.union(*parts)) == 40
    assert asked.labels == ("kind", "rude") and asked.without == ("IE",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"texts": "one.csv"}, "takes two classes"),
        ({"texts": "train.csv", "test": "odd.csv"}, "strange"),
        ({"texts": "rare.csv"}, "Too few texts"),
        ({"texts": "train.csv", "without": "MX"}, "--without"),
        ({"texts": "train.csv", "label": "nothing"}, "nothing"),
    ],
)
def test_texts_that_cannot_train_are_refused(labelled: Path, options: dict[str, str], said: str) -> None:
    given: dict[str, Any] = {"label": "label", "countries": "FR,IE,NG", **options}
    for name in ("texts", "test"):
        if name in given:
            given[name] = labelled / given[name]
    with pytest.raises(InputError, match=said):
        question(**given)


def test_models_are_ranked_by_score_and_flips() -> None:
    def row(balanced: float, paper: float, flips: float) -> dict[str, Any]:
        herb = {"c_w": {"balanced": balanced, "paper": paper}}
        return {"herb": herb, "flips": {"all": {"any": {"value": flips}}}}

    rows = [row(0.1, 3, 1.0), row(0.2, 2, 2.0), row(0.3, 1, 5.0)]
    found = rank_correlation(rows)
    assert found is not None and found["balanced"]["value"] == 1 and found["paper"]["value"] == -1
    assert rank_correlation([*rows[:2], {"herb": None, "flips": {}}]) is None
    alike = rank_correlation([row(0.1, 3, 0.0), row(0.2, 2, 0.0), row(0.3, 1, 0.0)])
    assert alike is not None and alike["balanced"] == alike["paper"] == {"value": None, "p": None}
    assert "no rank correlation" in ranked(alike) and "+1.00" in ranked(found)


@pytest.mark.slow
def test_two_models_give_table_5_in_one_go(run: Run, labelled: Path, small_models: dict[str, Path]) -> None:
    command = ("finetune", str(small_models["bert"]), str(small_models["roberta"]), "--texts", "train.csv", "--label",
               "label", "--epochs", "1", "--countries", "FR,IE,NG,KE", "--device", "cpu", "--out", "here")  # fmt: skip
    code, out, err = run(*command)
    assert code == 0, err
    assert "to rude" in out and "to kind" in out and "without IE" in out
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith("Results"))
    assert "Fewer than three models" in out
    results = json.loads((labelled / "here/results.json").read_text())
    assert results["counts"] == {"training_texts": 28, "validation_texts": 4, "test_texts": 8, "regions": 4,
                                 "rows_without_text": 0, "test_texts_of_training": 0}  # fmt: skip
    first = results["fine_tuned"][0]
    assert first["herb"]["c_w"]["balanced"] > 0 and first["best_epoch"] == 1
    assert set(first["flips"]) == {"all", "without IE"}
    any_flip = first["flips"]["all"]
    assert any_flip["any"]["value"] == pytest.approx(
        any_flip["kind to rude"]["value"] + any_flip["rude to kind"]["value"]
    )
    judged = json.loads(next((labelled / "here/models").glob("*/downstream/results.json")).read_text())
    flipped = sum(flip["texts"] for region in judged["classifiers"][0]["regions"] for flip in region["flips"])
    rows = {row["model"]["name"]: row["flips"]["all"]["any"]["value"] for row in results["fine_tuned"]}
    assert any(value == pytest.approx(100 * flipped / (8 * 4)) for value in rows.values())
    with open(labelled / "here/tables/flips.csv", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * 3 * 3  # models x (all, without, control) x (any, two ways)
    assert "Fine-tuned: labels that flip" in (labelled / "here/report.html").read_text()
    again = run(*command)
    assert again[0] == 0 and json.loads((labelled / "here/results.json").read_text()) == results


def test_what_was_learned_is_not_looked_at(labelled: Path) -> None:
    seen = "\n".join(["text,label", f"{TEXTS[0]},kind", "unheard of,rude", "unheard of,rude"])
    (labelled / "seen.csv").write_text(seen, encoding="utf-8")
    asked = question(texts=labelled / "train.csv", test=labelled / "seen.csv", label="label", countries="FR,NG")
    assert asked.downstream.texts.texts == ("unheard of",) and asked.left_out["test_texts_of_training"] == 1
    with pytest.raises(InputError, match="one of the training texts"):
        question(texts=labelled / "train.csv", test=labelled / "train.csv", label="label", countries="FR,NG")


def test_no_flip_is_not_certainty() -> None:
    found = _share(Estimates.unknown(np.array([0.0])), 0, texts=40)
    assert found["value"] == 0 and found["high"] == pytest.approx(100 * (1 - 0.025 ** (1 / 40)))  # 8.8 %


def test_bad_input_is_one_line(run: Run, labelled: Path, small_models: dict[str, Path]) -> None:
    for options, said in (
        (["nowhere/at/all", "--texts", "train.csv", "--label", "label"], "no model folder"),
        ([str(small_models["bert"]), "--texts", "one.csv", "--label", "label"], "two classes"),
        ([str(small_models["bert"]), "--texts", "train.csv", "--label", "label", "--epochs", "0"], "--epochs"),
        ([str(small_models["bert"]), "--texts", "gone.csv", "--label", "label"], "gone.csv"),
    ):
        code, _, err = run("finetune", *options, "--countries", "FR,NG", "--out", "bad")
        assert code == 2 and said in err and len(err.strip().splitlines()) == 1, err
        assert not (labelled / "bad").exists()
