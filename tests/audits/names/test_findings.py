"""Findings of a names audit on planted, null, noisy and artefact-only worlds, and what the terminal shows of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.audit import audit_names
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.findings import list_findings
from geobias.audits.names.measure import measure_names
from geobias.audits.names.names_alike import explain
from geobias.audits.names.report import make_report, overlay_runs
from geobias.audits.names.result import FinderSpans, NamesResult
from geobias.audits.names.rows import NamesAlike
from geobias.audits.reports import draw_summary
from geobias.audits.show_results import View, show_result
from geobias.audits.side_by_side import NamedRun
from geobias.audits.study import prepare
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.declarations import make_section
from geobias.report.findings import Finding, with_role
from geobias.report.page.blocks import Block, Table
from tests.conftest import made_up_names, spell

COUNTRIES = [f"{letter}land" for letter in "ABCDEF"]
LABELS = ("negative", "positive")
DRAWS = 4
Effect = Callable[[str], float]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("names")


@pytest.fixture(scope="module")
def design(folder: Path) -> NamesDesign:
    return make_design(folder, ["Mary", "John"] * 12)


def make_design(folder: Path, names: list[str], **options: Any) -> NamesDesign:
    """A text for each name; countries without a name in common: Amalea, Bmalea, ..."""
    frame = pd.DataFrame(
        {
            "text": [f"{name} came to see us on day {spell(i)}" for i, name in enumerate(names)],
            "spans": [f"[[0, {len(name)}]]" for name in names],
        }
    )
    gazetteer = options.pop("gazetteer", None) or made_up_names(folder, COUNTRIES)
    options = {"texts": frame, "spans": "spans", "draws": DRAWS, "gazetteer": gazetteer, "device": "cpu", **options}
    design: NamesDesign = prepare(audit_names, **options).design
    return design


def answer(
    design: NamesDesign, seed: int, effect: Effect = lambda text: 0.0, *, name: str = "toy", noise: float = 0.1
) -> ClassifierAnswers:
    """A classifier with effects of texts, of names and of their interaction, and with `effect` of a renamed text."""
    rng = np.random.default_rng(seed)
    renamed = design.counterfactuals
    tone = rng.normal(0, 0.3, len(design.texts))
    of_names = dict[str, float]()
    versions = np.array(
        [
            effect(text) + of_names.setdefault(text.split()[0], rng.normal(0, noise / 2)) + rng.normal(0, noise)
            for text in renamed
        ]
    ).reshape(renamed.shape)
    return ClassifierAnswers(
        model=ModelIdentity(name, "probabilities", None),
        labels=LABELS,
        multi_label=False,
        positive=[1],
        negative=[0],
        threshold=None,
        original=_probabilities(tone),
        renamed=_probabilities(tone[design.named][:, None, None] + versions),
        truth=None,
        counts=dict.fromkeys(("texts_cut", "renamed_texts", "distinct_renamed_texts", "renamed_texts_cut"), 0),
        work={"texts_scored": 0, "renamed_texts_scored": 0},
    )


def _probabilities(tone: np.ndarray) -> np.ndarray:
    """p(negative), p(positive) whose difference is `tone`."""
    return np.stack([0.5 - tone / 2, 0.5 + tone / 2], axis=-1)


def measure(design: NamesDesign, *answers: ClassifierAnswers) -> NamesResult:
    result = measure_names(design, answers)
    return replace(result, findings=list_findings(result))


def dislike(text: str, initial: str = "B", size: float = -0.2) -> float:
    return size if text.startswith(initial) else 0.0


def overall(result: NamesResult) -> Finding:
    (finding,) = with_role(result.findings, "overall")
    return finding


def test_a_planted_dislike_is_named_with_its_size(design: NamesDesign) -> None:
    result = measure(design, answer(design, 1, dislike))
    finding = overall(result)
    assert (finding.evidence, finding.subject, finding.code) == ("clear", "Bland", "Bland")
    assert (finding.direction, finding.valence) == ("lower", "worse")
    size = finding.size
    assert size is not None and size.low is not None and size.high is not None and size.unit == "points"
    assert size.low < -20 * 5 / 6 < size.high and size.value == pytest.approx(-20 * 5 / 6, abs=4)
    assert finding.p_adjusted == min_p(result)
    assert finding.sentence.startswith("toy: Scores differ between countries by 8.9 points (standard deviation; 95 %")
    assert "18 points lower (harsher) with names common in Bland" in finding.sentence
    assert "of 6 countries stand" in finding.sentence and len(finding.sentence.split()) <= 45
    assert "overestimated, that of Bland by about 3 %" in finding.limit
    assert "names toy --texts FILE --seed 1" in finding.next_step
    # Bland moves the mean of countries: that the others look kinder is no finding of its own.
    assert with_role(result.findings, "detail") == []
    (caution,) = with_role(result.findings, "caution")
    assert "may only mirror that of Bland" in caution.sentence and "Aland,Cland" in caution.next_step


def show_blocks(result: NamesResult) -> Sequence[Block]:
    return make_section(make_report(result), "names").blocks


def min_p(result: NamesResult) -> float:
    """Of delta: that any country differs."""
    return min(row.p_adjusted for row in result.effects if row.p_adjusted is not None)


def test_emotions_are_neither_better_nor_worse(design: NamesDesign) -> None:
    """A text may express anger or joy: neither is a judgement of the people in it."""
    result = measure(design, replace(answer(design, 1, dislike), labels=("anger", "joy")))
    finding = overall(result)
    assert (finding.evidence, finding.direction, finding.valence) == ("clear", "lower", None)
    assert "points lower with names common in Bland" in finding.sentence
    page = " ".join(map(str, show_blocks(result))) + str(overlay_runs([NamedRun("here", result)]))
    assert "names common in Bland have a lower Δ" in page and "clear: Δ lower" in page
    assert not re.search("kind(er|ly)|harsh|worse", page)


def test_no_number_of_fewer_than_five_texts_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of four texts neither Δ nor KL, in results, frames, --full and on the page; of five both."""
    for texts, is_shown in ((4, False), (5, True)):
        design = make_design(folder, ["Mary"] * texts)
        result = measure(design, answer(design, 1, dislike))
        row = result.effects[1]
        numbers = [row.against_originals, row.kl, row.against_mean, row.kl_from_mean]
        assert [number.value is not None for number in numbers] == [is_shown] * 4
        frame = result.to_frame()
        assert frame[frame["measure"].isin(["delta", "kl"])]["value"].notna().eq(is_shown).all()
        (table,) = (block for block in show_blocks(result) if isinstance(block, Table))
        assert (table.rows[0]["Δ"] == table.rows[0]["evidence"] == "too few") != is_shown
        assert (overlay_runs([NamedRun("here", result)]) is not None) == is_shown
        monkeypatch.setenv("COLUMNS", "120")
        show_result(result, Path("here"), View(full=True))
        bland = [line.split()[1:3] for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["Bland"]]
        assert bland and (bland[0] == ["too", "few"]) != is_shown


def test_examples_move_in_the_direction_of_the_finding(design: NamesDesign) -> None:
    examples = overall(measure(design, answer(design, 1, dislike))).examples
    assert len(examples) == 5 and len({example.text_id for example in examples}) == 5
    for example in examples:
        assert example.changed.startswith("B") and example.changed_names == [example.changed.split()[0]]
        assert example.original_names == [example.original.split()[0]]
        assert example.label == "negative" and example.after > example.before


def test_examples_have_no_doubtful_person(folder: Path) -> None:
    design = make_design(folder, ["Stupidly", "Mary"] * 12)
    examples = overall(measure(design, answer(design, 1, dislike))).examples
    assert len(examples) == 5 and all(example.original.startswith("Mary") for example in examples)


def test_a_world_without_effects_has_no_clear_finding(design: NamesDesign) -> None:
    """At most 1 of 20 on average: names matter in this world, countries do not."""
    results = [measure(design, answer(design, seed)) for seed in range(20)]
    answers = [overall(result) for result in results]
    assert sum(finding.evidence in ("clear", "suggestive") for finding in answers) <= 2
    null = next(finding for finding in answers if finding.evidence == "none")
    assert "No country's names stand out: 6 countries tested together (p = " in null.sentence
    assert "With these 24 texts a difference under" in null.sentence and len(null.sentence.split()) <= 45
    assert null.examples == [] and "To find gaps half as large, use about" in null.next_step
    for finding, result in zip(answers, results, strict=True):  # the overall test and the countries agree
        p = min_p(result)
        assert finding.p_adjusted is not None
        assert (p < 0.05) == (finding.evidence == "clear") and p <= finding.p_adjusted


def test_an_effect_of_the_size_that_could_be_missed_is_mostly_detected(design: NamesDesign) -> None:
    """80 % power: a country as far from the mean as the audit says is clear in most worlds, one half as far is not."""
    (effect,) = [row for row in measure(design, answer(design, 0)).smallest_effects if row.label is None]
    assert effect.value is not None
    size = -effect.value / 100 * 6 / 5  # one of six countries moves the mean
    worlds = [measure(design, answer(design, seed, partial(dislike, size=size))) for seed in range(12)]
    assert sum(overall(result).evidence == "clear" for result in worlds) >= 7
    half = [measure(design, answer(design, seed, partial(dislike, size=size / 2))) for seed in range(12)]
    assert sum(overall(result).evidence == "clear" for result in half) <= 6


@pytest.mark.parametrize(
    ("texts", "options", "reason", "next_step"),
    [
        (14, {}, "at least 15 texts", "--texts FILE"),
        (24, {"draws": 1}, "one draw per text", "--draws 50"),
        (15, {"draws": 2}, "at least 40 renamed texts", "--draws 3"),
        (24, {"countries": "Aland"}, "one country", "--countries all"),
    ],
)
def test_too_little_is_not_testable(
    folder: Path, texts: int, options: dict[str, Any], reason: str, next_step: str
) -> None:
    design = make_design(folder, ["Mary"] * texts, **options)
    for seed in range(3):
        result = measure(design, answer(design, seed, dislike, noise=0.5))
        finding = overall(result)
        assert finding.evidence == "not testable" and finding.size is None and finding.p_adjusted is None
        assert reason in finding.sentence and next_step in finding.next_step
        assert with_role(result.findings, "detail") == []


def test_a_classifier_that_ignores_names(design: NamesDesign) -> None:
    result = measure(design, answer(design, 1, noise=0.0))
    assert overall(result).evidence == "none" and "do not depend on the country" in overall(result).sentence


@pytest.fixture(scope="module")
def rare_names(folder: Path) -> NamesDesign:
    """Names of different lengths within a country; those of Bland are longer by six letters."""
    rows = ["country,kind,name"]
    for country in COUNTRIES:
        for kind in ("male", "female", "last"):
            for i in range(20):
                length = i % 5 + 6 * (country == "Bland")
                rows.append(f"{country},{kind},{country[0]}{kind}{chr(97 + i)}{'x' * length}")
    file = folder / "rare.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    return make_design(folder, ["Mary", "John"] * 12, gazetteer=file)


def test_an_effect_of_rarity_alone_has_a_caution(rare_names: NamesDesign) -> None:
    result = measure(rare_names, answer(rare_names, 1, lambda text: -0.04 * text.count("x"), noise=0.02))
    finding = overall(result)
    assert (finding.subject, finding.evidence) == (None, "suggestive") and not with_role(result.findings, "detail")
    assert finding.size is not None and finding.size.value == pytest.approx(9.8, abs=0.5)  # 24 / sqrt(6)
    assert "but names' length explains it: 0." in finding.sentence and len(finding.sentence.split()) <= 45
    caution = with_role(result.findings, "caution")[0]
    assert caution.subject == "Bland" and "is not told of the country: names' length explains it" in caution.sentence
    assert "--gazetteer" in caution.next_step
    planted = measure(rare_names, answer(rare_names, 1, dislike, noise=0.02))
    assert overall(planted).evidence == "clear" and overall(planted).subject == "Bland"
    assert not any("not told of" in each.sentence for each in with_role(planted.findings, "caution"))


def test_a_country_with_little_left_is_told_by_what_is_left(rare_names: NamesDesign) -> None:
    """Two thirds of Bland's gap are its names' length: the rest is clear, and is what the finding says."""

    def effect(text: str) -> float:
        return -0.03 * text.count("x") + dislike(text, size=-0.12)

    result = measure(rare_names, answer(rare_names, 1, effect, noise=0.01))
    finding = overall(result)
    assert (finding.evidence, finding.subject, finding.valence) == ("clear", "Bland", "worse")
    assert finding.size is not None and finding.size.value == pytest.approx(-10, abs=1)  # 12 points, 5 / 6 of them
    assert "points lower (harsher) with names common in Bland between names of equal length" in finding.sentence


def test_a_test_without_power_leads_nothing(rare_names: NamesDesign) -> None:
    """The gap whose remainder is uncertain is not preferred to one that stays: only what is clear both ways leads."""
    result = measure(rare_names, answer(rare_names, 1, partial(dislike, initial="C"), noise=0.02))
    cland = result.effects[2]
    assert cland.stands_out and cland.reason is None

    def widen(row: NamesAlike) -> NamesAlike:
        return replace(row, adjusted=Estimate(row.adjusted.value, -99.0, 99.0, 0.6, 0.9))

    rows = [widen(row) if row.code == "Cland" else row for row in result.names_alike]
    explanation = explain(result.covariates, rows, [("Cland", cland.against_mean)])
    assert explanation is not None and "it is not clear between names of equal length" in explanation.reason
    told = replace(cland, reason=explanation.reason)
    assert (told.evidence, told.stands_out) == ("suggestive", False)


def test_details_are_clear_and_few(design: NamesDesign) -> None:
    def split(text: str) -> float:
        return 0.3 if text[0] in "ABC" else -0.3

    answers = [answer(design, seed, split, name=f"toy{seed}") for seed in range(2)]
    result = measure(design, *answers)
    details = with_role(result.findings, "detail")
    assert len(details) == 5 and all(detail.evidence == "clear" for detail in details)
    sizes = [abs(detail.size.value) for detail in details if detail.size]
    assert sizes == sorted(sizes, reverse=True)
    assert [finding.role for finding in result.findings[:7]] == ["overall"] * 2 + ["detail"] * 5


def test_a_class_that_changes_while_delta_does_not(design: NamesDesign) -> None:
    """Names of Bland take as much from the positive as from the negative class, and give it to a third."""
    rng = np.random.default_rng(5)
    renamed = design.counterfactuals
    surprise = np.array([0.5 if text.startswith("B") else 0.3 for text in renamed]) + rng.normal(0, 0.04, len(renamed))
    rest = (1 - surprise) / 2
    probabilities = np.stack([rest, rest, surprise], axis=-1).reshape(*renamed.shape, 3)
    base = answer(design, 1)
    answers = replace(
        base,
        labels=("negative", "positive", "surprise"),
        original=np.tile([0.36, 0.35, 0.29], (len(design.texts), 1)),
        renamed=probabilities,
    )
    result = measure(design, answers)
    assert overall(result).evidence == "none"
    (detail,) = with_role(result.findings, "detail")
    assert detail.subject == "Bland" and detail.valence is None
    assert "100 of 100 texts with names common in Bland are called surprise, " in detail.sentence
    assert "although Δ shows no clear difference" in detail.sentence
    # Without positive and negative labels, the same is the overall answer.
    finding = overall(measure(design, replace(answers, positive=[], negative=[])))
    assert finding.evidence == "clear" and finding.subject == "Bland"
    assert finding.size is not None and finding.size.unit == "per cent" and "countries and classes" in finding.sentence
    assert "How often texts are called surprise differs between countries by " in finding.sentence
    assert "100 of 100 with names common in Bland, 0 of the originals" in finding.sentence


def name_language(design: NamesDesign, effect: Effect, seed: int = 1) -> ClassifierAnswers:
    """A language identifier: two classes, neither good nor bad."""
    answers = answer(design, seed, effect, noise=0.3)
    return replace(answers, labels=("English", "not English"), positive=[], negative=[])


def test_two_complementary_classes_are_one_test_told_by_rates(design: NamesDesign) -> None:
    result = measure(design, name_language(design, lambda text: 0.5 * text.startswith("B")))
    finding = overall(result)
    assert (finding.evidence, finding.subject) == (
        "clear",
        "Bland",
    ) and "1 of 6 countries stands out" in finding.sentence
    english = [row for row in result.classes if row.label == "English"]  # the rarer class
    rates, before = [100 * row.rate for row in english], 100 * english[1].rate_before
    assert f"{rates[1]:.0f} of 100 with names common in Bland, {before:.0f} of the originals" in finding.sentence
    assert "called English differs between countries by" in finding.sentence
    (spread,) = [row for row in result.spreads if row.label == "English" and not row.is_alike]
    assert spread.sd.value == pytest.approx(np.std(rates, ddof=1), abs=1.5)
    for row in english:  # six tests, not twelve
        estimate = row.against_mean
        assert estimate.p is not None and estimate.p_adjusted is not None and estimate.p_adjusted <= 6 * estimate.p


def test_classes_have_the_same_control_as_delta(rare_names: NamesDesign) -> None:
    result = measure(rare_names, name_language(rare_names, lambda text: 0.06 * text.count("x") - 0.5))
    finding = overall(result)
    assert (finding.evidence, finding.subject) == ("suggestive", None)
    assert "names' length explains it" in finding.sentence and "percentage points are left" in finding.sentence
    (caution,) = [each for each in with_role(result.findings, "caution") if "not told of" in each.sentence]
    assert "percentage points become" in caution.sentence
    # Near the end of the scale slopes are no guide: 18 points become -20. That explains nothing.
    saturated = overall(measure(rare_names, name_language(rare_names, lambda text: 0.08 * text.count("x"))))
    assert saturated.evidence == "suggestive" and "it cannot be told from names' length" in saturated.sentence
    planted = overall(measure(rare_names, name_language(rare_names, lambda text: 0.5 * text.startswith("C"))))
    assert (planted.evidence, planted.subject) == ("clear", "Cland")


def test_a_change_of_a_class_needs_five_texts(design: NamesDesign) -> None:
    """Bland's names turn some texts hateful: from four texts no change is shown anywhere, from five it is."""
    renamed, base = design.counterfactuals, answer(design, 1, noise=0.0)
    for count, is_shown in ((4, False), (5, True)):
        hate = np.full(renamed.shape, 0.2)
        hate[:count, 1] = 0.9
        original = np.full(len(design.texts), 0.2)
        original[-3:] = hate[-3:] = 0.8
        answers = replace(
            base,
            labels=("hate", "not-hate"),
            original=np.stack([original, 1 - original], axis=-1),
            renamed=np.stack([hate, 1 - hate], axis=-1),
        )
        result = measure(design, answers)
        hateful = [row for row in result.classes if row.label == "hate"]
        assert (hateful[1].changed_texts, hateful[1].changed_texts_from_mean) == (count, count)
        assert (hateful[1].against_originals.value is not None) == is_shown
        assert (hateful[1].against_mean.value is not None) == (hateful[1].p_adjusted is not None) == is_shown
        assert hateful[0].against_originals.value == 0  # no text changed
        frame = result.to_frame()
        rows = frame[(frame["country"] == "Bland") & (frame["measure"] == "change") & (frame["label"] == "hate")]
        assert rows["value"].notna().all() == is_shown


def test_cautions_on_the_finder(design: NamesDesign) -> None:
    result = measure(design, answer(design, 1))
    spans = FinderSpans(20, 5, {"a title": 5}, {"a title": ["Lord"]})

    def sentences(treatment: str, spans: FinderSpans) -> list[str]:
        settings, counts = replace(result.settings, doubtful=treatment), replace(result.counts, finder_spans=spans)
        return [each.sentence for each in list_findings(replace(result, settings=settings, counts=counts))]

    assert any("25% of the 20 spans" in each and "left out" in each for each in sentences("drop", spans))
    assert any("5 of 20 spans" in each and "renamed too" in each for each in sentences("keep", spans))
    assert not any("spans" in each for each in sentences("drop", replace(spans, total=100)))


def test_cautions_on_names_that_countries_share(design: NamesDesign) -> None:
    def share(result: NamesResult) -> list[str]:
        lists = [replace(each, renamed_texts_with_shared=0.9) for each in result.name_lists]
        return [each.sentence for each in list_findings(replace(result, name_lists=lists)) if each.role == "caution"]

    assert any("In 6 of 6 countries, most renamed texts" in each for each in share(measure(design, answer(design, 3))))
    planted = measure(design, answer(design, 1, dislike))
    assert any("90% of the renamed texts for Bland show a name" in each for each in share(planted))
    assert not any("a name that" in each.sentence for each in planted.findings)


@pytest.mark.parametrize("count", [1, 4])
def test_the_terminal_is_short_and_narrow(
    design: NamesDesign, count: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [answer(design, seed, dislike, name=f"toxicity/classifier-{seed}") for seed in range(1, count + 1)]
    result = measure(design, *answers)
    for width in (80, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        show_result(result, Path("runs/names"), View())
        out = capsys.readouterr().out
        assert all(len(line.rstrip()) <= width for line in out.splitlines())
        assert width < 80 or out.count("\n") <= 25
        assert "…" not in out and "Bland" in out and "adj. p" in out and "Next: " in out and "Page: " in out
        table: Any = draw_summary(result, width)[0]
        assert table.row_count <= 5 and table.columns[0].header in ("classifier", "country")
    show_result(result, Path("runs/names"), View(quiet=True))
    assert "adj. p" not in capsys.readouterr().out
    show_result(result, Path("runs/names"), View(full=True))
    words = " ".join(capsys.readouterr().out.split())
    assert "predictions of negative, per cent" in words and "lists of common names" in words
