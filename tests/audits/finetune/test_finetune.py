"""Table 5: flips by hand, texts divided, models ranked; and the command as a user types it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.downstream.result import Performance, PerformanceByPrefix
from geobias.audits.finetune import measure
from geobias.audits.finetune.design import FinetuneOptions, design_finetune, split_by_class
from geobias.audits.finetune.findings import list_findings
from geobias.audits.finetune.gate_and_card import card_rows, gate_numbers
from geobias.audits.finetune.measure import (
    measure_flips,
    measure_flips_against_control,
    rank_correlation,
    share_interval,
)
from geobias.audits.finetune.result import (
    Correlation,
    FinetuneCounts,
    FinetunedModel,
    FinetuneResult,
    FinetuneSettings,
    HerbScore,
    TrainingEpoch,
)
from geobias.audits.finetune.terminal import describe_correlation, summary_table
from geobias.audits.inputs import TextsSettings
from geobias.audits.regions.records import Score, ScoreEstimates
from geobias.errors import InputError
from geobias.measures.bootstrap import bootstrap_means
from geobias.measures.estimates import Estimate, Estimates
from geobias.measures.shift import flip_shares
from geobias.models.scorer import ModelIdentity
from geobias.models.training.hyperparameters import Hyperparameters
from geobias.report.number_tree import PER_CENT, TreeNumber
from geobias.report.results import Interval
from geobias.testing import assert_gate
from tests.conftest import Run, spell

TEXTS = [f"{word} number {spell(k)}" for k in range(20) for word in ("nice", "nasty")]
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
    flips = measure_flips(before, after, ["kind", "rude"])
    assert {direction: interval.value for direction, interval in flips.items()} == {
        "any": 37.5, "kind to rude": 25.0, "rude to kind": 12.5
    }  # fmt: skip


def test_texts_are_divided_class_by_class_and_never_shared(labelled: Path) -> None:
    stays, held_out = split_by_class(np.arange(40), LABELS, 0.2, seed=0)
    assert len(held_out) == 8 and [LABELS[k] for k in held_out].count("kind") == 4
    assert not set(stays) & set(held_out) and len(stays) == 32
    design = design_finetune(FinetuneOptions(texts=labelled / "train.csv", label="label", countries="FR,IE,NG"))
    parts = [set(design.train.texts), set(design.validation.texts), set(design.downstream.texts.texts)]
    assert [len(part) for part in parts] == [28, 4, 8] and len(set.union(*parts)) == 40
    assert design.settings.labels == ["kind", "rude"] and design.settings.without == ["IE"]
    countries = {"countries": "FRA,Ireland,NG", "without": "NGA,Republic of Ireland,NG"}
    design = design_finetune(FinetuneOptions(texts=labelled / "train.csv", label="label", **countries))  # type: ignore[arg-type]
    assert design.settings.without == ["NG", "IE"] and design.settings.countries == ["FR", "IE", "NG"]
    assert design.counts.dissolved_countries == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"texts": "one.csv"}, "at least two classes"),
        ({"texts": "train.csv", "test": "odd.csv"}, "strange"),
        ({"texts": "rare.csv"}, "Too few texts"),
        ({"texts": "train.csv", "without": "MX"}, r"--without names Mexico \(MX\), which is not in this audit"),
        ({"texts": "train.csv", "without": "Irland"}, r"Did you mean Ireland \(IE\)"),
        ({"texts": "train.csv", "label": "nothing"}, "nothing"),
    ],
)
def test_texts_that_cannot_train_are_refused(labelled: Path, options: dict[str, str], said: str) -> None:
    given: dict[str, Any] = {"label": "label", "countries": "FR,IE,NG", **options}
    for name in ("texts", "test"):
        if name in given:
            given[name] = labelled / given[name]
    with pytest.raises(InputError, match=said):
        design_finetune(FinetuneOptions(**given))


NO_ESTIMATE = Estimate(None, None, None, None, None)


def entry(score: Score | None, flips: float) -> FinetunedModel:
    """A fine-tuned model of which only the score and the flips matter."""
    performance = Performance(1.0, 1.0)
    return FinetunedModel(
        model=ModelIdentity("some/model", "probabilities", None),
        herb=None if score is None else HerbScore("Earth", score, ScoreEstimates(NO_ESTIMATE, NO_ESTIMATE)),
        without_score=None,
        performance=PerformanceByPrefix(performance, performance, performance),
        epochs=[TrainingEpoch(0.5, 1.0, 1.0, 1)],
        best_epoch=1,
        flips={"all": {"any": Interval(flips, 0.0, 9.0)}},
        control={"any": Interval(0.0, 0.0, 9.0)},
    )


def test_models_are_ranked_by_score_and_flips() -> None:
    scores = [Score(0.1, 3.0), Score(0.2, 2.0), Score(0.3, 1.0)]
    entries = [entry(score, flips) for score, flips in zip(scores, (1.0, 2.0, 5.0), strict=True)]
    correlation = rank_correlation(entries)
    assert correlation is not None and correlation.balanced.value == 1 and correlation.paper.value == -1
    assert rank_correlation([*entries[:2], entry(None, 1.0)]) is None
    alike = rank_correlation([entry(score, 0.0) for score in scores])
    assert alike is not None and alike.balanced == alike.paper == Correlation(None, None)
    assert "no rank correlation" in describe_correlation(alike) and "+1.00" in describe_correlation(correlation)


@pytest.mark.slow
def test_bootstraps_are_drawn_once(
    labelled: Path, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two for each of all countries, those without Ireland, and the control, and one for the test against it."""
    calls = []

    def count(values: np.ndarray) -> Estimates:
        calls.append(1)
        return bootstrap_means(values)

    monkeypatch.setattr(measure, "bootstrap_means", count)
    result = geobias.audit_finetune(
        small_models["bert"], labelled / "train.csv", label="label", epochs=1, countries="FR,IE,NG", device="cpu",
        out=labelled / "here",
    )  # fmt: skip
    assert len(calls) == 2 * 3 + 1 and result.to_dict() == json.loads((labelled / "here/results.json").read_text())
    assert [model.name for model in result.models] == [str(small_models["bert"])] and len(result.to_frame()) == 3 * 3
    assert repr(result).startswith("FinetuneResult: ") and "% of labels flip when the prefix names a country" in repr(
        result
    )
    assert "<table" in result._repr_html_()
    flips = result.fine_tuned[0].flips["all"]
    numbers = gate_numbers(result)[small_models["bert"].name]["flips"]
    assert numbers.names == ["any", "kind to rude", "rude to kind"]
    assert numbers["any"] == TreeNumber(flips["any"].value, flips["any"].low, flips["any"].high, PER_CENT)
    (row,) = card_rows(result)
    assert row["Labels that flip with a country's name, %"] == f"{flips['any'].value:.2f}"
    name = small_models["bert"].name
    assert_gate(labelled / "here", f"finetune.{name}.flips.any < 99", f'finetune.{name}.flips."kind to rude" < 99')


@pytest.mark.slow
def test_two_models_give_table_5_in_one_go(run: Run, labelled: Path, small_models: dict[str, Path]) -> None:
    command = ("finetune", str(small_models["bert"]), str(small_models["roberta"]), "--texts", "train.csv", "--label",
               "label", "--epochs", "1", "--countries", "FR,IE,NG,KE", "--device", "cpu", "--out", "here")  # fmt: skip
    code, out, err = run(*command, "--full")
    assert code == 0, err
    assert "to rude" in out and "to kind" in out and "without IE" in out
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith("Results"))
    assert "Fewer than three models" in out
    results = json.loads((labelled / "here/results.json").read_text())
    assert results["counts"] == {"training_texts": 28, "validation_texts": 4, "test_texts": 8, "regions": 4,
                                 "rows_without_text": 0, "test_texts_of_training": 0,
                                 "dissolved_countries": []}  # fmt: skip
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
    design = design_finetune(
        FinetuneOptions(texts=labelled / "train.csv", test=labelled / "seen.csv", label="label", countries="FR,NG")
    )
    assert design.downstream.texts.texts == ("unheard of",) and design.counts.test_texts_of_training == 1
    with pytest.raises(InputError, match="is also a training text"):
        design_finetune(
            FinetuneOptions(texts=labelled / "train.csv", test=labelled / "train.csv", label="label", countries="FR,NG")
        )


def test_no_flip_is_not_certainty() -> None:
    interval = share_interval(Estimates.unknown(np.array([0.0])), 0, texts=40)
    assert interval.value == 0 and interval.high == pytest.approx(100 * (1 - 0.025 ** (1 / 40)))  # 8.8 %


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


@pytest.mark.parametrize(
    ("by_country", "by_control", "evidence", "phrase"),
    [
        (
            30,
            3,
            "clear",
            "when the prefix names a country, 5.0 % when it names none: countries flip 45 percentage points more",
        ),
        (30, 30, "none", "no clear difference (adjusted p = 1)"),  # what any prefix does
        (4, 0, "none", "With these 60 test texts a difference under"),  # too few texts to tell
        (5, 0, "suggestive", "countries may flip"),
        (0, 0, "none", "With these 60 test texts a difference under 13 percentage points could be missed"),
    ],
)
def test_flips_are_tested_against_the_control(by_country: int, by_control: int, evidence: str, phrase: str) -> None:
    kind, rude, labels = [0.9, 0.1], [0.1, 0.9], ["kind", "rude"]
    before, after = np.tile(kind, (60, 1)), np.tile(kind, (60, 4, 1))  # the control, then three countries
    after[:by_control, 0] = rude
    after[:by_country, 1:] = rude
    measured = replace(
        entry(None, 0.0),
        flips={"all": measure_flips(before, after[:, 1:], labels)},
        control=measure_flips(before, after[:, :1], labels),
        against_control=measure_flips_against_control(before, after),
    )
    no_texts = TextsSettings("", 0, "")
    result = FinetuneResult(
        settings=FinetuneSettings(no_texts, no_texts, labels, Hyperparameters(), "", [], [], "", [], []),
        models=[measured.model],
        counts=FinetuneCounts(100, 10, 60, 3, 0, 0),
        labels=labels,
        fine_tuned=[measured],
        rank_correlation=None,
    )
    answer, *details = list_findings(result)
    assert answer.evidence == evidence and phrase in answer.sentence and len(answer.sentence.split()) <= 45
    assert [detail.subject for detail in details] == (["kind to rude"] if by_country else [])
    assert len(summary_table(result, 60).columns) == 4
