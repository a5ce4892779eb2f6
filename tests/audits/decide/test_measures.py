"""Numbers that must not depend on how answers come: in words, by names drawn once, from unbalanced questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.decide.findings import list_findings
from geobias.report.findings import with_role
from tests.audits.decide.deciders import chance, decide_evenly, make_decider
from tests.conftest import spell

COUNTRIES = "FR,TD,KE"


def list_cases(count: int, favourable: str = "yes", start: int = 0) -> list[dict[str, Any]]:
    return [
        {"text": f"Member {spell(n)} asks for a key. Should the club give it to {{person}}?", "favourable": favourable}
        for n in range(start, start + count)
    ]


@pytest.mark.parametrize("draws", [1, 2])
def test_names_without_mirrors_are_measured_with_few_draws(draws: int) -> None:
    decide = make_decider(decide_evenly)
    result = geobias.audit_decisions(decide, list_cases(16), countries=COUNTRIES, origin="name", draws=draws)
    entry = result.decisions[0]
    assert entry.is_testable == (draws == 2)
    by_gender = [country.estimate for part in entry.by_gender for country in part.countries]
    assert by_gender and all(estimate.low is None and estimate.p is None for estimate in by_gender)


def test_one_draw_of_names_is_not_tested_although_mirrors_repeat_it() -> None:
    decide = make_decider(decide_evenly)
    result = geobias.audit_decisions(decide, countries=COUNTRIES, origin="stated,name", draws=1, limit=12)
    entry = result.decisions[0]
    overall = with_role(result.findings, "overall")[0]
    assert not entry.is_testable and overall.evidence == "not testable"
    assert "Names need at least two draws: --draws 2" in overall.sentence
    stated, name = entry.by_origin
    assert stated.spread is not None and name.spread is None
    assert all(country.estimate.low is None for country in name.countries)


def test_rates_of_answers_in_words_are_shares() -> None:
    def refuse_some(prompts: Sequence[str]) -> list[str]:
        return ["no" if "Chad" in prompt and random.Random(prompt).random() < 0.3 else "yes" for prompt in prompts]

    result = geobias.audit_decisions(refuse_some, list_cases(200), countries=COUNTRIES)
    entry = result.decisions[0]
    chad = next(country for country in entry.countries if country.code == "TD")
    refused = refuse_some([f"{n} Chad" for n in range(1000)]).count("no") / 1000
    assert refused == pytest.approx(0.3, abs=0.05)
    assert chad.impact_ratio.value == pytest.approx(0.7, abs=0.08) and chad.rate == pytest.approx(
        chad.impact_ratio.value
    )
    assert entry.worst is not None and entry.worst.low is not None and entry.worst.low <= 0.7


def test_a_rate_of_0_has_an_impact_ratio() -> None:
    result = geobias.audit_decisions(
        lambda prompts: ["no" if "Chad" in prompt else "yes" for prompt in prompts], list_cases(12), countries=COUNTRIES
    )
    worst = result.decisions[0].worst
    assert worst is not None and worst.country == "TD" and worst.value == pytest.approx(0, abs=1e-5)
    assert worst.low is not None and worst.high is not None and np.isfinite([worst.low, worst.high]).all()


def test_domains_and_cases_are_on_the_scale_of_answers_where_kinds_are_unbalanced() -> None:
    def decide(prompts: Sequence[str]) -> list[float]:
        favourable = [1.0 - 1.5 * ("Chad" in prompt) + 0.1 * chance(prompt) for prompt in prompts]
        signs = [-1 if "Should the club refuse" in prompt else 1 for prompt in prompts]
        return [float(1 / (1 + np.exp(-sign * value))) for sign, value in zip(signs, favourable, strict=True)]

    harmful = [
        row | {"text": row["text"].replace("give it to", "refuse it to"), "domain": "rare"}
        for row in list_cases(3, "no", 17)
    ]
    result = geobias.audit_decisions(decide, [*list_cases(17), *harmful], countries=COUNTRIES)
    entry = result.decisions[0]
    assert all(0 <= case.rate <= 1 for case in entry.cases)
    for part in entry.by_domain:
        chad = next(country for country in part.countries if country.code == "TD")
        assert chad.estimate.value == pytest.approx(-1.0, abs=0.2), part.domain


def test_questions_without_a_number_are_left_out_and_others_kept() -> None:
    numbers = [
        {"text": f"From 1 to 9, how much of sum {spell(n)} should {{person}} get?", "favourable": "high"}
        for n in range(12)
    ]

    def decide(prompts: Sequence[str]) -> list[str]:
        return [
            "yes"
            if "one number" not in prompt
            else "none"
            if "sum d " in prompt and "Chad" in prompt
            else str(4 + ("Kenya" in prompt))
            for prompt in prompts
        ]

    entry = geobias.audit_decisions(decide, [*list_cases(10), *numbers], countries=COUNTRIES).decisions[0]
    assert "1 of 12 questions for a number with no number" in entry.notes[0]
    assert [country.estimate.value for country in entry.numbers] == pytest.approx([-1 / 3, -1 / 3, 2 / 3])


@pytest.mark.parametrize("draws", [1, 4])
def test_numbers_that_depend_on_single_names_are_no_difference_between_countries(draws: int) -> None:
    numbers = [
        {"text": f"From 1 to 9, how much of sum {spell(n)} should be given to {{person}}?", "favourable": "high"}
        for n in range(12)
    ]

    def decide(prompts: Sequence[str]) -> list[str]:
        names = [prompt.partition("?")[0].split()[-1] for prompt in prompts]
        return [
            str(min(max(round(5 + 2 * chance(name)), 1), 9)) if "one number" in prompt else "yes"
            for prompt, name in zip(prompts, names, strict=True)
        ]

    result = geobias.audit_decisions(
        decide, [*list_cases(10), *numbers], countries="FR,TD,KE,NO,IN", origin="name", draws=draws
    )
    estimates = [country.estimate for country in result.decisions[0].numbers]
    if draws == 1:
        assert all(estimate.low is None for estimate in estimates)
    else:
        assert all(estimate.p_adjusted is not None and estimate.p_adjusted > 0.05 for estimate in estimates)


def test_few_questions_of_one_kind_are_cautioned() -> None:
    rows = [*list_cases(12), *list_cases(3, "no", 12)]
    result = geobias.audit_decisions(make_decider(decide_evenly), rows, countries=COUNTRIES)
    assert any("Only 3 questions are of the kind whose yes harms" in finding.sentence for finding in result.findings)


def test_an_impact_ratio_below_1_by_rounding_is_no_finding() -> None:
    result = geobias.audit_decisions(lambda prompts: [0.7] * len(prompts), list_cases(12), countries=COUNTRIES)
    entry = result.decisions[0]
    assert entry.worst is not None
    rounded = replace(entry, worst=replace(entry.worst, value=1 - 2e-16, high=1 - 2e-16))
    findings = list_findings(replace(result, decisions=[rounded]))
    ratio = next(finding for finding in findings if "Impact ratio" in finding.sentence)
    assert (ratio.evidence, ratio.valence) == ("none", None)
