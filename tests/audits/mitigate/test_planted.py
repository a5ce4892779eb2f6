"""Classifiers with planted effects, mitigated: what is removed, what is lost, and what must not pass for fairness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.mitigate.design import Method
from geobias.audits.mitigate.findings import list_findings
from geobias.audits.mitigate.measure import MethodAnswers, helps, measure_mitigation
from geobias.audits.mitigate.result import CountryChange, MethodMeasures, MitigateResult
from geobias.audits.study import prepare
from geobias.measures.estimates import Estimate
from geobias.world.gazetteer import is_for_mitigation, load_gazetteer, select_unseen
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

CLEAR = {"low": -7.0, "high": -3.0, "p": 0.001, "p_adjusted": 0.001}
ROWS = [{"text": text, "label": "negative" if "awful" in text else "positive"} for text in make_texts()]


def judge_by(good: Callable[[str], float]) -> Callable[[list[str]], np.ndarray]:
    def judge(texts: list[str]) -> np.ndarray:
        values = np.array([good(text) for text in texts])
        return np.column_stack([1 - values, values])

    judge.labels = ["negative", "positive"]  # type: ignore[attr-defined]
    return judge


@cache
def run_mitigation(judge: Callable[[list[str]], np.ndarray], method: str = "blind") -> MitigateResult:
    return mitigate(judge, texts=ROWS, label="label", method=method, draws=6)


def mitigate(judge: Callable[[list[str]], np.ndarray], **options: Any) -> MitigateResult:
    defaults: dict[str, Any] = {"finder": find_everybody, "countries": COUNTRIES, "method": "blind"}
    return geobias.mitigate(judge, **(defaults | options))


def say(result: MitigateResult, role: str) -> str:
    return "\n".join(finding.sentence for finding in result.findings if finding.role == role)


def say_again(result: MitigateResult, *rows: MethodMeasures, **changes: Any) -> list[str]:
    """The sentences of a result with other rows of methods."""
    methods = [changes.pop("original", result.original), *(rows or result.mitigated)]
    return [finding.sentence for finding in list_findings(replace(result, methods=methods, **changes))]


def test_a_planted_dislike_is_found_before_and_gone_after() -> None:
    result = run_mitigation(dislike_poland, "blind,average:4")
    assert (result.original.spread.value or 0) > 5 and (result.original.flips.value or 0) > 5
    for row in result.mitigated:
        poland = next(country for country in result.list_countries(row.method) if country.code == "PL")
        # 20 points of 100 (p_pos - p_neg) for names that only Poland has, against the mean of six countries.
        assert -17.5 < (poland.before.value or 0) < -10 and (poland.before.high or 0) < 0
        assert abs(poland.after.value or 0) < 1e-6 and (poland.change.low or 0) > 0 and poland.stands_out
        assert (row.spread.value or 0) < 1e-6 and row.spread_ratio.value == 0 and row.helps
        assert row.spread_ratio.high is not None and row.spread_ratio.high < 0.5 and row.flips.value == 0
        assert row.accuracy_change is not None and abs(row.accuracy_change.value or 0) < 5
    assert result.recommended == "blind"  # as good as average:4, at a quarter of the cost
    assert "Take blind" in say(result, "detail") and [row.texts_per_text for row in result.mitigated] == [1, 4]
    frame = result.to_frame()
    assert list(frame.measure.unique()) == ["change of delta", "delta after", "delta before"] and len(frame) == 36


def test_tested_names_are_held_out_from_methods_and_from_the_bundled_finder() -> None:
    for finder in (find_everybody, None):
        study = prepare(geobias.mitigate, dislike_poland, texts=make_texts(10), finder=finder, countries=COUNTRIES)
        names = {name for _, name in study.design.counterfactuals.name_index[2]}
        assert len(names) > 100 and not any(map(is_for_mitigation, names))
        unseen = {name for names in select_unseen(load_gazetteer()).lists.values() for name in names}
        assert (names <= unseen) == (finder is None)


def test_a_classifier_whose_label_is_in_the_name_loses_accuracy() -> None:
    polish = [name for name in load_gazetteer().names("PL", "last") if has_name_of(f"met {name} at ", "PL")][:20]
    texts = make_texts(60, [*polish, *("Smith", "Brown", "Jones", "Taylor") * 5])
    rows = [{"text": text, "label": "positive" if name_of(text) in polish else "negative"} for text in texts]
    judge = judge_by(lambda text: 0.9 if has_name_of(text, "PL") else 0.1)
    result = mitigate(judge, texts=rows, label="label", method="blind,average:2", draws=4)
    assert result.original.accuracy is not None and result.original.accuracy.value == 100
    for row in result.mitigated:
        accuracy, f1 = row.accuracy_change, row.macro_f1_change
        assert accuracy is not None and f1 is not None and (f1.value or 0) < 0
        assert (accuracy.value or 0) < -30 and accuracy.high is not None and accuracy.high < 0
    assert result.recommended is None and "No method is worth taking" in say(result, "detail")
    assert "blind loses" in say(result, "caution")


@pytest.mark.parametrize("factor", [0.1, 0.5])
def test_shrinking_probabilities_is_not_called_fair(factor: float) -> None:
    options = {"texts": make_texts(), "method": "blind", "finder": find_everybody, "countries": COUNTRIES, "draws": 6}
    study = prepare(geobias.mitigate, dislike_poland, **options)
    answers = study.ask(study.load("cpu", "float32"))
    softer = replace(
        answers.before,
        original=0.5 + factor * (answers.before.original - 0.5),
        renamed=0.5 + factor * (answers.before.renamed - 0.5),
    )
    shrunk = MethodAnswers(Method("average", 8.0), softer, None, 8.0)
    result = measure_mitigation(study.design, replace(answers, methods=[shrunk], finder_hits=None))
    (row,) = result.mitigated
    assert row.spread_ratio.value == pytest.approx(factor, abs=0.01)
    assert row.standardised_ratio.value == pytest.approx(1, abs=0.01)
    assert row.flips_change.value == 0 and not row.helps and result.recommended is None and row.evidence != "clear"
    text = "\n".join(say_again(result))
    assert "this does not count as fairer" in text and "Softer probabilities are not fairer" in text
    assert "Nothing helped" in text


def miss_polish_names(texts: list[str]) -> list[list[tuple[int, int]]]:
    both = zip(texts, find_everybody(texts), strict=True)
    return [[] if has_name_of(text, "PL") else spans for text, spans in both]


def test_a_finder_that_misses_a_country_leaks() -> None:
    result = mitigate(dislike_poland, texts=make_texts(), finder=miss_polish_names, draws=4)
    recalls = {each.code: each.recall.value or 0 for each in result.countries if each.recall}
    assert recalls.pop("PL") < 0.3 and min(recalls.values()) > 0.9
    assert (result.mitigated[0].spread_ratio.value or 0) > 0.5 and result.recommended is None
    assert "blind leaks" in say(result, "caution") and "too few of Poland" in say(result, "caution")


def test_the_names_that_the_finder_misses_stand_beside_the_fall() -> None:
    rows = [{"text": text, "spans": [list(find_everybody([text])[0][0])]} for text in make_texts(24)]
    rows[0] = {"text": "Today I met Jan Kowalski at work. We had lunch.", "spans": [[12, 24]]}
    options: dict[str, Any] = {"finder": miss_polish_names, "countries": "PL,FR,IT", "draws": 3}
    answer = say(mitigate(dislike_poland, texts=rows, spans="spans", **options), "overall")
    assert "% of those tested (Poland " in answer and "it misses 1 of 24 marked names" in answer
    result = run_mitigation(dislike_poland)
    assert result.counts.originals is None and "mark them (--spans)" in say(result, "overall")


def test_no_spread_to_mitigate_is_an_answer() -> None:
    result = run_mitigation(dislikes("PL", 0.0))
    assert result.recommended is None and not result.mitigated[0].helps
    assert "There is no spread to mitigate" in say(result, "detail") and "than noise" in say(result, "overall")


def test_hiding_single_names_is_not_praised_as_less_spread_between_countries() -> None:
    """Every name has an effect of its own; no country has one. But fewer labels flip."""
    judge = judge_by(lambda text: 0.35 + 0.3 * blake2b(name_of(text).encode(), digest_size=1).digest()[0] / 255)
    result = mitigate(judge, texts=make_texts(), draws=6)
    assert not result.original.exceeds_noise and (result.mitigated[0].flips_change.value or 0) < 0
    assert "% less" not in say(result, "overall") and "fewer labels flip (change" in say(result, "overall")


def test_texts_in_another_language_are_doubted() -> None:
    foreign = "Ayer encontré a mi vecina en el mercado porque quería comprar pan."
    texts = [*make_texts(16), *(f"{foreign} {spell(i)}" for i in range(4))]
    result = mitigate(dislike_poland, texts=texts, countries="PL,FR", draws=2, finder=None)
    assert "4 of 20 texts are in another language" in say(result, "caution")


def test_without_labels_and_with_few_texts_nothing_is_claimed() -> None:
    result = mitigate(dislike_poland, texts=make_texts(5), method="average:2", countries="PL,FR", draws=2)
    (row,) = result.mitigated
    assert row.accuracy is None and row.accuracy_change is None and row.spread_change.p is None and not row.helps
    assert "too few texts to test" in say(result, "overall") and "can be recommended" in say(result, "detail")


def test_names_that_decide_texts_of_equal_tone_are_mitigated() -> None:
    result = mitigate(judge_by(lambda text: 0.3 if has_name_of(text, "PL") else 0.7), texts=make_texts(), draws=6)
    assert result.mitigated[0].helps and result.recommended == "blind"


def test_a_method_that_helps_by_flips_says_so_with_the_numbers_of_flips() -> None:
    result = run_mitigation(dislike_poland)
    flips, unknown = Estimate(-5.0, **CLEAR), Estimate(-1.0, None, None, None, None)
    row = replace(result.mitigated[0], flips_change=flips)
    assert helps(row, has_spread=False) and not helps(replace(row, spread_change=unknown), has_spread=False)
    row = replace(row, spread_change=Estimate(0.2, -0.1, 0.5, 0.4, 0.4))
    noise = replace(result.original, spread=replace(result.original.spread, low=0.0))
    answer, choice, *_ = list_findings(replace(result, methods=[noise, row], recommended="blind"))
    assert answer.evidence == "clear" and answer.direction == "lower" and answer.p_adjusted == 0.001
    assert answer.size is not None and answer.size.value == -5 and "flip" in answer.question
    assert "clear fall of flips" in choice.limit


def test_the_recommendation_names_every_method_that_helps_and_its_cost() -> None:
    result = run_mitigation(dislike_poland, "blind,average:4")
    first, second = result.mitigated
    doubtful = replace(second, accuracy_change=Estimate(-1.5, -4.0, 1.0, 0.3, 0.3), method="average:8")
    clear = replace(second, accuracy_change=Estimate(-5.0, **CLEAR), method="average:16")
    sentence = say_again(result, first, second, doubtful, clear)[4]
    assert "average:4 helps too" in sentence and "average:16 helps, but costs accuracy." in sentence
    assert "average:8 helps, but may cost more than a point of accuracy." in sentence
    assert say_again(result, doubtful, recommended=None)[1].startswith("No method is worth taking: average:8 helps, ")


def test_countries_whose_gap_grows_shrinks_or_only_mirrors() -> None:
    """Only Poland changes: the five others move by a fifth of it, and no sentence may take that for an improvement."""
    result = run_mitigation(dislike_poland)
    poland, other = (next(each for each in result.countries if (each.code == "PL") == is_pl) for is_pl in (True, False))
    assert poland.stands_out and other.mirrors == "Poland" and not other.stands_out
    sentence = say_again(result)[2]
    assert f"the gap shrinks for Poland ({poland.before.value:+.1f} to +0.0, 95 % interval " in sentence
    assert "and 2 more may only mirror that" in sentence and "France (" not in sentence

    def say_for(*countries: CountryChange) -> str:
        return say_again(result, countries=list(countries))[2]

    grows = replace(poland, before=poland.after, after=poland.before)
    none = replace(other, change=Estimate(0.1, -1.0, 1.0, 0.9, 0.9), p_adjusted=0.9, mirrors=None)
    assert "the gap grows for Poland" in say_for(poland, grows, none)
    assert "for 1 other country (" in say_for(poland, grows, none) and "other" not in say_for(poland, grows)


def test_a_spread_within_the_noise_floor_is_none_to_mitigate() -> None:
    result = run_mitigation(dislike_poland)
    for exceeds in (True, False):
        sentences = say_again(result, original=replace(result.original, exceeds_noise=exceeds))
        assert ("% less" in sentences[0]) == exceeds
        assert any("may come from single names" in sentence for sentence in sentences) != exceeds
