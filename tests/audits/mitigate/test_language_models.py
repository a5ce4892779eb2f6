"""Language models: what is trained on is not audited, and a model that says the same of everything is no success."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import geobias
from geobias.audits.mitigate.design import AlignmentDesign
from geobias.audits.mitigate.findings import list_findings
from geobias.audits.mitigate.measure import adjust_language_models, recommend_language_model
from geobias.audits.mitigate.result import LanguageModelMeasures, MitigateResult
from geobias.audits.pages import read_run
from geobias.audits.study import prepare
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.models.training import alignment, word_scores
from geobias.models.training.alignment import AlignmentSplit, split_for_alignment
from geobias.models.training.word_scores import CapitalsKnown
from geobias.report.results import Interval
from tests.conftest import Run

TEXTS = [f"The quick brown fox number {i} jumps over the lazy dog." for i in range(30)]


def test_a_language_model_is_audited_before_and_after(
    small_models: dict[str, Path], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def split_few(regions: Any, words: Any, *others: Any, **options: Any) -> AlignmentSplit:
        africa = [region for region in regions if region.parent == regions[0].parent][:6]
        europe = [region for region in regions if region.parent != regions[0].parent][:10]
        return split_for_alignment([*africa, *europe], words[:24], *others, **options)

    monkeypatch.setattr(alignment, "split_for_alignment", split_few)
    known = CapitalsKnown(("FR", "MA"), np.array([True, False]))  # asking a tiny model for all takes seconds
    monkeypatch.setattr(word_scores, "share_of_capitals_known", lambda model, device: known)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    arguments = ("--texts", "texts.txt", "--method", "align:1", "--epochs", "1", "--device", "cpu")
    code, out, err = run("mitigate", small_models["bert"], *arguments, "--out", "fixed")
    assert code == 0, err
    assert "held-out words and regions" in out and "align:1" in out
    result = read_run(tmp_path / "fixed").result
    assert isinstance(result, MitigateResult)
    original, align = result.language_models
    assert align.folder == "models/align-1" and align.score.value != original.score.value and not result.methods
    assert align.score_change.low is not None and (align.word_variance_ratio.low or 0) > 0
    assert list(result.to_frame().measure) == ["change of score"]
    assert "align:1" in (tmp_path / "fixed/tables/language_models.csv").read_text()
    page = (tmp_path / "fixed/report.html").read_text(encoding="utf-8")
    assert "Bias against quality" in page and "held-out words" in page
    assert run("gate", "fixed", "--rule", "mitigate.align:1.words.ratio > 0")[0] == 0
    assert "align:1" in run("export", "fixed")[1]


def design(**options: Any) -> AlignmentDesign:
    return cast(
        AlignmentDesign, prepare(geobias.mitigate, "embedded/lm", method="align", out="fixed", **options).design
    )


def test_what_is_trained_on_is_not_audited() -> None:
    split = design(texts=TEXTS).split
    for part in ("regions", "words", "templates"):
        assert not set(getattr(split.train, part)) & set(getattr(split.held_out, part))
    repeated = design(texts=[*TEXTS, *TEXTS])
    assert not set(repeated.test_texts.texts) & set(repeated.replay.texts) and len(repeated.replay) == 15
    more = [*TEXTS[10:], *(f"Another text, number {i}." for i in range(50))]
    other = design(texts=TEXTS, train=[*more, *more], limit=40)
    assert len(other.replay) == 20 and not set(other.test_texts.texts) & set(other.replay.texts)
    with pytest.raises(geobias.InputError, match="is also in --texts"):
        design(texts=TEXTS, train=TEXTS)
    with pytest.raises(geobias.InputError, match=r"has 3 different texts\. A language model needs 20 plain texts"):
        design(texts=TEXTS[:3])


def make_result(**changes: float) -> MitigateResult:
    """A result whose method lowers the score clearly, with other numbers as given."""
    identity = ModelIdentity("lm", "aul", None)
    numbers = {"perplexity_change": 1.0, "capitals_change": 0.0, "word_variance_ratio": 0.9} | changes
    row = LanguageModelMeasures(
        method="align:1", model="lm", score=Interval(0.05, 0.04, 0.06), perplexity=20.0, capitals=50.0,
        score_change=Estimate(-0.02, -0.03, -0.01, 0.001, 0.001),
        **{name: Interval(value, value, value) for name, value in numbers.items()},  # type: ignore[arg-type]
    )  # fmt: skip
    rows, split = adjust_language_models([row]), design(texts=TEXTS)
    return MitigateResult(
        settings=split.settings_for("lm"), models=[identity], counts=split.count(),
        language_models=[row, *rows], recommended=recommend_language_model(rows),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "recommended", "sentence"),
    [
        ({}, "align:1", "Take align:1: it lowers the score. Cost: perplexity +1.0 %, capitals known +0.0 percentage"),
        ({"word_variance_ratio": 0.1}, None, "say much the same of everything: only 10 %"),
        ({"perplexity_change": 12.0}, None, "makes the model forget: perplexity +12.0 %"),
        ({"capitals_change": -5.0}, None, "No method is worth taking"),
    ],
)
def test_a_method_that_spoils_the_model_is_not_recommended(
    changes: dict[str, float], recommended: str | None, sentence: str
) -> None:
    result = make_result(**changes)
    findings = list_findings(result)
    assert result.recommended == recommended and sentence in "\n".join(finding.sentence for finding in findings)
    is_clear = any(finding.role == "overall" and finding.evidence == "clear" for finding in findings)
    assert is_clear == ("word_variance_ratio" not in changes)


def test_a_score_that_rises_is_said_to_rise() -> None:
    result = make_result()
    row = replace(result.language_models[1], score_change=Estimate(0.02, 0.01, 0.03, 0.001, 0.001), helps=False)
    answer, _, caution = list_findings(replace(result, language_models=[row, row], recommended=None))
    assert answer.direction == "higher" and answer.evidence == "clear" and "it rises" in answer.sentence
    assert caution.role == "caution" and "align:1 raises the score" in caution.sentence


def test_p_values_are_adjusted_for_all_methods() -> None:
    row = make_result().language_models[1]
    weak, none = (replace(row, score_change=Estimate(-0.02, -0.04, -0.001, p, p)) for p in (0.04, 0.8))
    assert adjust_language_models([weak])[0].helps
    first, second = adjust_language_models([weak, none])
    assert first.score_change.p_adjusted == pytest.approx(0.08) and not first.helps and not second.helps


@pytest.mark.parametrize(
    ("model", "method", "message"),
    [
        ("embedded/lm", "align,blind", "is for classifiers, align for language models"),
        ("embedded/sentiment", "align", "is a classifier. --method align is for language models"),
        ("package.module:function", "align", "trains a language model: give its Hugging Face id or folder"),
        ("embedded/lm", "align", "Name a folder for it with --out"),
    ],
)
def test_models_and_methods_that_do_not_fit(model: str, method: str, message: str) -> None:
    with pytest.raises(geobias.InputError, match=message):
        geobias.mitigate(model, method=method, texts=TEXTS)
