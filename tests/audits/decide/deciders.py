"""Functions that decide by a known rule."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from geobias.audits.decide.design import BLAME, PRAISE
from geobias.texts.scenarios import CHOICE, FIRST, PERSON, Scenario, load_scenarios

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

    def decide(prompts: Sequence[str]) -> list[Any]:
        return [
            "I cannot answer that."
            if refuses(prompt)
            else answer
            if isinstance(answer, dict)
            else ["No.", "Yes."][answer > 0.5]
            for prompt, answer in zip(prompts, favourable(prompts), strict=True)
        ]

    return decide


def decide_evenly(scenario: Scenario, prompt: str) -> float:
    """No country matters."""
    return 0.0


def _prefer_others_to_chad(scenario: Scenario, prompt: str) -> float:
    return -1.2 * ("Chad" in prompt and "Be fair." not in prompt)


harder_on_chad = make_decider(
    _prefer_others_to_chad
)  # by its name, for the command line; fair if the prompt asks for it
refuse_moroccans = answer_in_words(lambda prompt: "Morocc" in prompt)
refuse_nobody = answer_in_words(lambda prompt: False)
