"""Deciders with a known rule: each is reported as what it is."""

from __future__ import annotations

import numpy as np
import pytest

import geobias
from geobias.audits.decide.page import list_countries
from geobias.audits.decide.ranking import list_clear_cells, list_standing_out
from geobias.report.findings import Finding, with_role
from geobias.texts.scenarios import Scenario, load_scenarios
from geobias.world.gazetteer import load_gazetteer
from tests.audits.decide.deciders import COUNTRIES, Decide, decide_evenly, make_decider

COUNT = COUNTRIES.count(",") + 1


def audit(decide: Decide, **options: object) -> geobias.DecideResult:
    return geobias.audit_decisions(decide, **{"countries": COUNTRIES, **options})  # type: ignore[arg-type]


def say_cautions(result: geobias.DecideResult) -> str:
    return " ".join(finding.sentence for finding in with_role(result.findings, "caution"))


def answer(result: geobias.DecideResult) -> Finding:
    return with_role(result.findings, "overall")[0]


def test_planted_country_and_size_come_back() -> None:
    result = audit(make_decider(lambda scenario, prompt: -0.8 * ("Chad" in prompt), yes=1.5))
    entry, finding = result.decisions[0], answer(result)
    assert [country.country for country in list_standing_out(entry)] == ["Chad"]
    assert (finding.subject, finding.evidence, finding.valence) == ("Chad", "clear", "worse")
    chad = next(country for country in entry.countries if country.code == "TD")
    truth = -0.8 * (1 - 1 / COUNT)
    low, high = chad.preference.low, chad.preference.high
    assert low is not None and high is not None and low <= truth <= high and high - low < 0.5
    assert entry.worst is not None and entry.worst.country == "TD"
    assert entry.worst.high is not None and entry.worst.high < 1
    assert entry.spread is not None and entry.spread.p < 0.01
    by_country = {row["country"]: row["evidence"] for row in list_countries("t", entry).rows}
    assert by_country["Chad"].startswith("clear: less favourable")
    assert not any(words.startswith("clear") for country, words in by_country.items() if country != "Chad")
    ratio = next(finding for finding in result.findings if "Impact ratio" in finding.sentence)
    assert "EEOC" in ratio.limit and "no legal verdict" in ratio.limit
    # A tendency to say yes is found, and does not move the preference.
    assert entry.controls.yes_tendency is not None and entry.controls.yes_tendency.value == pytest.approx(1.5, abs=0.1)
    assert "tends to say yes" in say_cautions(result)


def test_planted_domain_comes_back() -> None:
    def rule(scenario: Scenario, prompt: str) -> float:
        return -2.0 * ("Kenya" in prompt and scenario.domain == "housing")

    entry = audit(make_decider(rule)).decisions[0]
    cells = list_clear_cells(entry)
    assert [(domain, cell.country) for domain, cell in cells] == [("housing", "Kenya")]
    assert cells[0][1].estimate.value == pytest.approx(-2.0 * (1 - 1 / COUNT), abs=0.4)


def test_without_a_difference_nothing_is_clear() -> None:
    result = audit(make_decider(decide_evenly))
    entry, finding = result.decisions[0], answer(result)
    assert finding.evidence == "none" and "could be missed" in finding.sentence
    assert not list_standing_out(entry) and not list_clear_cells(entry)
    assert entry.worst is not None and entry.worst.high == 1
    assert "chance alone" in " ".join(each.sentence for each in result.findings)
    assert entry.smallest_effect is not None and 0.1 < entry.smallest_effect < 0.6


def test_yes_tendency_by_country_is_no_preference() -> None:
    def rule(scenario: Scenario, prompt: str) -> float:
        return scenario.sign * 1.0 * ("India" in prompt)  # yes, whether it helps or harms

    entry = audit(make_decider(rule)).decisions[0]
    india = next(country for country in entry.countries if country.code == "IN")
    assert not list_standing_out(entry)
    assert india.yes_tendency is not None and india.yes_tendency.value == pytest.approx(0.9, abs=0.2)
    assert india.yes_tendency.p_adjusted is not None and india.yes_tendency.p_adjusted < 0.001


def test_always_yes_is_a_tendency_and_not_a_preference() -> None:
    result = audit(lambda prompts: ["Yes."] * len(prompts))
    finding = answer(result)
    assert finding.evidence == "not testable" and "the same answer to every text" in finding.sentence
    assert "tends to say yes" in say_cautions(result) and "near chance" in say_cautions(result)
    worst = result.decisions[0].worst
    assert worst is not None and worst.value == 1


def test_refusals_are_counted_by_country() -> None:
    result = audit(lambda prompts: ["I'm sorry, I cannot answer that."] * len(prompts))
    assert answer(result).evidence == "not testable"
    assert "does not decide: it refuses 100% of the questions" in answer(result).sentence
    assert "100% of the questions, for every country alike" in say_cautions(result)


def test_nonsense_is_no_decision() -> None:
    finding = answer(audit(lambda prompts: ["Bananas."] * len(prompts)))
    assert finding.evidence == "not testable"
    assert "does not decide: only 0.0% of its answers are yes or no" in finding.sentence


def test_preference_for_the_first_person_is_an_order_effect() -> None:
    result = audit(make_decider(decide_evenly, first=1.0))
    entry = result.decisions[0]
    assert entry.controls.order is not None and entry.controls.order.value == pytest.approx(1.0)
    assert "prefers whoever is named first" in say_cautions(result)
    assert all(abs(country.estimate.value or 0) < 1e-6 for country in entry.choices)


def test_decisions_near_chance_are_said_to_be() -> None:
    result = audit(make_decider(decide_evenly, merit=0.0))
    assert "decides near chance" in answer(result).sentence and "decides near chance" in say_cautions(result)
    assert "decides near chance" not in answer(audit(make_decider(decide_evenly))).sentence
    # significant, but tiny
    result = audit(make_decider(decide_evenly, merit=0.15, noise=0.1))
    merit = result.decisions[0].controls.merit
    assert (
        merit is not None
        and merit.p is not None
        and merit.p < 0.01
        and "decides near chance" in answer(result).sentence
    )


def test_chance_is_named_before_a_country() -> None:
    result = audit(make_decider(lambda scenario, prompt: -0.8 * ("Chad" in prompt), merit=0.0))
    sentence = answer(result).sentence
    assert {finding.evidence for finding in result.findings if finding.role != "caution"} == {"suggestive"}
    assert sentence.index("decides near chance") < sentence.index("It is less favourable to people of Chad")


def test_decisions_against_merit_and_unclear_merit_are_not_near_chance() -> None:
    result = audit(make_decider(decide_evenly, merit=-1.0))
    assert "It decides against merit" in answer(result).sentence and "decides against merit" in say_cautions(result)
    assert "near chance" not in answer(result).sentence
    result = audit(make_decider(decide_evenly, merit=0.2, noise=5.0), limit=10)
    assert "Whether merit moves its answers is unclear" in answer(result).sentence
    assert "Whether it reacts to merit is unclear" in say_cautions(result)


def test_the_answer_is_relative_to_the_mean_of_countries() -> None:
    def rule(scenario: Scenario, prompt: str) -> float:
        return 2.0 - 1.0 * ("Chad" in prompt)  # favourable to everybody, to Chad less so

    sentence = answer(audit(make_decider(rule))).sentence
    assert "is less favourable to people of Chad" in sentence and "below the mean of countries, -" in sentence
    assert "decides against" not in sentence and "disagree" not in sentence


def test_log_odds_and_probability_may_disagree() -> None:
    sides = {case: n % 2 for n, case in enumerate(sorted({scenario.case for scenario in load_scenarios()}))}

    def rule(scenario: Scenario, prompt: str) -> float:
        # a large gain in log-odds where the answer is certain anyway, a small loss where it is open
        is_certain, is_chad = sides[scenario.case], "Chad" in prompt
        return (8.0 if is_certain else 0.0) + (2.0 if is_certain else -0.6) * is_chad

    sentence = answer(audit(make_decider(rule, noise=0.05))).sentence
    assert "more favourable to people of Chad" in sentence and "log-odds and probability disagree" in sentence


def test_dislike_of_rare_names_is_told_apart_from_the_country() -> None:
    gazetteer = load_gazetteer()
    owners: dict[str, int] = {}
    for code in gazetteer.codes:
        for name in {name for kind in ("male", "female", "last") for name in gazetteer.names(code, kind)}:
            owners[name] = owners.get(name, 0) + 1

    def rule(scenario: Scenario, prompt: str) -> float:
        words = prompt.rstrip("?").split()[-2:]
        return 0.5 * float(np.mean([np.log(owners.get(word, 1)) for word in words]))

    codes = "US,GB,IE,ES,MX,PE,TH,IS,MM,ET"
    by_name = audit(make_decider(rule, noise=0.2), origin="name", draws=4, countries=codes)
    entry = by_name.decisions[0]
    assert entry.rare_names is not None
    marked = [
        sum((each.estimate.p_adjusted or 1) < 0.05 for each in countries)
        for countries in (entry.rare_names.unadjusted, entry.rare_names.adjusted)
    ]
    assert marked[0] >= 2 and marked[1] <= marked[0] // 2
    assert "how rare the names are" in say_cautions(by_name)
    assert answer(by_name).evidence == "suggestive"
