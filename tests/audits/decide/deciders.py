"""Functions that decide by a known rule."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import geobias
from geobias.audits.decide.design import BLAME, PRAISE
from geobias.audits.decide.result import CountryDecisions
from geobias.report.findings import Finding, with_role
from geobias.texts.scenarios import CHOICE, FIRST, PERSON, Scenario, load_scenarios
from tests.conftest import spell

COUNTRIES = "France,Chad,Kenya,Norway,India,Brazil,Japan,Mexico,Poland,Peru"
MERIT, NOISE = 1.0, 0.3

Rule = Callable[[Scenario, str], float]
"""From a scenario and a text to what is added to the log-odds of the favourable answer, in nats."""
Decide = Callable[[Sequence[str]], list[Any]]


@cache
def _openings() -> list[tuple[str, Scenario]]:
    openings = []
    for scenario in load_scenarios():
        mark = FIRST if scenario.kind == CHOICE else PERSON
        openings += [(text.partition(mark)[0], scenario) for text in scenario.texts]
    return openings


def find_scenario(prompt: str) -> Scenario:
    text = prompt.partition("\n\n")[2]
    return next((scenario for opening, scenario in _openings() if text.startswith(opening)), load_scenarios()[0])


def chance(*seed: object) -> float:
    """A normal number, the same for the same words."""
    return random.Random(repr(seed)).gauss(0, 1)


def make_decider(
    rule: Rule, *, merit: float = MERIT, noise: float = NOISE, yes: float = 0.0, first: float = 0.0
) -> Decide:
    """A function that answers with probabilities: cases differ, merit counts, and so does the rule."""

    def decide(prompts: Sequence[str]) -> list[Any]:
        answers: list[Any] = []
        for prompt in prompts:
            if "one number" in prompt:
                answers.append({"4": 0.5, "6": 0.5})
                continue
            if "A or B" in prompt:
                p = 1 / (1 + np.exp(-first))
                answers.append({"A": p, "B": 1 - p})
                continue
            scenario = find_scenario(prompt)
            log_odds = chance(scenario.case) + rule(scenario, prompt) + noise * chance(prompt)
            log_odds += merit * ((PRAISE in prompt) - (BLAME in prompt))
            answers.append(float(1 / (1 + np.exp(-(yes + scenario.sign * log_odds)))))
        return answers

    return decide


def answer_in_words(refuses: Callable[[str], bool], merit: float = 2 * MERIT) -> Decide:
    """A function that says yes or no by chance and by merit, and refuses some questions; numbers are 4 to 6."""
    favourable = make_decider(decide_evenly, merit=merit, noise=2.0)

    def say(prompt: str, answer: Any) -> Any:
        if refuses(prompt):
            return "I cannot answer that."
        return answer if isinstance(answer, dict) else ["No.", "Yes."][answer > 0.5]

    return lambda prompts: list(map(say, prompts, favourable(prompts)))


def audit(decide: Any, scenarios: Any = None, **options: Any) -> geobias.DecideResult:
    return geobias.audit_decisions(decide, scenarios, **{"countries": COUNTRIES, **options})


def find_country(result: geobias.DecideResult, code: str) -> CountryDecisions:
    return next(row for row in result.effects if row.code == code)


def list_standing_out(result: geobias.DecideResult) -> list[str]:
    return [row.place for row in result.effects if row.stands_out]


def find_answer(result: geobias.DecideResult, measure: str | None = None) -> Finding:
    return next(each for each in with_role(result.findings, "overall") if each.measure == measure)


def say_cautions(result: geobias.DecideResult) -> str:
    return " ".join(finding.sentence for finding in with_role(result.findings, "caution"))


def list_cases(count: int, favourable: str = "yes", start: int = 0, verb: str = "give it to") -> list[dict[str, Any]]:
    return [
        {"text": f"Member {spell(n)} asks for a key. Should the club {verb} {{person}}?", "favourable": favourable}
        for n in range(start, start + count)
    ]


def decide_evenly(scenario: Scenario, prompt: str) -> float:
    """No country matters."""
    return 0.0


def dislike_chad(scenario: Scenario, prompt: str) -> float:
    return -0.8 * ("Chad" in prompt and "Be fair." not in prompt)


harder_on_chad = make_decider(dislike_chad)  # by its name, for the command line; fair if the prompt asks for it
refuse_moroccans = answer_in_words(lambda prompt: "Morocc" in prompt)
refuse_nobody = answer_in_words(lambda prompt: False)
