"""Classifiers with planted effects, mitigated: what is removed, what is lost, and what must not pass for fairness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.mitigate.answers import MethodAnswers, MitigateAnswers
from geobias.audits.mitigate.design import MitigateOptions, design_mitigation
from geobias.audits.mitigate.findings import list_findings
from geobias.audits.mitigate.measure import helps, measure_mitigation
from geobias.audits.mitigate.methods import Method
from geobias.audits.mitigate.result import MethodComparison
from geobias.audits.mitigate.study import MitigateStudy
from geobias.audits.study import RunOptions
from geobias.measures.estimates import Estimate
from geobias.world.gazetteer import is_for_mitigation, load_gazetteer
from tests.conftest import spell
from tests.models.mitigated.planted import (
    COUNTRIES,
    dislike_poland,
    dislikes,
    find_everybody,
    has_name_of,
    make_texts,
    name_of,
)


def label_mood(text: str) -> str:
    return "positive" if "good" in text or "awful" not in text else "negative"


@cache
def run_mitigation(judge: Callable[[list[str]], np.ndarray], method: str = "blind,average:4") -> geobias.MitigateResult:
    rows = [{"text": text, "label": label_mood(text)} for text in make_texts()]
    return geobias.mitigate(
        judge, texts=rows, label="label", method=method, finder=find_everybody, countries=COUNTRIES, draws=6
    )


def sentences(result: geobias.MitigateResult, role: str) -> str:
    return "\n".join(finding.sentence for finding in result.findings if finding.role == role)


@pytest.mark.slow
def test_a_planted_dislike_is_found_before_and_gone_after() -> None:
    result = run_mitigation(dislike_poland)
    assert result.before is not None
    for entry in result.methods:
        poland = next(country for country in entry.countries if country.code == "PL")
        # 20 points of 100 (p_pos - p_neg) for names that only Poland has, against the mean of six countries.
        assert -17.5 < (poland.before.value or 0) < -10 and (poland.before.high or 0) < 0
        assert abs(poland.after.value or 0) < 1e-6
        assert (poland.change.low or 0) > 0 and poland.change.p_adjusted is not None and poland.change.p_adjusted < 0.05
        assert result.before.spread.value is not None and result.before.spread.value > 5
        assert (entry.after.spread.value or 0) < 1e-6 and entry.change.spread_ratio.value == 0
        assert entry.change.spread_ratio.high is not None and entry.change.spread_ratio.high < 0.5 and entry.helps
        assert (result.before.flips.value or 0) > 5 and entry.after.flips.value == 0
        assert entry.change.accuracy is not None and abs(entry.change.accuracy.value or 0) < 5
    assert result.recommended == "blind"  # as good as average:4, at a quarter of the cost
    assert "Take blind" in sentences(result, "detail") and "Poland (-1" in sentences(result, "detail")
    assert [entry.texts_per_text for entry in result.methods] == [1, 4]


def test_tested_names_are_never_names_to_mitigate_with() -> None:
    options = MitigateOptions(texts=make_texts(10), finder=find_everybody, countries=COUNTRIES, draws=20)
    design = design_mitigation(options)
    names = [name for _, name in design.counterfactuals.name_index[2]]
    assert len(names) > 100 and not any(map(is_for_mitigation, names))


def test_the_bundled_finder_is_tested_with_names_that_it_was_not_trained_with() -> None:
    from geobias.world.gazetteer import select_unseen

    design = design_mitigation(MitigateOptions(texts=make_texts(10), countries=COUNTRIES, draws=20))
    gazetteer = select_unseen(load_gazetteer())
    unseen = {name for names in gazetteer.lists.values() for name in names}
    assert {name for _, name in design.counterfactuals.name_index[2]} <= unseen


@pytest.mark.slow
def test_a_classifier_whose_label_is_in_the_name_loses_accuracy() -> None:
    def is_polish(texts: list[str]) -> np.ndarray:
        good = np.array([0.9 if has_name_of(text, "PL") else 0.1 for text in texts])
        return np.column_stack([1 - good, good])

    is_polish.labels = ["negative", "positive"]  # type: ignore[attr-defined]
    polish = [name for name in load_gazetteer().names("PL", "last") if has_name_of(f"met {name} at ", "PL")][:20]
    texts = make_texts(60, [*polish, *("Smith", "Brown", "Jones", "Taylor") * 5])
    rows = [{"text": text, "label": "positive" if name_of(text) in polish else "negative"} for text in texts]
    result = geobias.mitigate(
        is_polish,
        texts=rows,
        label="label",
        method="blind,average:2",
        finder=find_everybody,
        countries=COUNTRIES,
        draws=4,
    )
    assert result.before is not None and result.before.accuracy is not None and result.before.accuracy.value == 100
    for entry in result.methods:
        assert entry.change.accuracy is not None and entry.change.accuracy.high is not None
        assert (entry.change.accuracy.value or 0) < -30 and entry.change.accuracy.high < 0
        assert entry.change.macro_f1 is not None and (entry.change.macro_f1.value or 0) < 0
    assert result.recommended is None
    assert "blind loses" in sentences(result, "caution") and "percentage points of accuracy" in sentences(
        result, "caution"
    )
    assert "No method is worth taking" in sentences(result, "detail")


@pytest.mark.parametrize("factor", [0.1, 0.5])
def test_shrinking_probabilities_is_not_called_fair(factor: float) -> None:
    options = MitigateOptions(texts=make_texts(), method="blind", finder=find_everybody, countries=COUNTRIES, draws=6)
    design = design_mitigation(options)
    study = MitigateStudy(design, dislike_poland, RunOptions())
    answers = study.ask(study.load("cpu", "float32"))
    before = answers.before
    softer = replace(
        before, original=0.5 + factor * (before.original - 0.5), renamed=0.5 + factor * (before.renamed - 0.5)
    )
    shrunk = MethodAnswers(Method("average", 8.0), softer, None, 8.0, None)
    result = measure_mitigation(design, replace_methods(answers, shrunk))
    (entry,) = result.methods
    assert entry.change.spread_ratio.value == pytest.approx(factor, abs=0.01)
    assert entry.change.standardised_ratio.value == pytest.approx(1, abs=0.01)
    assert entry.change.flips.value == 0 and not entry.helps and result.recommended is None
    findings = list_findings(result)
    assert not any(finding.evidence == "clear" and finding.role == "overall" for finding in findings)
    text = "\n".join(finding.sentence for finding in findings)
    assert "this does not count as fairer" in text and "Softer probabilities are not fairer" in text
    assert "Nothing helped" in text


def replace_methods(answers: MitigateAnswers, *methods: MethodAnswers) -> MitigateAnswers:
    return replace(answers, methods=list(methods), finder_hits=None)


def test_a_finder_that_misses_a_country_leaks() -> None:
    def find_others(texts: list[str]) -> list[list[tuple[int, int]]]:
        return [
            [] if has_name_of(text, "PL") else spans for text, spans in zip(texts, find_everybody(texts), strict=True)
        ]

    result = geobias.mitigate(
        dislike_poland, texts=make_texts(), method="blind", finder=find_others, countries=COUNTRIES, draws=4
    )
    (entry,) = result.methods
    recalls = {country.code: country.recall.value or 0 for country in entry.countries if country.recall}
    assert recalls.pop("PL") < 0.3 and min(recalls.values()) > 0.9
    assert (entry.change.spread_ratio.value or 0) > 0.5 and not entry.helps and result.recommended is None
    caution = sentences(result, "caution")
    assert "blind leaks" in caution and "too few of Poland" in caution


def test_no_spread_to_mitigate_is_an_answer() -> None:
    result = run_mitigation(dislikes("PL", 0.0), "blind")
    assert result.recommended is None and not result.methods[0].helps
    assert "There is no spread to mitigate" in sentences(result, "detail") and "no more than noise" in sentences(
        result, "overall"
    )


def test_texts_in_another_language_are_counted() -> None:
    foreign = "Ayer encontré a mi vecina en el mercado porque quería comprar pan."
    texts = [*make_texts(16), *(f"{foreign} {spell(i)}" for i in range(4))]
    result = geobias.mitigate(dislike_poland, texts=texts, method="blind", countries="PL,FR", draws=2)
    assert result.counts.texts_unreadable == 4
    assert "4 of 20 texts seem to be in a language that embedded/entities does not read" in sentences(result, "caution")


def test_without_labels_and_with_few_texts_nothing_is_claimed() -> None:
    result = geobias.mitigate(
        dislike_poland, texts=make_texts(5), method="average:2", finder=find_everybody, countries="PL,FR", draws=2
    )
    assert result.before is not None and result.before.accuracy is None and result.methods[0].change.accuracy is None
    assert result.methods[0].change.spread.p is None and not result.methods[0].helps
    assert "too few texts to test" in sentences(result, "overall")
    assert "No method can be recommended: there are too few texts" in sentences(result, "detail")
    frame = result.to_frame()
    assert set(frame.measure) == {"change of delta", "delta after", "delta before"} and len(frame) == 6


def test_names_that_decide_texts_of_equal_tone_are_mitigated() -> None:
    def judge(texts: list[str]) -> np.ndarray:
        good = np.array([0.3 if has_name_of(text, "PL") else 0.7 for text in texts])
        return np.column_stack([1 - good, good])

    judge.labels = ["negative", "positive"]  # type: ignore[attr-defined]
    result = geobias.mitigate(
        judge, texts=make_texts(), method="blind", finder=find_everybody, countries=COUNTRIES, draws=6
    )
    assert result.methods[0].helps and result.recommended == "blind"


def change_method(entry: MethodComparison, **changes: Any) -> MethodComparison:
    """A method that helps, with other changes."""
    return replace(entry, change=replace(entry.change, **changes), helps=True)


def test_falling_flips_do_not_help_where_the_spread_is_not_tested() -> None:
    change = run_mitigation(dislike_poland).methods[0].change
    flips = Estimate(-5.0, -7.0, -3.0, 0.001, 0.001)
    assert helps(replace(change, flips=flips), has_spread=False)
    unknown = Estimate(-1.0, None, None, None, None)
    assert not helps(replace(change, flips=flips, spread=unknown), has_spread=False)


def test_a_method_that_helps_by_flips_says_so_with_the_numbers_of_flips() -> None:
    result = run_mitigation(dislike_poland, "blind")
    assert result.before is not None
    flips, spread = Estimate(-5.0, -7.0, -3.0, 0.001, 0.002), Estimate(0.2, -0.1, 0.5, 0.4, 0.4)
    noise = replace(result.before, spread=replace(result.before.spread, low=0.0))
    entry = change_method(result.methods[0], flips=flips, spread=spread)
    answer, choice, *_ = list_findings(replace(result, before=noise, methods=[entry], recommended="blind"))
    assert answer.evidence == "clear" and answer.direction == "lower" and answer.p_adjusted == 0.002
    assert answer.size is not None and answer.size.value == -5 and "flip" in answer.question
    assert "clear fall of flips" in choice.limit


def test_the_recommendation_names_every_method_that_helps_and_its_cost() -> None:
    result = run_mitigation(dislike_poland)
    first, second = (change_method(entry) for entry in result.methods)
    clear, doubtful = Estimate(-3.0, -5.0, -1.0, 0.001, 0.001), Estimate(-1.5, -4.0, 1.0, 0.3, 0.3)
    third = replace(change_method(second, accuracy=doubtful), method="average:8")
    fourth = replace(change_method(second, accuracy=clear), method="average:16")
    findings = list_findings(replace(result, methods=[first, second, third, fourth], recommended="blind"))
    sentence = next(finding.sentence for finding in findings if finding.question.startswith("Which"))
    assert "average:4 helps too" in sentence and "average:16 helps, but costs accuracy." in sentence
    assert "average:8 helps, but may cost more than a point of accuracy." in sentence
    findings = list_findings(replace(result, methods=[third], recommended=None))
    sentence = next(finding.sentence for finding in findings if finding.question.startswith("Which"))
    assert sentence == "No method is worth taking: average:8 helps, but may cost more than a point of accuracy."


def test_sentences_about_countries_have_a_subject_and_count_the_others() -> None:
    result = run_mitigation(dislike_poland, "blind")
    (entry,) = result.methods
    shrinks, none = (next(each for each in entry.countries if (each.code == "PL") == is_pl) for is_pl in (True, False))
    grows = replace(shrinks, before=shrinks.after, after=shrinks.before)
    none = replace(none, change=Estimate(0.1, -1.0, 1.0, 0.9, 0.9))
    for countries, end in (([shrinks, grows, none], "for 1 other country ("), ([shrinks, grows], "-1")):
        findings = list_findings(replace(result, methods=[replace(entry, countries=countries)]))
        sentence = next(finding.sentence for finding in findings if finding.question.startswith("For whom"))
        assert "the gap grows for Poland" in sentence and end in sentence and "0 other" not in sentence
