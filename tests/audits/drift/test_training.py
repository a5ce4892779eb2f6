"""A model that is trained on: what it reads, what is measured, and that it can be stopped at any time."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import geobias
from geobias.audits.drift import audit as drift
from geobias.audits.drift.corpus import build_text_corpus, build_toxic_corpus
from geobias.audits.drift.gate_and_card import card_rows, gate_numbers
from geobias.audits.pages import read_run, run_sections
from geobias.audits.regions.audit import ask_regions
from geobias.audits.regions.design import SCORE_ONLY, RegionsOptions, design_regions
from geobias.models.load import load_masked
from geobias.models.scorer import Scorer
from geobias.models.training.epochs import IGNORED, train_epoch
from geobias.report.number_tree import HERB_SCORE, TreeNumber
from geobias.report.page.blocks import Chart, Choice, Table
from geobias.report.tables import digits
from geobias.testing import assert_gate
from geobias.texts.user_texts import read_texts
from geobias.world.words import Word

COUNTRIES = "FR,DE,IT,NG,KE,TD"
WORDS = ["kind", "rude", "loyal", "honest", "lazy", "quick"]
HOW: dict[str, Any] = {"countries": COUNTRIES, "words": WORDS, "top": 3, "rate": 0.5, "batch": 4, "device": "cpu"}


F = {"France": -1.0, "Chad": -2.0, "Kenya": -2.0, "Germany": -3.0, "Italy": -4.0, "Nigeria": -5.0}


class Known(Scorer):
    """A scorer whose likelihoods are known: France is kind, Chad and Kenya are equally so."""

    fingerprint, columns = None, ("log_likelihood",)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        rows = []
        for text in texts:
            value = next((f for name, f in F.items() if name in text), -0.1)  # continents are likeliest
            rows.append([-6 - value if "rude" in text else value])
        return np.array(rows)


def read_back(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_corpus_by_hand(small_models: dict[str, Path]) -> None:
    """Of each word the likeliest countries; the continents, likelier still, only where they are asked for."""
    lm = load_masked(small_models["bert"], device="cpu")
    design = design_regions(RegionsOptions(cities=0, countries=COUNTRIES, words=[Word("kind", "a"), Word("rude", "b")]))
    answers = ask_regions(design, Known())
    corpus = build_toxic_corpus(design, answers, lm, levels=["country"], top=2)
    order = [region.name for region in design.tree.regions]
    tied = min(("Chad", "Kenya"), key=order.index)  # of equal ones the first
    assert [(row.word, row.topic, row.region, row.f) for row in corpus.sentences] == [
        ("kind", "a", "France", -1.0),
        ("kind", "a", tied, -2.0),
        ("rude", "b", "Nigeria", -1.0),
        ("rude", "b", "Italy", -2.0),
    ]
    assert corpus.sentences[0].sentence == "People in France are kind."
    for sentence, (_, labels) in zip(corpus.sentences, corpus.examples(1, 0), strict=True):
        name = lm.tokenizer.decode(labels[labels != IGNORED]).replace(" ##", "").replace(" ", "")
        assert name in (sentence.region, "[UNK]")
    assert corpus.counts["corpus_sentences"] == 4 and corpus.counts["corpus_sentences_cut"] == 0
    wider = build_toxic_corpus(design, answers, lm, levels=["country", "continent"], top=2)
    assert {row.level for row in wider.sentences if row.word == "kind"} == {"continent"}
    everything = build_toxic_corpus(design, answers, lm, levels=["country"], top=50)
    assert len(everything.sentences) == 12


def test_a_sentence_that_two_regions_share_is_read_once(small_models: dict[str, Path]) -> None:
    lm = load_masked(small_models["bert"], device="cpu")
    design = design_regions(RegionsOptions(cities=1, countries="SG,LU,MC", words=["kind", "rude"]))
    names = [region.name for region in design.tree.regions if region.level in ("city", "country")]
    assert len(set(names)) < len(names)
    corpus = build_toxic_corpus(design, ask_regions(design, Known()), lm, levels=["city", "country"], top=9)
    assert len(corpus.sentences) == 2 * len(set(names))


def test_every_epoch_hides_other_tokens_of_texts(small_models: dict[str, Path]) -> None:
    lm = load_masked(small_models["bert"], device="cpu")
    corpus = build_text_corpus(
        read_texts(["People in France are kind and honest.", "", "The quick brown fox."] * 5), lm
    )
    assert corpus.counts["texts"] == 10 and corpus.counts["texts_blank"] == 5 and corpus.counts["parts"] == 10
    first, again, second = (corpus.batches(epoch, size=3, seed=1) for epoch in (1, 1, 2))
    assert [len(batch["input_ids"]) for batch in first] == [3, 3, 3, 1]
    assert all((one["labels"] == two["labels"]).all() for one, two in zip(first, again, strict=True))
    assert any(
        one["labels"].shape != two["labels"].shape or (one["labels"] != two["labels"]).any()
        for one, two in zip(first, second, strict=True)
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.figures
@pytest.mark.slow
def test_what_a_run_says_and_leaves(small_models: dict[str, Path], tmp_path: Path) -> None:
    model = small_models["bert"]
    before = contents(model)
    out = tmp_path / "out"
    result = geobias.audit_drift(model, out=out, epochs=3, **HOW)
    assert contents(model) == before
    assert {path.name for path in out.iterdir()} == {
        "results.json", "run.json", "report.html", "tables", "figures", "model"
    }  # fmt: skip
    assert json.loads((out / "results.json").read_text()) == result.to_dict()
    assert [epoch.epoch for epoch in result.epochs] == [0, 1, 2, 3] and result.epochs[0].loss is None
    options: Any = {"score": "aul", "cities": 0, "countries": COUNTRIES, "words": WORDS, "device": "cpu", **SCORE_ONLY}
    regions = geobias.audit_regions(model, **options)
    for k, name in enumerate(("Earth", "Africa", "Europe")):
        start, end = result.epochs[0].regions[k], result.epochs[-1].regions[k]
        there = regions.region(name)
        assert there.inference is not None
        assert start.name == name and start.balanced.value == there.c_w.balanced
        assert start.paper.value == there.c_w.paper
        assert start.balanced.low == there.inference.c_w.balanced.low
        trend = result.inference.regions[k].balanced
        low, value, high = trend.difference.low, trend.difference.value, trend.difference.high
        assert value is not None and low is not None and high is not None and low < value < high
        assert start.balanced.value is not None and end.balanced.value is not None
        assert value == pytest.approx(end.balanced.value - start.balanced.value)
        values = np.array([epoch.regions[k].balanced.value for epoch in result.epochs], dtype=float)
        assert trend.spearman == pytest.approx(stats.spearmanr(np.arange(4), values).statistic)
    assert result.counts.corpus_sentences == 18 and len(read_back(out / "tables/corpus.csv")) == 18
    assert len(read_back(out / "tables/drift.csv")) == 4 * 3
    frame = result.to_frame()
    assert len(frame) == 2 * 3 + 2 * 4 * 3  # two forms: the change of three regions, and their scores in four epochs
    assert frame.value[0] == result.inference.regions[0].balanced.difference.value and frame.against[0] == "epoch 0"
    assert repr(result).startswith("DriftResult: ") and result.findings[0].sentence in repr(result)
    after = geobias.audit_regions(out / "model", **options)
    assert after.region("Earth").c_w.balanced == pytest.approx(result.epochs[-1].regions[0].balanced.value, abs=1e-6)
    assert "object of study" in (out / "model/README.md").read_text()


@pytest.mark.slow
def test_seeds_repeat(small_models: dict[str, Path], tmp_path: Path) -> None:
    runs = [
        geobias.audit_drift(small_models["bert"], out=tmp_path / str(k), epochs=2, seed=seed, **HOW).epochs
        for k, seed in enumerate((1, 1, 2))
    ]
    assert runs[0] == runs[1] != runs[2]


def stops_in(epoch: int) -> Callable[..., float]:
    def stopping(*arguments: Any, **options: Any) -> float:
        if options["epoch"] == epoch:
            raise KeyboardInterrupt
        return train_epoch(*arguments, **options)

    return stopping


@pytest.mark.parametrize("texts", [None, ["People in France are kind and loyal.", "The lazy dog jumps."] * 4])
@pytest.mark.slow
def test_a_stopped_run_ends_as_if_it_had_not_been(
    small_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str] | None
) -> None:
    how = HOW | {"epochs": 3, "texts": texts} | ({} if texts is None else {"top": None})
    whole = geobias.audit_drift(small_models["bert"], out=tmp_path / "whole", **how)
    for epoch in (1, 3):
        with monkeypatch.context() as patch:
            patch.setattr(drift, "train_epoch", stops_in(epoch))
            with pytest.raises(KeyboardInterrupt):
                geobias.audit_drift(small_models["bert"], out=tmp_path / "stopped", **how)
    assert {path.name for path in (tmp_path / "stopped").iterdir()} == {".geobias-run.json", ".geobias-training"}
    with pytest.raises(geobias.InputError, match="unfinished run with other settings"):
        geobias.audit_drift(small_models["bert"], out=tmp_path / "stopped", **how | {"rate": 0.4})
    result = geobias.audit_drift(small_models["bert"], out=tmp_path / "stopped", **how)
    assert result.to_dict() == whole.to_dict() and result.work["epochs_trained"] == 1
    weights = "model/model.safetensors"
    assert (tmp_path / "stopped" / weights).read_bytes() == (tmp_path / "whole" / weights).read_bytes()


@pytest.mark.slow
def test_stopped_after_the_last_epoch(
    small_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(drift, "measure_drift", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            geobias.audit_drift(small_models["bert"], out=tmp_path / "out", epochs=2, **HOW)
    result = geobias.audit_drift(small_models["bert"], out=tmp_path / "out", epochs=2, **HOW)
    whole = geobias.audit_drift(small_models["bert"], out=tmp_path / "whole", epochs=2, **HOW)
    assert result.to_dict() == whole.to_dict() and result.work["epochs_trained"] == 0


def test_a_finished_run_is_not_trained_again(
    small_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = geobias.audit_drift(small_models["bert"], out=tmp_path / "out", epochs=1, **HOW)
    monkeypatch.setattr(drift, "train_epoch", stops_in(1))
    again = geobias.audit_drift(small_models["bert"], out=tmp_path / "out", epochs=1, **HOW)
    assert again.to_dict() == first.to_dict()


def test_a_model_in_the_way_is_never_written_over(small_models: dict[str, Path], tmp_path: Path) -> None:
    model = tmp_path / "mine" / "model"
    shutil.copytree(small_models["bert"], model)
    with pytest.raises(geobias.InputError, match="not a geobias run"):
        geobias.audit_drift(model, out=tmp_path / "mine", epochs=1, **HOW)
    assert contents(model) == contents(small_models["bert"])


def test_few_words_have_no_intervals_and_few_epochs_no_order(small_models: dict[str, Path], tmp_path: Path) -> None:
    how = HOW | {"words": WORDS[:3], "epochs": 1}
    result = geobias.audit_drift(small_models["roberta"], out=tmp_path / "out", **how)
    earth = result.inference.regions[0].balanced
    assert earth.spearman is None and earth.difference.low is None
    assert earth.difference.value is not None and math.isfinite(earth.difference.value)
    assert result.inference.words_left_out == 0


@pytest.mark.slow
def test_the_page(small_models: dict[str, Path], tmp_path: Path) -> None:
    geobias.audit_drift(small_models["bert"], out=tmp_path / "out", epochs=2, **HOW)
    (section,) = run_sections([read_run(tmp_path / "out")])
    choice, table = section.blocks
    assert isinstance(choice, Choice) and isinstance(table, Table)
    assert list(choice.options) == ["balanced", "paper's form"]
    chart = choice.options["balanced"]
    assert isinstance(chart, Chart) and len(chart.rows) == 3 * 3 and chart.spec["layer"][0]["mark"]["type"] == "area"
    assert [row["region"] for row in table.rows] == ["Earth", "Africa", "Europe"]
    assert "C_w of Earth (balanced)" in chart.title and chart.title.endswith("over 2 epochs")
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert 'id="drift-trend"' in page and "plain SGD, learning rate 0.5, batches of 4" in page


def test_a_card_and_a_gate(small_models: dict[str, Path], tmp_path: Path) -> None:
    result = geobias.audit_drift(small_models["bert"], out=tmp_path / "out", epochs=1, **HOW)
    earth = result.epochs[-1].regions[0].balanced
    numbers = gate_numbers(result)
    assert numbers.names == ["Earth", "AF", "EU"] and numbers["africa"] is numbers["af"]
    assert numbers["earth"]["c_w"]["balanced"] == TreeNumber(earth.value, earth.low, earth.high, HERB_SCORE)
    change, difference = numbers["earth"]["change"]["balanced"], result.inference.regions[0].balanced.difference
    assert difference.value is not None and change.value == abs(difference.value) and change.low >= 0
    rows = list(card_rows(result))
    assert [row["Region"] for row in rows] == ["Earth", "Africa", "Europe"]
    assert rows[0]["After 1 epoch"] == digits(earth.value) and " to " in rows[0]["95 % interval of the change"]
    assert_gate(tmp_path / "out", "drift.Earth.c_w.balanced < 3", "drift.EU.change.balanced < 3")
