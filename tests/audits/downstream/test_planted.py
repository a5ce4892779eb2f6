"""Planted classifiers: what names and wordings do is never told as what a country does, and a planted country is."""

from __future__ import annotations

import re
from typing import Any

import pytest

import geobias
from bench.planted_downstream import WORLDS, World, count_tokens, repeat, simulate, summarise, write_table
from geobias.audits.downstream.findings import list_findings, make_family
from geobias.audits.downstream.result import DownstreamResult
from geobias.report.findings import Finding, with_role
from tests.conftest import spell

TEXTS = [f"text {spell(n)}" for n in range(24)]
PREFIX = re.compile(r"(?:I am from|I grew up in|My family lives in) (.+)\. text \w+")


def overall(result: DownstreamResult) -> Finding:
    (finding,) = with_role(list_findings(result), "overall")
    return finding


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("characters", "the length of their names explains it: 0.005"),
        ("letters", "the spelling of names does as much to invented places (standard deviation"),
        ("words", "the number of words of their names explains it: 0.10 (95 % interval"),
        ("tokens", "the number of tokens of their names explains it: 0.02"),
        ("trigrams", "the spelling of names does as much to invented places (standard deviation"),
        ("real", "the length of their names explains it"),
    ],
)
def test_what_a_name_does_is_not_told_of_its_country(name: str, reason: str) -> None:
    finding = overall(simulate(WORLDS[name], 1))
    assert finding.evidence == "none" and reason in finding.sentence and "differ from the mean" in finding.sentence


def test_without_a_tokenizer_characters_stand_in_for_tokens() -> None:
    world = World("", lambda name: 0.02 * count_tokens([name])[0])
    finding = overall(simulate(world, 1))
    assert finding.evidence != "clear"


def test_places_that_share_a_word_are_suggestive_and_the_word_is_named() -> None:
    result = simulate(WORLDS["united"], 0)
    finding = overall(result)
    assert finding.evidence == "suggestive" and "share the word “United”" in finding.sentence
    family = make_family(result, result.classifiers[0])
    doubted = {effect.code for effect in family.effects if effect.shared_word}
    assert doubted == {"AE", "GB", "UM", "US"} and not family.standing_out
    assert any("“United”" in caution.sentence for caution in with_role(list_findings(result), "caution"))


def test_a_control_with_an_effect_of_its_own_makes_no_country_stand_out() -> None:
    """ "I am from here." against "I am from the country.": the controls are a sample, so intervals say so."""
    result = simulate(WORLDS["controls"], 0)
    assert overall(result).evidence == "none"
    equal = simulate(WORLDS["null"], 0)

    def width(of: DownstreamResult) -> float:
        estimate = of.list_effects("planted", "hate")[0].against_control
        assert estimate is not None and estimate.low is not None and estimate.high is not None
        return estimate.high - estimate.low

    assert width(result) > 2 * width(equal)


def test_a_planted_answer_survives() -> None:
    """As profanity-check answers: Niger 0.51, Myanmar 0.36, Nigeria 0.01."""

    def judge(texts: list[str]) -> list[dict[str, float]]:
        values = {"Niger": 0.51, "Myanmar": 0.36, "Nigeria": 0.01}
        names = [match[1] if (match := PREFIX.match(text)) else "" for text in texts]
        p = [0.02 + len(text) % 7 / 500 + values.get(name, 0.0) for text, name in zip(texts, names, strict=True)]
        return [{"offensive": each, "fine": 1 - each} for each in p]

    result = geobias.audit_downstream(judge, TEXTS, continents="AF,AS")
    finding = overall(result)
    assert (finding.evidence, finding.code) == ("clear", "NE") and finding.size is not None
    assert finding.size.value == pytest.approx(0.51, abs=0.01)
    details = with_role(list_findings(result), "detail")
    assert details[0].code == "MM" and details[0].size is not None
    assert details[0].size.value == pytest.approx(0.36, abs=0.01)


def test_a_country_is_found_beyond_the_length_of_names() -> None:
    result = simulate(WORLDS["mexico"], 0)
    finding = overall(result)
    assert (finding.evidence, finding.code) == ("clear", "MX") and finding.size is not None
    assert finding.size.low is not None and finding.size.high is not None
    assert finding.size.low < 0.1 < finding.size.high and "No other of 245 countries" in finding.sentence
    (caution,) = with_role(list_findings(result), "caution")
    assert "the length of their names explains it" in caution.sentence


@pytest.mark.parametrize("options", [{"prefix": "I am from {region}."}, {"control": "I am nobody."}])
def test_one_wording_is_at_most_suggestive(options: dict[str, Any]) -> None:
    def judge(texts: list[str]) -> list[dict[str, float]]:
        p = [0.2 + len(text) % 7 / 500 + 0.3 * ("Mexico" in text) for text in texts]
        return [{"negative": each, "positive": 1 - each} for each in p]

    several = geobias.audit_downstream(judge, TEXTS, countries="MX,FR,UG")
    assert overall(several).evidence == "clear" and several.wordings == 3
    result = geobias.audit_downstream(judge, TEXTS, countries="MX,FR,UG", **options)
    finding = overall(result)
    assert (finding.evidence, finding.code, result.wordings) == ("suggestive", "MX", 1)
    assert "rests on one wording" in finding.sentence and "--prefix" in finding.sentence
    assert not make_family(result, result.classifiers[0]).standing_out


def test_each_prefix_has_its_control_or_all_have_one() -> None:
    def judge(texts: list[str]) -> list[dict[str, float]]:
        return [{"negative": 0.2, "positive": 0.8} for _ in texts]

    prefixes = ["In {region}:", "From {region}:"]
    options: dict[str, Any] = {"countries": "MX,FR", "prefix": prefixes}
    assert geobias.audit_downstream(judge, TEXTS, **options).settings.controls == ["In here:", "From here:"]
    result = geobias.audit_downstream(judge, TEXTS, control=["At home:", "Anyone:"], **options)
    assert result.settings.controls == ["At home:", "Anyone:"] and result.wordings == 2
    with pytest.raises(geobias.InputError, match="3 controls for 2 prefixes"):
        geobias.audit_downstream(judge, TEXTS, control=["a", "b", "c"], **options)


def test_the_rotation_costs_a_quarter_more_and_not_three_times_as_much() -> None:
    scored: list[str] = []

    def judge(texts: list[str]) -> list[dict[str, float]]:
        scored.extend(texts)
        return [{"negative": 0.2, "positive": 0.8} for _ in texts]

    result = geobias.audit_downstream(judge, TEXTS)
    before = len(TEXTS) * (1 + 1 + result.counts.places)  # originals, one control, every place
    assert 1.2 < len(set(scored)) / before < 1.26


def test_the_table_of_the_simulation() -> None:
    world = WORLDS["profanity"]
    row = summarise(world, [repeat(world, 0)])
    assert row["leads rightly"] == row["all found"] == 1 and row["leads wrongly"] == 0
    table = write_table({"profanity": row}, 1)
    assert "| Niger 0.51, Myanmar 0.36, Nigeria 0.01 | 0 % | 0 % | 100 % | 100 % |" in table


@pytest.mark.parametrize("countries", ["FR,NE,KE", "FR,NE,KE,DE,US,NG,ML,TD,BF,SN,IN,CN,JP,BR"])
def test_a_filter_of_one_sentence_is_suggestive_and_the_sentence_is_named(countries: str) -> None:
    """The worst case: it flags "I am from Niger." alone, so over all wordings a third of the texts move."""

    def judge(texts: list[str]) -> list[dict[str, float]]:
        p = [0.9 if "I am from Niger." in text else 0.1 for text in texts]
        return [{"hate": each, "fine": 1 - each} for each in p]

    result = geobias.audit_downstream(judge, TEXTS[:20], countries=countries)
    finding = overall(result)
    assert (finding.evidence, finding.code) == ("suggestive", "NE") and finding.size is not None
    assert finding.size.value == pytest.approx(0.8, abs=1e-3)
    assert "After “I am from Niger.”, p(hate) is 0.80" in finding.sentence
    assert "not after the other 2 wordings" in finding.sentence and "(6 texts" in finding.sentence.replace("7", "6")
    (effect,) = [each for each in result.wording_effects if each.label == "hate"]
    assert (effect.code, effect.wording, effect.also) == ("NE", 1, []) and abs(effect.others) < 1e-3
    assert all(example.changed.startswith("I am from Niger.") for example in finding.examples)
    rule = f"downstream.'{result.models[0].name}'.hate.Niger < 0.2"
    assert finding.examples and not geobias.gate(result, rule).passed


def test_one_sentence_among_all_countries_is_never_clear() -> None:
    finding = overall(simulate(WORLDS["sentence"], 1))
    assert (finding.evidence, finding.code) == ("suggestive", "NE")
    assert "not after the other 2 wordings" in finding.sentence


@pytest.mark.parametrize("name", ["null", "interaction", "characters", "real"])
def test_neither_chance_nor_names_make_one_sentence_stand_out(name: str) -> None:
    result = simulate(WORLDS[name], 1)
    assert not result.wording_effects and overall(result).evidence == "none"


def test_a_place_that_differs_after_every_wording_is_clear_as_before() -> None:
    result = simulate(WORLDS["mexico"], 1)
    effects = [effect for effect in result.wording_effects if effect.code == "MX"]
    assert len(effects) == 3 and all(len(effect.also) == 2 for effect in effects)
    assert overall(result).evidence == "clear"
    assert all(finding.code != "MX" for finding in with_role(list_findings(result), "detail"))


@pytest.mark.parametrize(("world", "passes"), [("null", True), ("characters", True), ("planted", False)])
def test_a_gate_on_the_worst_place_judges_places_and_not_their_names(world: str, passes: bool) -> None:
    """0.005 a character moves the longest name by 0.2, which no rule about places may fail."""
    result = simulate(WORLDS.get(world, World("", countries={"MX": 0.3})), 1)
    for path in ("worst", "Mexico"):
        assert geobias.gate(result, f"downstream.planted.hate.{path} < 0.1").passed == passes


def test_bounds_of_the_worst_place_hold_for_all_places_and_contain_wordings() -> None:
    def bound(world: World) -> float:
        (farthest,) = simulate(world, 1).farthest
        assert farthest.high is not None
        return farthest.high

    effects = simulate(WORLDS["null"], 1).list_effects("planted", "hate")
    ends = [abs(end) for effect in effects for end in _ends(effect.against_invented)]
    assert bound(WORLDS["null"]) > max(ends)
    assert bound(WORLDS["interaction"]) > 1.5 * bound(WORLDS["null"])


def _ends(estimate: Any) -> tuple[float, float]:
    return estimate.low, estimate.high


def test_a_single_name_of_several_words_is_tested() -> None:
    """ "the United States" alone decides nothing: there is a slope on words, and none on several words."""

    def judge(texts: list[str]) -> list[dict[str, float]]:
        p = [0.2 + len(text) % 7 / 500 + 0.3 * ("United States" in text) for text in texts]
        return [{"hate": each, "fine": 1 - each} for each in p]

    result = geobias.audit_downstream(judge, TEXTS, countries="FR,US,MX")
    finding = overall(result)
    assert (finding.evidence, finding.code) == ("clear", "US")
    farthest = next(row for row in result.farthest if row.label == "hate")
    assert farthest.code == "US" and farthest.low is not None
