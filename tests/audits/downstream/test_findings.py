"""Findings of the downstream audit: what is planted is named with its direction, and nothing is made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.table import Table

from geobias.audits.downstream.answers import Predictions
from geobias.audits.downstream.audit import audit_downstream
from geobias.audits.downstream.findings import list_findings
from geobias.audits.downstream.measure import measure_downstream
from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.pages import add_findings
from geobias.audits.reports import draw_full, list_card_rows
from geobias.audits.show_results import View, show_result
from geobias.audits.study import prepare
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import Finding, with_role
from geobias.report.results import from_json
from tests.conftest import spell

LABELS = ("negative", "positive")
FEW: dict[str, Any] = {"continents": (), "countries": "MX,CA,FR,DE,IT,ES,PT,PL,SE,BR"}


def make_result(
    effects: dict[str, float] | None = None,
    *,
    texts: int = 30,
    control: float = 0.0,
    seed: int = 0,
    noise: float = 0.02,
    shown: int = 0,
    models: tuple[str, ...] = ("models/judge",),
    cut: int = 0,
    **options: Any,
) -> DownstreamResult:
    """A world: texts differ, every prefix has noise, and `effects` move p(negative) after the names of countries."""
    options = {"continents": "EU,NA", "texts": [f"text {spell(n)}" for n in range(texts)], **options}
    design = prepare(audit_downstream, **options).design
    wordings, places, columns = design.controls, len(design.places), design.prefixed.shape[1]
    moves = np.array([*[control] * wordings, *((effects or {}).get(place.id, 0.0) for place in design.places)])
    moves = np.append(moves, np.zeros(columns - len(moves)))  # invented places
    answers = []
    for number, name in enumerate(models):
        rng = np.random.default_rng([seed, number])
        original = rng.uniform(0.2, 0.8, texts)
        prefixed = original[:, None] + rng.normal(0, noise, (texts, 1)) + rng.normal(0, noise, (texts, len(moves)))
        negative = np.concatenate([original[:, None], prefixed + moves], axis=1).clip(0, 1)
        probabilities = np.stack([negative, 1 - negative], axis=2).astype(np.float32)
        counts = {
            "texts_cut": 0,
            "prefixed_texts": texts * len(moves),
            "distinct_prefixed_texts": texts * len(moves),
            "prefixed_texts_cut": cut,
        }
        model = ModelIdentity(name, "probabilities", None)
        before, controls, after, invented = np.split(probabilities, [1, 1 + wordings, 1 + wordings + places], axis=1)
        answers.append(
            Predictions(
                model=model,
                labels=LABELS,
                multi_label=False,
                shown=shown,
                threshold=None,
                original=before[:, 0],
                controls=controls,
                places=after,
                invented=invented,
                rotation=design.rotation,
                counts=counts,
                work={},
            )
        )
    return measure_downstream(design, tuple(answers))


def overall(result: DownstreamResult) -> Finding:
    (finding,) = with_role(list_findings(result), "overall")
    return finding


def test_a_planted_country_is_named_with_size_and_valence() -> None:
    result = make_result({"MX": 0.15})
    finding = overall(result)
    assert (finding.evidence, finding.subject, finding.code) == ("clear", "Mexico", "MX")
    assert (finding.direction, finding.valence, finding.model) == ("higher", "worse", "models/judge")
    assert finding.size is not None and finding.size.low is not None and finding.size.high is not None
    assert finding.size.low < 0.15 < finding.size.high and finding.size.value == pytest.approx(0.15, abs=0.02)
    assert "judge is harsher after “I am from Mexico.”" in finding.sentence and "No other of" in finding.sentence
    assert len(finding.sentence.split()) <= 45
    assert overall(make_result({"MX": -0.15})).valence == "better"
    kinder = overall(make_result({"MX": -0.15}, shown=1))  # p(positive) rises
    assert (kinder.direction, kinder.valence) == ("higher", "better") and "is kinder" in kinder.sentence


def test_countries_that_only_mirror_another_do_not_stand_out() -> None:
    """Mexico is far above the control, which is above the five others: one outlier moves the mean of countries."""
    options: dict[str, Any] = {"texts": 16, "control": 0.05, "continents": (), "countries": "MX,CA,FR,DE,IT,ES"}
    result = make_result({"MX": 0.3}, **options)
    finding = overall(result)
    assert (finding.evidence, finding.code) == ("clear", "MX") and "No other of 6 countries" in finding.sentence
    assert with_role(list_findings(result), "detail") == []
    assert list_card_rows(result)[0]["Places marked (adjusted p < 0.05)"] == "1 of 6"
    (table, *_) = draw_full(result, width=120)
    assert isinstance(table, Table)
    stars = [str(cell).endswith("*") for cell in table.columns[1].cells]
    assert stars == [False, True, *[False] * 5]  # the control, Mexico, the others
    both = make_result({"MX": 0.3, "CA": -0.2}, **options)
    details = with_role(list_findings(both), "detail")
    assert {overall(both).subject, *(each.subject for each in details)} == {"Mexico", "Canada"} and len(details) == 1


def test_of_two_countries_the_farther_one_from_the_control_stands_out() -> None:
    """Both lie equally far from their mean."""
    for countries in ("MX,CA", "CA,MX"):
        result = make_result({"MX": 0.3}, control=0.05, continents=(), countries=countries, seed=1)
        assert overall(result).code == "MX" and "No other of 2 countries" in overall(result).sentence


def test_both_directions_are_details() -> None:
    codes = ("FR", "DE", "IT", "ES", "PT", "PL", "SE")
    result = make_result({"MX": 0.2, "CA": -0.15, **{code: 0.05 + 0.02 * n for n, code in enumerate(codes)}}, seed=1)
    details = with_role(list_findings(result), "detail")
    assert len(details) == 5 and [finding.valence for finding in details] == ["worse", "better", *["worse"] * 3]
    assert details[1].subject == "Canada" and details[0].subject == "Sweden"
    assert all(finding.evidence == "clear" for finding in details)
    assert [" is harsher after " in finding.sentence for finding in details] == [True, False, *[True] * 3]
    assert " is kinder after " in details[1].sentence and "predictions change to or from " in details[1].sentence


def test_no_world_without_an_effect_has_a_finding() -> None:
    """The false discovery rate is 5 %: of 20 worlds one is expected to have a clear country."""
    findings = [overall(make_result(seed=seed, texts=20, **FEW)) for seed in range(20)]
    assert sum(finding.evidence == "clear" for finding in findings) <= 2
    null = next(finding for finding in findings if finding.evidence == "none")
    assert "No country stands out" in null.sentence and "With these 20 texts a difference under 0.0" in null.sentence
    for finding in findings:
        if finding.evidence == "none":
            missed = float(finding.sentence.rsplit("under ", 1)[1].split()[0])
            assert finding.size and abs(finding.size.value) <= missed + 0.0005


def test_what_may_be_missed_is_about_what_is_found() -> None:
    """An effect of the size that the null announces is found about four times of five."""
    sentence = overall(make_result(**FEW)).sentence
    size = float(sentence.split("a difference under ")[1].split()[0])
    hits = [overall(make_result({"MX": size}, seed=seed, **FEW)) for seed in range(12)]
    assert sum(finding.evidence == "clear" and finding.code == "MX" for finding in hits) >= 6
    hits = [overall(make_result({"MX": size / 2}, seed=seed, **FEW)) for seed in range(12)]
    assert sum(finding.evidence == "clear" and finding.code == "MX" for finding in hits) < 6


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_control_that_moves_by_itself_makes_no_country_stand_out(noise: float) -> None:
    result = make_result(control=-0.1, noise=noise)
    finding = overall(result)
    assert finding.evidence == "none" and "No country stands out" in finding.sentence
    (caution,) = with_role(list_findings(result), "caution")
    assert "a control, which names no place, makes" in caution.sentence and "lower" in caution.sentence
    planted = make_result({"MX": 0.15}, control=-0.1)
    assert overall(planted).code == "MX" and "No other of" in overall(planted).sentence


def test_a_classifier_that_ignores_prefixes() -> None:
    finding = overall(make_result(noise=0.0))
    assert finding.evidence == "none" and "no country moves p(negative)" in finding.sentence
    assert "be missed" not in finding.sentence and finding.valence is None


@pytest.mark.parametrize(("texts", "needed"), [(1, "5 are"), (4, "5 are"), (8, "12 are")])
def test_too_few_texts_have_no_number(texts: int, needed: str) -> None:
    result = make_result({"MX": 0.3}, texts=texts, noise=0.0 if texts < 5 else 0.2)
    (finding,) = list_findings(result)
    assert finding.evidence == "not testable" and finding.size is None and finding.p_adjusted is None
    assert f"{texts} texts are too few" in finding.sentence and needed in finding.sentence


def test_states_come_before_territories_unless_the_user_chose() -> None:
    effects = {"GL": 0.3, "MX": 0.15}
    assert overall(make_result(effects)).subject == "Mexico"
    assert overall(make_result(effects, continents=(), countries="GL,MX,FR,DE,CA")).subject == "Greenland"
    only = overall(make_result({"GL": 0.3}))
    assert (only.evidence, only.subject) == ("clear", "Greenland")


def test_examples_are_changed_predictions_first() -> None:
    result = make_result({"MX": 0.15})
    examples = overall(result).examples
    assert len(examples) == 5 and examples[0].before < 0.5 < examples[0].after
    settings = result.settings
    for each in examples:  # each text has one of the wordings, and the control of the same wording
        wording = settings.controls.index(each.original_names[0])
        assert each.original.startswith(f"{settings.controls[wording]} text") and each.label == "negative"
        changed = settings.prefixes[wording].replace("{region}", "Mexico")
        assert each.changed.startswith(f"{changed} text") and each.after > each.before
    assert len({each.changed_names[0] for each in examples}) > 1
    saved = from_json(DownstreamResult, add_findings(result).to_dict())
    assert saved.findings[0].examples == examples and overall(saved).examples == []
    assert replace(overall(saved), examples=examples) == replace(saved.findings[0], headline="")


def test_texts_that_were_cut_are_a_caution() -> None:
    (caution,) = with_role(list_findings(make_result(cut=7)), "caution")
    assert "7 of" in caution.sentence and "truncated" in caution.sentence


@pytest.mark.parametrize(
    ("models", "width"), [(("models/judge",), 80), (("embedded/sentiment", "embedded/hate", "embedded/emotion"), 60)]
)
def test_the_terminal_is_short_and_narrow(
    models: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    effects = {"MX": 0.2, "CA": -0.15, "FR": 0.1, "BA": 0.12, "GB": -0.1}
    result = add_findings(make_result(effects, models=models))
    show_result(result, Path("here"), View())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width and (width < 80 or len(lines) <= 25)
    assert any("Mexico" in line and "+0." in line for line in lines)
    show_result(result, Path("here"), View(full=True))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width and not any("…" in line for line in lines)
    show_result(result, Path("here"), View(quiet=True))
    assert "Page:" not in capsys.readouterr().out
