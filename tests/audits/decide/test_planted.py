"""Deciders with a known rule: each is reported as what it is."""

from __future__ import annotations

import numpy as np
import pytest

import geobias
from geobias.audits.reports import make_report
from geobias.report.declarations import PAGE, Table
from geobias.texts.scenarios import Scenario, load_scenarios
from geobias.world.gazetteer import load_gazetteer
from tests.audits.decide.deciders import (
    COUNTRIES,
    audit,
    decide_evenly,
    dislike_chad,
    find_answer,
    find_country,
    list_standing_out,
    make_decider,
    say_cautions,
)

COUNT = COUNTRIES.count(",") + 1


def list_clear(result: geobias.DecideResult) -> list[tuple[str | None, str]]:
    cells = [part for part in result.parts if part.measure == "by_domain" and part.stands_out]
    return [(cell.label, cell.place) for cell in sorted(cells, key=lambda cell: -abs(cell.estimate.value or 0))]


def read_table(result: geobias.DecideResult, table_id: str) -> list[dict[str, str]]:
    """The table of the page, by its headings."""
    report = make_report(result)
    assert report is not None
    table = next(block for block in report.blocks if isinstance(block, Table) and block.id == table_id)
    columns = [column for column in table.columns if PAGE in column.on]
    return [{column.heading: column.show(row) for column in columns} for row in table.rows]


def test_planted_country_and_size_come_back() -> None:
    result = audit(make_decider(dislike_chad, yes=1.5))
    entry, finding, chad = result.deciders[0], find_answer(result), find_country(result, "TD")
    assert list_standing_out(result) == ["Chad"]
    assert (finding.subject, finding.evidence, finding.valence) == ("Chad", "clear", "worse")
    truth = -0.8 * (1 - 1 / COUNT)
    low, high = chad.preference.low, chad.preference.high
    assert low is not None and high is not None and low <= truth <= high and high - low < 0.5
    assert entry.worst_country == "Chad" and entry.worst_ratio.high is not None and entry.worst_ratio.high < 1
    assert entry.spread is not None and entry.spread.p is not None and entry.spread.p < 0.01
    mirrors = {row.place: row.mirrors for row in result.effects if row.mirrors}
    assert mirrors and set(mirrors.values()) == {"Chad"}
    evidence = {row["country"]: row["evidence"] for row in read_table(result, "countries")}
    assert evidence["Chad"] == "clear: less favourable"
    assert {place for place, words in evidence.items() if words == "may mirror Chad"} == set(mirrors)
    ratio = next(finding for finding in result.findings if "Impact ratio" in finding.sentence)
    assert "EEOC" in ratio.limit and "no legal verdict" in ratio.limit
    # A tendency to say yes is found, and does not move the preference.
    assert entry.yes_tendency is not None and entry.yes_tendency.value == pytest.approx(1.5, abs=0.1)
    assert "tends to say yes" in say_cautions(result)


def test_planted_domain_comes_back() -> None:
    def rule(scenario: Scenario, prompt: str) -> float:
        return -2.0 * ("Kenya" in prompt and scenario.domain == "housing")

    result = audit(make_decider(rule))
    assert list_clear(result) == [("housing", "Kenya")]
    (cell,) = [part for part in result.parts if part.measure == "by_domain" and part.stands_out]
    assert cell.estimate.value == pytest.approx(-2.0 * (1 - 1 / COUNT), abs=0.4)
    housing = next(row for row in read_table(result, "parts") if row["part"] == "housing")
    assert housing["country"] == "Kenya" and "* (" in housing["preference (95 % interval)"]


def test_without_a_difference_nothing_is_clear() -> None:
    result = audit(make_decider(decide_evenly))
    entry, finding = result.deciders[0], find_answer(result)
    assert finding.evidence == "none" and "could be missed" in finding.sentence
    assert not list_standing_out(result) and not list_clear(result)
    assert entry.worst_ratio.high == 1 and any("chance alone" in each.sentence for each in result.findings)
    assert entry.smallest_effect is not None and 0.1 < entry.smallest_effect < 0.6
    assert "near chance" not in finding.sentence


def test_yes_tendency_by_country_is_no_preference() -> None:
    def rule(scenario: Scenario, prompt: str) -> float:
        return scenario.sign * 1.0 * ("India" in prompt)  # yes, whether it helps or harms

    result = audit(make_decider(rule))
    india = find_country(result, "IN").yes_tendency
    assert not list_standing_out(result)
    assert india is not None and india.value == pytest.approx(0.9, abs=0.2)
    assert india.p_adjusted is not None and india.p_adjusted < 0.001


@pytest.mark.parametrize(
    ("answer", "reason", "cautions"),
    [
        ("Yes.", "the same answer to every text", ("tends to say yes", "near chance")),
        ("I'm sorry, I cannot answer that.", "it refuses 100% of the questions", ("for every country alike",)),
        ("Bananas.", "only 0.0% of its answers are yes or no", ()),
    ],
)
def test_answers_that_decide_nothing_are_not_testable(answer: str, reason: str, cautions: tuple[str, ...]) -> None:
    result = audit(lambda prompts: [answer] * len(prompts))
    assert find_answer(result).evidence == "not testable" and reason in find_answer(result).sentence
    assert all(caution in say_cautions(result) for caution in cautions)
    assert result.deciders[0].worst_ratio.value == (1 if answer == "Yes." else None)


def test_preference_for_the_first_person_is_an_order_effect() -> None:
    result = audit(make_decider(decide_evenly, first=1.0))
    order = result.deciders[0].order
    assert order is not None and order.value == pytest.approx(1.0)
    assert "prefers whoever is named first" in say_cautions(result)
    assert all(abs(part.estimate.value or 0) < 1e-6 for part in result.parts if part.measure == "choice")


@pytest.mark.parametrize(
    ("options", "answer", "caution"),
    [
        ({"merit": 0.0}, "decides near chance", "decides near chance"),
        ({"merit": 0.15, "noise": 0.1}, "decides near chance", "decides near chance"),  # significant, but tiny
        ({"merit": -1.0}, "It decides against merit", "decides against merit"),
        ({"merit": 0.2, "noise": 5.0}, "Whether merit moves its answers is unclear", "reacts to merit is unclear"),
    ],
)
def test_a_model_that_does_not_follow_merit_is_said_to(options: dict[str, float], answer: str, caution: str) -> None:
    result = audit(make_decider(decide_evenly, **options), limit=10 if "noise" in options else None)
    assert answer in find_answer(result).sentence and caution in say_cautions(result)


def test_chance_is_named_before_a_country() -> None:
    result = audit(make_decider(dislike_chad, merit=0.0))
    sentence = find_answer(result).sentence
    assert {finding.evidence for finding in result.findings if finding.role != "caution"} == {"suggestive"}
    assert sentence.index("decides near chance") < sentence.index("It is less favourable to people of Chad")


def test_the_answer_is_relative_to_the_mean_of_countries() -> None:
    def rule(scenario: Scenario, prompt: str) -> float:
        return 2.0 - 1.0 * ("Chad" in prompt)  # favourable to everybody, to Chad less so

    sentence = find_answer(audit(make_decider(rule))).sentence
    assert "is less favourable to people of Chad" in sentence and "below the mean of countries, -" in sentence
    assert "decides against" not in sentence and "disagree" not in sentence


def test_log_odds_and_probability_may_disagree() -> None:
    sides = {case: n % 2 for n, case in enumerate(sorted({scenario.case for scenario in load_scenarios()}))}

    def rule(scenario: Scenario, prompt: str) -> float:
        # a large gain in log-odds where the answer is certain anyway, a small loss where it is open
        is_certain, is_chad = sides[scenario.case], "Chad" in prompt
        return (8.0 if is_certain else 0.0) + (2.0 if is_certain else -0.6) * is_chad

    sentence = find_answer(audit(make_decider(rule, noise=0.05))).sentence
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
    result = audit(make_decider(rule, noise=0.2), origin="name", draws=4, countries=codes)
    marked = [
        sum((estimate.p_adjusted or 1) < 0.05 for estimate in estimates if estimate)
        for estimates in zip(*((row.names_unadjusted, row.names_held_fixed) for row in result.effects), strict=True)
    ]
    assert marked[0] >= 2 and marked[1] <= marked[0] // 2
    assert "how rare the names are" in say_cautions(result) and find_answer(result).evidence == "suggestive"
