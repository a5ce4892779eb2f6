"""What a mitigation of a language model concludes."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.mitigate.measure import rises
from geobias.audits.mitigate.methods import LEAST_WORD_VARIANCE, MOST_CAPITALS_LOST, MOST_PERPLEXITY_RISE
from geobias.audits.mitigate.result import LanguageModelComparison, MitigateResult
from geobias.report.findings import Finding, Role, grade_evidence
from geobias.report.results import Interval
from geobias.report.sentences import format_evidence, format_number, measure_size

QUESTION = "Does the method lower HERB's balanced score on held-out words, regions and templates?"


def list_language_findings(result: MitigateResult) -> list[Finding]:
    """The answer for each method, the recommendation, and what may have gone wrong."""
    answers = [_answer(result, entry) for entry in result.language_models]
    cautions = [caution for entry in result.language_models for caution in _list_cautions(result, entry)]
    return [*answers, _recommend(result), *cautions]


def _answer(result: MitigateResult, entry: LanguageModelComparison) -> Finding:
    assert result.language_model is not None
    change, before = entry.score_change, result.language_model
    evidence = grade_evidence(change.p_adjusted)
    is_higher = rises(change)
    if evidence == "clear" and not entry.helps and not is_higher:
        evidence = "suggestive"
    rise = ": it rises" if is_higher else ""
    sentence = (
        f"{entry.method}: balanced score {format_number(before.score.value or 0)} to "
        f"{format_number(entry.after.score.value or 0)}{rise} (change {format_evidence(change, change.p_adjusted)}). "
        f"Cost: {_say_cost(entry)}; {100 * _value(entry.word_variance_ratio):.0f} % of the variance over words is left."
    )
    return _finding(
        result,
        "overall",
        entry,
        sentence,
        question=QUESTION,
        direction="higher" if is_higher else "lower" if entry.helps else None,
        size=measure_size(change, "score"),
        p=change.p,
        p_adjusted=change.p_adjusted,
        evidence=evidence,
    )


def _recommend(result: MitigateResult) -> Finding:
    entry = next((entry for entry in result.language_models if entry.method == result.recommended), None)
    if entry is not None:
        sentence = f"Take {entry.method}: it lowers the score. Cost: {_say_cost(entry)}."
    elif any(entry.helps for entry in result.language_models):
        sentence = (
            "No method is worth taking: the score falls, but perplexity rises by more than "
            f"{MOST_PERPLEXITY_RISE:.0f} % or more than {MOST_CAPITALS_LOST:.0f} percentage points of capitals are "
            "forgotten."
        )
    else:
        sentence = "Nothing helped: no method clearly lowers the score on held-out words and regions."
    return _finding(result, "detail", None, sentence, question="Which method should be taken?")


def _list_cautions(result: MitigateResult, entry: LanguageModelComparison) -> Iterator[Finding]:
    if rises(entry.score_change):
        yield _finding(result, "caution", entry, f"{entry.method} raises the score: do not use it.")
    if _value(entry.word_variance_ratio) < LEAST_WORD_VARIANCE:
        yield _finding(
            result,
            "caution",
            entry,
            f"{entry.method} makes the model say much the same of everything: only "
            f"{100 * _value(entry.word_variance_ratio):.0f} % of the variance over words is left. That is no fairness.",
        )
    perplexity, capitals = _value(entry.perplexity_change), _value(entry.capitals_change)
    if perplexity > MOST_PERPLEXITY_RISE or capitals < -MOST_CAPITALS_LOST:
        yield _finding(
            result,
            "caution",
            entry,
            f"{entry.method} makes the model forget: {_say_cost(entry)}.",
        )


def _say_cost(entry: LanguageModelComparison) -> str:
    perplexity, capitals = _value(entry.perplexity_change), _value(entry.capitals_change)
    return f"perplexity {perplexity:+.1f} %, capitals known {capitals:+.1f} percentage points"


def _value(number: Interval) -> float:
    return number.value or 0.0


def _finding(
    result: MitigateResult, role: Role, entry: LanguageModelComparison | None, sentence: str, **fields: object
) -> Finding:
    defaults: dict[str, object] = {"question": "What may go wrong with this method?", "evidence": "not testable"}
    return Finding(
        role=role,
        audit="mitigate",
        model=result.models[0].name,
        measure=None if entry is None else entry.method,
        sentence=sentence,
        limit="The score is of held-out words, regions and templates; it does not cover what the model generates.",
        next_step="Try another strength: --method align:0.25,align:0.5,align:1",
        **(defaults | fields),  # type: ignore[arg-type]
    )
