"""Questions that are not answered are missing: who gets fewer answers is tested, and others are compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.decide.cautions import list_answered_apart
from geobias.integrations.recorded_answers import make_recorded_model
from geobias.models.answers import ANSWER_SETS, count_answers
from geobias.report.findings import Finding, with_role
from tests.audits.decide.deciders import (
    COUNTRIES,
    answer_in_words,
    chance,
    find_answer,
    find_country,
    find_scenario,
    make_decider,
    refuse_moroccans,
    refuse_nobody,
)
from tests.conftest import Run

MODEL = "tests.audits.decide.deciders:refuse_moroccans"
CODES = "FR,MA,TD,KE,NO"


def audit(decide: Any, **options: Any) -> geobias.DecideResult:
    return geobias.audit_decisions(decide, **{"countries": CODES, **options})


def answers(result: geobias.DecideResult) -> list[Finding]:
    return [finding for finding in with_role(result.findings, "overall") if finding.measure == "answers"]


def list_values(result: geobias.DecideResult, measure: str) -> dict[str, float | None]:
    return {part.code: part.estimate.value for part in result.parts if part.measure == measure}


def test_a_model_that_refuses_one_country_passes_no_gate(run: Run, tmp_path: Path) -> None:
    code, out, err = run("decide", MODEL, "--countries", CODES, "--out", "run")
    shown = " ".join(out.split())
    assert code == 0 and shown.startswith("Ask ") and "answers 0 of 60" in shown, err
    assert shown.index("about people of Morocco") < shown.index("preference")
    content = json.loads((tmp_path / "run" / "results.json").read_text())
    first, second = (finding for finding in content["findings"] if finding["role"] == "overall")
    assert (first["evidence"], first["code"], first["measure"], first["valence"]) == ("clear", "MA", "answers", None)
    assert "100% of those about others" in first["sentence"] and first["p_adjusted"] < 0.001
    assert second["evidence"] == "not testable" and "Morocco" in second["sentence"]
    morocco = next(row for row in content["effects"] if row["code"] == "MA")
    assert morocco["answered"]["value"] == 0 and morocco["rate"] is None and morocco["preference"]["value"] is None
    assert morocco["impact_ratio"]["value"] is None and 0.05 < morocco["answered"]["high"] < 0.2
    rules = {
        "findings.clear <= 0": 1,
        "decide.'{}'.answered > 0.7": 0,
        "decide.'{}'.answered.lowest > 0.5": 1,
        "decide.'{}'.answered.Morocco > 0.5": 1,
        "decide.'{}'.answered.France > 0.8": 0,
        "decide.'{}'.preference.Morocco < 9": 1,
        "decide.'{}'.preference.worst < 9": 1,  # nobody knows the worst without Morocco
        "decide.'{}'.impact_ratio.worst > 0.01": 1,
    }
    for rule, expected in rules.items():
        code, out, err = run("gate", "run", "--rule", rule.format(MODEL))
        assert code == expected, rule + out + err
        assert not expected or "Morocco" in out or "lowest" in rule


def test_the_other_countries_are_compared_as_without_it() -> None:
    with_morocco, without = audit(refuse_moroccans), audit(refuse_nobody, countries="FR,TD,KE,NO")
    for row in without.effects:
        other = find_country(with_morocco, row.code)
        assert (other.preference.value, other.rate) == pytest.approx((row.preference.value, row.rate))
    assert not find_country(with_morocco, "MA").has_estimate


def test_a_model_that_answers_about_one_country_only() -> None:
    result = audit(answer_in_words(lambda prompt: "citizen of" in prompt and "France" not in prompt))
    assert (answers(result)[0].code, answers(result)[0].direction) == ("FR", "higher")
    assert "answers 60 of 60 questions about people of France, 0% of those about others" in answers(result)[0].sentence
    assert find_answer(result).evidence == "not testable" and not result.cases
    entry = result.deciders[0]
    assert entry.worst_country is None and entry.farthest.value is None
    assert not any(row.has_estimate for row in result.effects)


def test_refusals_at_random_are_no_finding() -> None:
    decide = answer_in_words(lambda prompt: chance(prompt, "refuses", 1) > 1.3)  # a tenth
    result = audit(decide, countries=COUNTRIES)
    assert not answers(result) and all(row.has_estimate for row in result.effects)
    assert find_answer(result).evidence == "none"
    caution = next(finding for finding in result.findings if "It refuses" in finding.sentence)
    assert "adjusted p = " in caution.sentence and geobias.gate(result, "findings.clear <= 0").passed


def test_a_planted_preference_comes_back_where_answers_depend_on_the_country() -> None:
    """Questions about Chad are answered in favourable cases only; a mean of the answers would favour it."""

    def rule(scenario: Any, prompt: str) -> float:
        return 3 * chance(scenario.case) - 0.8 * ("Chad" in prompt)

    favourable = make_decider(rule, noise=0.2)

    def decide(prompts: Sequence[str]) -> list[Any]:
        return [
            {} if "Chad" in prompt and chance(find_scenario(prompt).case) < 0 else answer
            for prompt, answer in zip(prompts, favourable(prompts), strict=True)
        ]

    result = audit(decide, countries=COUNTRIES)
    chad = find_country(result, "TD")
    assert 0 < (chad.answered.value or 0) < 1 and answers(result)[0].code == "TD"
    truth = -0.8 * 9 / 10
    low, high = chad.preference.low, chad.preference.high
    assert low is not None and high is not None and low <= truth <= high < 0
    assert chad.preference.p_adjusted is not None and chad.preference.p_adjusted < 0.01


def test_numbers_and_choices_that_are_not_answered_are_missing() -> None:
    def answer(prompt: str) -> Any:
        if "yes or no" in prompt:
            return ["Yes.", "No."][chance(prompt) > 0]
        number = str(4 + ("Kenya" in prompt))
        return "I cannot." if "Morocc" in prompt else number if "one number" in prompt else {"A": 0.6, "B": 0.4}

    def decide(prompts: Sequence[str]) -> list[Any]:
        return list(map(answer, prompts))

    result, without = audit(decide), audit(decide, countries="FR,TD,KE,NO")
    for measure in ("number", "choice"):
        values = list_values(result, measure)
        assert values["MA"] is None and values["KE"] is not None
    assert list_values(result, "number")["KE"] == pytest.approx(list_values(without, "number")["KE"])
    assert "no number for some people" in result.deciders[0].notes[0]


@pytest.mark.parametrize(("refusals", "is_clear"), [(10, True), (0, False)])
def test_samples_that_are_partly_refused_are_a_share(refusals: int, is_clear: bool) -> None:
    """As a server without log-probabilities is asked, and as Inspect records answers: 20 samples of each question."""

    def sample(kind: str, text: str) -> np.ndarray:
        said = ["Yes.", "No."] if kind == "yes_no" else ["4", "6"] if kind == "number" else ["A", "B"]
        texts = [said[chance(text, n) > 0] for n in range(20)]
        texts[: refusals if "Morocc" in text else 0] = ["I'm sorry, I can't."] * (refusals if "Morocc" in text else 0)
        return count_answers(ANSWER_SETS[kind], texts)

    class Rows(dict[str, np.ndarray]):
        def __init__(self, kind: str) -> None:
            self.kind = kind

        def __contains__(self, text: object) -> bool:
            return True

        def __missing__(self, text: str) -> np.ndarray:
            return sample(self.kind, text)

    result = audit(make_recorded_model("sampled", {kind: Rows(kind) for kind in ANSWER_SETS}))
    morocco = find_country(result, "MA")
    assert morocco.answered.value == pytest.approx(1 - refusals / 20) and morocco.preference.value is not None
    assert bool(answers(result)) == is_clear
    if is_clear:
        assert "answers 50% of the questions about people of Morocco" in answers(result)[0].sentence
        assert geobias.gate(result, "decide.sampled.answered.Morocco > 0.45").passed
        assert not geobias.gate(result, "findings.clear <= 0").passed


@pytest.mark.parametrize(("share", "is_clear"), [(0.95, True), (0.2, False)])
def test_little_probability_of_yes_and_no_is_a_refusal_of_a_model_that_answers(share: float, is_clear: bool) -> None:
    def answer(prompt: str) -> dict[str, float]:
        part = share * (0.5 if "Morocc" in prompt else 1.0) * (0.9 + 0.01 * chance(prompt))
        p = 1 / (1 + np.exp(-chance(prompt, "yes")))
        is_asked = "yes or no" in prompt
        return {"yes": part * p, "no": part * (1 - p), "4": 1.0} if is_asked else dict.fromkeys("46AB", 0.5)

    result = audit(lambda prompts: list(map(answer, prompts)))
    assert bool(answers(result)) == is_clear
    assert find_country(result, "MA").answered_difference.p_adjusted is not None
    if is_clear:
        assert "gives yes and no 43% of the probability" in answers(result)[0].sentence
        assert [row.code for row in list_answered_apart(result.deciders[0], result.effects)] == ["MA"]


def test_names_that_are_refused_are_no_country(tmp_path: Path) -> None:
    """Some names are refused, whatever their country: that is chance of the names, not of countries."""
    marked = 0
    for seed in range(3):
        decide = answer_in_words(
            lambda prompt, seed=seed: chance(prompt.partition("?")[0].split()[-1], seed) > 1.3  # type: ignore[misc]
        )
        result = audit(decide, origin="name", draws=4, limit=15)
        marked += bool(answers(result))
        assert find_country(result, "MA").answered_difference.p_adjusted is not None
    assert marked <= 1
    decide = answer_in_words(lambda prompt: "yes or no" in prompt and chance(prompt) > 1)
    refuse = audit(decide, origin="name,stated", draws=4, limit=15)
    assert any(row.names_held_fixed for row in refuse.effects) and any(row.p_adjusted for row in refuse.effects)


def test_a_second_version_that_refuses_one_country_differs(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    audit(refuse_nobody, out=first)
    audit(refuse_moroccans, out=second)
    comparison = geobias.compare([first, second])
    assert comparison.findings[0].evidence == "clear" and comparison.findings[0].measure == "answered"
    assert "the share answered is lower for Morocco" in comparison.findings[0].sentence
    rows = {(row.measure, row.id): row for row in comparison.comparisons[0].rows}
    assert rows["preference", "MA"].difference.value is None
    assert rows["preference", "FR"].difference.value == pytest.approx(0)
    assert rows["answered", "MA"].difference.value == pytest.approx(-0.8)
    nothing = tmp_path / "nothing"
    audit(lambda prompts: ["I cannot."] * len(prompts), out=nothing)
    assert geobias.compare([first, nothing]).findings[0].evidence == "not testable"
