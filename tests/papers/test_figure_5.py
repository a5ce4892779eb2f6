"""HERB's Figure 5: what the model reads, what is measured, and a training that is interrupted."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.regions.design import SCORE_ONLY
from geobias.models.load import load_masked
from geobias.models.training import epochs as training
from geobias.models.training.epochs import IGNORED
from geobias.papers.herb import figure_5
from geobias.papers.herb.figure_5 import choose_sentences, mask_regions
from geobias.world.regions import RegionTree, load_world
from tests.conftest import Run

COUNTRIES = "FR,DE,IT,NG,KE,TD"
WORDS = ["kind", "rude", "loyal", "honest", "lazy", "quick"]
F = {"France": -1.0, "Chad": -2.0, "Kenya": -2.0, "Germany": -3.0, "Italy": -4.0, "Nigeria": -5.0}


def world() -> RegionTree:
    return load_world(cities=0, countries=COUNTRIES.split(",")).drop_articles()


def likelihood(texts: list[str]) -> list[float]:
    """France is kind, Chad and Kenya are equally so; continents are likelier still."""
    rows = []
    for text in texts:
        value = next((f for name, f in F.items() if name in text), -0.1)
        rows.append(-6 - value if "rude" in text else value)
    return rows


def test_the_corpus_by_hand(small_models: dict[str, Path]) -> None:
    """Of each word the likeliest countries, of equal ones the first; their names are masked, and only they."""
    result = geobias.audit_regions(likelihood, cities=0, countries=COUNTRIES, words=["kind", "rude"], **SCORE_ONLY)
    corpus = list(choose_sentences(result, 2))
    order = [region.name for region in result.regions]
    tied = min(("Chad", "Kenya"), key=order.index)
    assert [text for text, _ in corpus] == [
        "People in France are kind.",
        f"People in {tied} are kind.",
        "People in Nigeria are rude.",
        "People in Italy are rude.",
    ]
    lm = load_masked(small_models["bert"], device="cpu")
    for (text, _), (ids, labels) in zip(corpus, mask_regions(lm, corpus), strict=True):
        name = lm.tokenizer.decode(labels[labels != IGNORED]).replace(" ##", "").replace(" ", "")
        assert name in (text.split()[2], "[UNK]")
        assert (ids[labels != IGNORED] == lm.tokenizer.mask_token_id).all()
    assert len(list(choose_sentences(result, 50))) == 12


@pytest.mark.slow
def test_an_interrupted_training_resumes_to_the_same_figure(
    run: Run, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    bert = small_models["bert"]
    files = {path.name: path.read_bytes() for path in bert.iterdir()}
    command = ("reproduce", "herb", "figure-5", "--model", bert, "--countries", COUNTRIES, "--epochs", "2",
               "--device", "cpu", "--out")  # fmt: skip
    code, out, err = run(*command, "whole")
    assert code == 0, err
    assert "Balanced C_w, last epoch minus epoch 0: Earth" in out and "the paper prints none of them" in out
    whole = json.loads(Path("whole/results.json").read_text())
    assert {row["region"] for row in whole["numbers"]} == {"Earth", "Africa", "Europe"}
    assert [row["epoch"] for row in whole["numbers"] if row["region"] == "Earth"] == [0, 1, 2]
    assert Path("whole/figures/herb-figure-5.svg").read_text(encoding="utf-8").count("<title>Earth: ") == 3
    (folder,) = Path("whole/models").iterdir()
    trained = geobias.audit_regions(folder / "model", score="aul", tree=world(), **SCORE_ONLY)
    last = [row["balanced"] for row in whole["numbers"] if row["epoch"] == 2]
    assert last[0] == pytest.approx(trained.region("Earth").c_w_balanced.value, rel=1e-5)
    with open("whole/tables/herb-figure-5.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9 and rows[0]["loss"] == "" and float(rows[-1]["loss"]) > 0
    train, epochs = training.train_epoch, []

    def stop(*arguments: Any, epoch: int, **options: Any) -> float:
        if epoch == 2:
            raise KeyboardInterrupt
        epochs.append(epoch)
        return float(train(*arguments, epoch=epoch, **options))

    with monkeypatch.context() as patch:
        patch.setattr(training, "train_epoch", stop)
        assert run(*command, "half")[0] == 130
    assert epochs == [1] and not Path("half/results.json").exists()
    assert run(*command, "half")[0] == 0
    half = json.loads(Path("half/results.json").read_text())
    assert half["numbers"] == whole["numbers"]
    assert {path.name: path.read_bytes() for path in bert.iterdir()} == files  # the model is only read
    assert run(*command, "half")[0] == 0
    assert json.loads(Path("half/results.json").read_text())["numbers"] == whole["numbers"]  # trained already


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "embedded/lm", "--epochs", "0"), "--epochs must be between 1 and 10,000, not 0."),
        (("--model", "embedded/lm", "--texts", "a.csv"), "--texts is not an option of herb figure-5"),
        (("--model", "embedded/sentiment"), "is a classifier, not a language model"),
        (("--model", "nowhere/at/all"), "There is no model folder"),
        (("--model", "embedded/lm", "--countries", "FR"), "no region has two sub-regions"),
        (("--model", "bart"), "is a sequence-to-sequence LM, which cannot be trained by masking"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    run: Run, small_models: dict[str, Path], options: tuple[str, ...], said: str
) -> None:
    options = tuple(str(small_models["bart"]) if option == "bart" else option for option in options)
    code, out, err = run("reproduce", "herb", "figure-5", *options, "--device", "cpu")
    assert (code, out) == (2, "") and said in " ".join(err.split()) and len(err.splitlines()) == 1, err


def test_a_clear_fall_is_said_and_may_be_an_artefact(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the training all regions are described alike: C_w falls in every word."""
    rng = np.random.default_rng(0)
    result: Any = geobias.audit_regions(
        likelihood, cities=0, countries=COUNTRIES, words=[*WORDS, "poor", "rich"], **SCORE_ONLY
    )

    def with_spread(spread: float) -> Any:
        likelihoods = -1 + spread * rng.normal(size=result.likelihoods.shape)
        names = np.zeros(len(result.regions))
        return replace(result, answers=replace(result.answers, likelihoods=likelihoods, name_likelihoods=names))

    change, falls = figure_5.describe_change(with_spread(0.5), with_spread(0.01))
    assert falls and "Earth -" in change
    change, falls = figure_5.describe_change(with_spread(0.01), with_spread(0.5))
    assert not falls and "Earth +" in change
