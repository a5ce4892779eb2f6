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
from geobias.measures.estimates import Estimate
from tests.audits.decide.deciders import (
    audit,
    chance,
    decide_evenly,
    find_answer,
    find_country,
    list_cases,
    make_decider,
    say_cautions,
)
from tests.conftest import spell

COUNTRIES = "FR,TD,KE"
SPELLED = "From 1 to 9, how much of sum {} should {{person}} get?"


def list_numbers() -> list[dict[str, Any]]:
    return [{"text": SPELLED.format(spell(n)), "favourable": "high"} for n in range(12)]


def list_estimates(result: geobias.DecideResult, measure: str, label: str | None = None) -> list[Estimate]:
    return [part.estimate for part in result.list_parts(result.deciders[0].model, measure, label)]


def is_tested(result: geobias.DecideResult) -> bool:
    return any(row.p_adjusted is not None for row in result.effects)


def test_names_without_mirrors_are_measured_with_two_draws() -> None:
    result = audit(make_decider(decide_evenly), list_cases(16), countries=COUNTRIES, origin="name")
    by_gender = list_estimates(result, "by_gender")
    assert is_tested(result) and len(by_gender) == 6
    assert all(estimate.low is None and estimate.p is None for estimate in by_gender)


def test_one_draw_of_names_is_not_tested_although_mirrors_repeat_it() -> None:
    result = audit(make_decider(decide_evenly), countries=COUNTRIES, origin="stated,name", draws=1, limit=12)
    answer = find_answer(result)
    assert not is_tested(result) and answer.evidence == "not testable"
    assert "Names need at least two draws: --draws 2" in answer.sentence
    assert all(estimate.low is not None for estimate in list_estimates(result, "by_origin", "stated"))
    assert all(estimate.low is None for estimate in list_estimates(result, "by_origin", "name"))


def test_rates_of_answers_in_words_are_shares() -> None:
    def refuse_some(prompts: Sequence[str]) -> list[str]:
        return ["no" if "Chad" in prompt and random.Random(prompt).random() < 0.3 else "yes" for prompt in prompts]

    result = audit(refuse_some, list_cases(200), countries=COUNTRIES)
    chad, bounds = find_country(result, "TD"), result.deciders[0].worst_ratio
    refused = refuse_some([f"{n} Chad" for n in range(1000)]).count("no") / 1000
    assert refused == pytest.approx(0.3, abs=0.05)
    assert chad.impact_ratio.value == pytest.approx(0.7, abs=0.08) and chad.rate == chad.impact_ratio.value
    assert bounds.low is not None and bounds.low <= 0.7


def test_a_rate_of_0_has_an_impact_ratio() -> None:
    decide = lambda prompts: ["no" if "Chad" in prompt else "yes" for prompt in prompts]  # noqa: E731
    entry = audit(decide, list_cases(12), countries=COUNTRIES).deciders[0]
    worst = entry.worst_ratio
    assert entry.worst_country == "Chad" and worst.value == pytest.approx(0, abs=1e-5)
    assert worst.low is not None and worst.high is not None and np.isfinite([worst.low, worst.high]).all()


def test_domains_and_cases_are_on_the_scale_of_answers_where_kinds_are_unbalanced() -> None:
    def decide(prompts: Sequence[str]) -> list[float]:
        favourable = [1.0 - 1.5 * ("Chad" in prompt) + 0.1 * chance(prompt) for prompt in prompts]
        signs = [-1 if "Should the club refuse" in prompt else 1 for prompt in prompts]
        return [float(1 / (1 + np.exp(-sign * value))) for sign, value in zip(signs, favourable, strict=True)]

    harmful = [row | {"domain": "rare"} for row in list_cases(3, "no", 17, "refuse it to")]
    result = audit(decide, [*list_cases(17), *harmful], countries=COUNTRIES)
    assert len(result.cases) == 20 and all(0 <= case.rate <= 1 for case in result.cases)
    chad = {
        part.label: part.estimate.value for part in result.parts if (part.measure, part.code) == ("by_domain", "TD")
    }
    assert chad == pytest.approx({"other": -1.0, "rare": -1.0}, abs=0.2)


def test_questions_without_a_number_are_left_out_and_others_kept() -> None:
    def decide(prompts: Sequence[str]) -> list[str]:
        numbers = [
            "none" if "sum d " in prompt and "Chad" in prompt else str(4 + ("Kenya" in prompt)) for prompt in prompts
        ]
        return [each if "one number" in prompt else "yes" for each, prompt in zip(numbers, prompts, strict=True)]

    result = audit(decide, [*list_cases(10), *list_numbers()], countries=COUNTRIES)
    assert "1 of 12 questions for a number with no number" in result.deciders[0].notes[0]
    values = [estimate.value for estimate in list_estimates(result, "number")]
    assert values == pytest.approx([-1 / 3, -1 / 3, 2 / 3])


def test_numbers_that_depend_on_single_names_are_no_difference_between_countries() -> None:
    def decide(prompts: Sequence[str]) -> list[str]:
        names = [prompt.partition(" get?")[0].split()[-1] for prompt in prompts]
        return [
            str(min(max(round(5 + 2 * chance(name)), 1), 9)) if "one number" in prompt else "yes"
            for prompt, name in zip(prompts, names, strict=True)
        ]

    result = audit(decide, [*list_cases(10), *list_numbers()], countries="FR,TD,KE,NO,IN", origin="name", draws=4)
    assert all((estimate.p_adjusted or 0) > 0.05 for estimate in list_estimates(result, "number"))


def test_questions_of_one_kind_and_few_of_a_kind_are_cautioned() -> None:
    decide = make_decider(decide_evenly)
    few = audit(decide, [*list_cases(12), *list_cases(3, "no", 12)], countries=COUNTRIES)
    assert "Only 3 questions are of the kind whose yes harms" in say_cautions(few)
    alike = audit(decide, list_cases(12), countries=COUNTRIES)
    assert alike.deciders[0].yes_tendency is None and alike.effects[0].yes_tendency is None
    assert "not told apart from a preference" in say_cautions(alike)
    answer = find_answer(audit(decide, list_cases(5), countries=COUNTRIES))
    assert answer.evidence == "not testable" and "5 cases are too few" in answer.sentence
    with pytest.raises(geobias.InputError, match="no yes/no scenario"):
        audit(decide, list_numbers())


def test_an_impact_ratio_below_1_by_rounding_is_no_finding() -> None:
    result = audit(lambda prompts: [0.7] * len(prompts), list_cases(12), countries=COUNTRIES)
    entry = result.deciders[0]
    rounded = replace(entry, worst_ratio=replace(entry.worst_ratio, value=1 - 2e-16, high=1 - 2e-16))
    findings = list_findings(replace(result, deciders=[rounded]))
    ratio = next(finding for finding in findings if "Impact ratio" in finding.sentence)
    assert (ratio.evidence, ratio.valence) == ("none", None)
