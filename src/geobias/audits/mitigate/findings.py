"""What a mitigation concludes: what each method improves, for whom, what it costs, and which one to take.

Answers are about methods, not about places: the rules of `report/model_findings.py` do not fit.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from geobias.audits.mitigate.design import METHODS
from geobias.audits.mitigate.result import (
    MOST_CAPITALS_LOST,
    MOST_PERPLEXITY_RISE,
    CountryChange,
    LanguageModelMeasures,
    MethodMeasures,
    MitigateResult,
    falls,
    rises,
)
from geobias.measures.estimates import Estimate
from geobias.models.sources import MITIGATED
from geobias.report.findings import OUT, Finding, Role, grade_evidence
from geobias.report.results import HasInterval
from geobias.report.sentences import format_evidence, format_number, list_first, measure_size
from geobias.report.tables import is_marked

QUESTION = "Does the method lower the spread between countries of people's names?"
FLIPS_QUESTION = "Does the method lower the share of labels that flip with the name?"
SCORE_QUESTION = "Does the method lower HERB's balanced score on held-out words, regions and templates?"
CHOICE_QUESTION = "Which method should be taken?"
CAUTION_QUESTION = "What may go wrong with this method?"
UNIT, SHARE_UNIT = "points", "percentage points"
LOW_RECALL, RECALL_GAP = 0.8, 0.1  # of a finder: below, or that far below the mean, names of a country leak
ROUNDED = 0.005  # of a recall: fewer misses print as 0 %
LEAST_SHRINKAGE = 0.8  # a standardised ratio above, with a spread ratio below, is shrinkage
LANGUAGE: dict[str, str] = {
    "limit": "The score is of held-out words, regions and templates; it does not cover what the model generates.",
    "next_step": "Try another strength: --method align:0.25,align:0.5,align:1",
}


def list_findings(result: MitigateResult) -> list[Finding]:
    """The answer for each method, then the recommendation and the countries, then cautions."""
    if result.is_of_language_model:
        rows = result.language_models[1:]
        return [
            *(_answer_of_language_model(result, row) for row in rows),
            _recommend_language_model(result),
            *(caution for row in rows for caution in _list_language_cautions(result, row)),
        ]
    return [
        *(_answer(result, row) for row in result.mitigated),
        _recommend(result),
        *(_describe_countries(result, row) for row in result.mitigated),
        *(caution for row in result.mitigated for caution in _list_cautions(result, row)),
        *_doubt_spread(result),
    ]


def _find(result: MitigateResult, role: Role, method: str | None, sentence: str, **fields: Any) -> Finding:
    """A finding about a method."""
    model, evidence = result.models[0].name, {"evidence": "not testable"}
    return Finding(role=role, audit="mitigate", model=model, measure=method, sentence=sentence, **(evidence | fields))


def _describe(change: Estimate, unit: str) -> dict[str, Any]:
    """The fields of a finding that say how large a change is, and how sure."""
    return {"size": measure_size(change, unit), "p": change.p, "p_adjusted": change.p_adjusted}


def _answer(result: MitigateResult, row: MethodMeasures) -> Finding:
    by_flips, evidence = row.helps and not result.original.has_spread, row.evidence
    change = row.flips_change if by_flips else row.spread_change
    direction = "lower" if (change.value or 0) < 0 else "higher"
    return _find(
        result,
        "overall",
        row.method,
        f"{_say_spread(result, row)} {_say_missed_names(result, row)}{_say_cost(row)}",
        question=FLIPS_QUESTION if by_flips else QUESTION,
        limit="Measured with names that no method used, in texts like these; other texts may differ. A country's "
        "names are those common there, not those of its citizens everywhere.",
        next_step=_say_next_step(row),
        evidence=evidence,
        direction=direction if evidence in ("clear", "suggestive") else None,
        **_describe(change, SHARE_UNIT if by_flips else UNIT),
    )


def _say_spread(result: MitigateResult, row: MethodMeasures) -> str:
    original, change, fewer = result.original, row.spread_change, row.flips_change
    flips = f"labels that flip with the name from {_say(original.flips)} to {_say(row.flips)} %"
    start = f"{row.method}: spread between countries from {_say(original.spread)} to {_say(row.spread)} points"
    if change.p_adjusted is None:
        return f"{start}, {flips}; there are too few texts to test it."
    evidence = format_evidence(change, change.p_adjusted, UNIT)
    if not original.has_spread:
        verdict = f"it rises (change {evidence})" if rises(change) else "there is no spread to mitigate"
        if row.helps:
            verdict = f"fewer labels flip (change {format_evidence(fewer, fewer.p_adjusted, SHARE_UNIT)})"
        floor = f" (equal countries would show {format_number(original.noise)})" if original.noise else ""
        return f"{start}, {flips}. Before, the spread was no more than noise{floor}; {verdict}."
    if row.helps:
        less = 100 * (1 - _value(row.spread_ratio))
        return f"{start}, {less:.0f} % less (change {evidence}); {flips}."
    if falls(change):
        return f"{start} (change {evidence}), but this does not count as fairer; {flips}."
    if rises(change):
        return f"{start}: it rises (change {evidence}); {flips}."
    return f"{start}: no clear change ({evidence}); {flips}."


def _say(number: HasInterval) -> str:
    return format_number(number.value or 0)


def _value(number: HasInterval | None) -> float:
    return 0.0 if number is None else number.value or 0.0


def _say_missed_names(result: MitigateResult, row: MethodMeasures) -> str:
    """Of a method that hides what a finder marks, what the finder misses: the rest is hidden by construction."""
    if row.recall is None or row.recall.value is None:
        return ""
    recalls = _list_recalls(result, row)
    missed = {name: 1 - recall for name, recall in recalls.items() if recall < 1 - ROUNDED}
    worst = [f"{name} {100 * missed[name]:.0f} %" for name in sorted(missed, key=lambda name: -missed[name])]
    by_country = f" ({list_first(worst)})" if worst else ""
    share, counts = format_number(100 * (1 - row.recall.value)), result.counts
    originals = "People whom it missed in the original texts are not tested: mark them (--spans)."
    if counts.originals is not None:
        originals = f"In the original texts it misses {counts.originals_missed:,} of {counts.originals:,} marked names."
    return (
        f"What is left comes from names that {result.settings.finder} misses, {share} % of those tested{by_country}: "
        f"the others are hidden by construction. {originals} "
    )


def _list_recalls(result: MitigateResult, row: MethodMeasures) -> dict[str, float]:
    """By country, where the method needs a finder."""
    countries = result.list_countries(row.method)
    return {each.place: each.recall.value for each in countries if each.recall and each.recall.value is not None}


def _say_cost(row: MethodMeasures) -> str:
    accuracy = row.accuracy_change
    # Times differ from run to run, and findings are saved: the table on the terminal has them.
    work = f"the model reads {row.texts_per_text:.1f} texts for each text"
    if accuracy is None:
        return f"Cost: {work}; accuracy unknown: no true labels given."
    verdict = "clearly lower" if falls(accuracy) else "clearly higher" if is_marked(accuracy) else "no clear change"
    bounds = f"{format_number(accuracy.low or 0)} to {format_number(accuracy.high or 0)}"
    lost = f"{accuracy.value or 0:+.1f} {SHARE_UNIT} ({bounds}; {verdict})"
    return f"Cost: accuracy {lost}, macro-F1 {_value(row.macro_f1_change):+.1f}; {work}."


def _say_next_step(row: MethodMeasures) -> str:
    if row.folder is None or not row.helps:
        return "Compare other methods and strengths: --method blind,average:4,average:16"
    allow = "".join(f" --allow {shlex.quote(name)}" for name in row.allow)
    return f"Use the model in the folder of this run: geobias names {MITIGATED}{OUT}/{row.folder}{allow}"


def _recommend(result: MitigateResult) -> Finding:
    rows, has_spread = result.mitigated, result.original.has_spread
    choice = next((row for row in rows if row.method == result.recommended), None)
    costs = list(_say_costly(rows))
    if choice is not None:
        sentence = f"Take {choice.method} ({METHODS[choice.method.partition(':')[0]]})."
        if cheap := [row.method for row in rows if row.helps and not row.loses_quality and row is not choice]:
            verb = "helps" if len(cheap) == 1 else "help"
            sentence += f" {list_first(cheap)} {verb} too, with more spread left or at a higher cost."
        sentence += "".join(f" {cost}." for cost in costs)
    elif costs:
        sentence = f"No method is worth taking: {'; '.join(costs)}."
    elif all(row.spread_change.p is None for row in rows):
        sentence = "No method can be recommended: there are too few texts to test one."
    elif not has_spread:
        sentence = "There is no spread to mitigate: before, it was no more than noise."
    else:
        sentence = "Nothing helped: no method clearly lowers the spread between countries."
    by_flips = choice is not None and choice.helps and not has_spread
    fall = "flips, no clear rise of the spread" if by_flips else "the standardised spread, no rise of flips"
    return _find(
        result,
        "detail",
        result.recommended,
        sentence,
        question=CHOICE_QUESTION,
        limit=f"The choice is by rule: a clear fall of {fall}, at most one point of accuracy, then the cheaper method.",
        next_step="See the chart of bias against quality on the page.",
        evidence="none" if choice is None else choice.evidence,  # the choice rests on that
    )


def _say_costly(rows: Sequence[MethodMeasures]) -> Iterator[str]:
    """The methods that help, but lose accuracy: clearly, or perhaps."""
    costly = [row for row in rows if row.helps and row.loses_quality]
    if clear := [row.method for row in costly if falls(row.accuracy_change)]:
        verbs = ("helps", "costs") if len(clear) == 1 else ("help", "cost")
        yield f"{list_first(clear)} {verbs[0]}, but {verbs[1]} accuracy"
    if doubtful := [row.method for row in costly if row.method not in clear]:
        verb = "helps" if len(doubtful) == 1 else "help"
        yield f"{list_first(doubtful)} {verb}, but may cost more than a point of accuracy"


def _describe_countries(result: MitigateResult, row: MethodMeasures) -> Finding:
    """For whom the gap becomes smaller, for whom larger, and for how many nothing changes."""
    countries = result.list_countries(row.method)
    clear, mirrors = [each for each in countries if each.stands_out], [each.place for each in countries if each.mirrors]
    nearer = [each for each in clear if abs(each.after.value or 0) < abs(each.before.value or 0)]
    nearer.sort(key=lambda each: -abs(each.before.value or 0))
    farther, parts = [_name_change(each) for each in clear if each not in nearer], []
    if nearer:
        parts.append(f"the gap shrinks for {list_first([_name_change(each) for each in nearer])}")
    if farther:
        parts.append(f"the gap grows for {list_first(farther)}")
    if mirrors:
        parts.append(f"the change of {list_first(mirrors)} may only mirror {'that' if len(clear) == 1 else 'these'}")
    rest = len(countries) - len(clear) - len(mirrors)
    if not clear:
        parts.append("no clear change for any country")
    elif rest:
        parts.append(f"no clear change for {rest} other {'country' if rest == 1 else 'countries'}")
    p_values = [each.p_adjusted for each in countries if each.p_adjusted is not None]
    largest = max(clear, key=lambda each: abs(each.value), default=None)
    about = (
        {} if largest is None else {"subject": largest.place, "code": largest.code, **_describe(largest.change, UNIT)}
    )
    return _find(
        result,
        "detail",
        row.method,
        f"{row.method}: {'; '.join(parts)} (Δ against the mean of countries, in points).",
        question="For whom does the method change the classifier?",
        limit="A country whose gap was small before cannot change much.",
        next_step="Every country is in tables/countries.csv.",
        evidence=grade_evidence(min(p_values, default=None)),
        **about,
    )


def _name_change(country: CountryChange) -> str:
    after = country.after
    bounds = "" if after.low is None or after.high is None else f", 95 % interval {after.low:+.1f} to {after.high:+.1f}"
    return f"{country.place} ({country.before.value or 0:+.1f} to {after.value or 0:+.1f}{bounds})"


def _caution(result: MitigateResult, row: MethodMeasures, sentence: str, next_step: str, **more: Any) -> Finding:
    more |= {"question": CAUTION_QUESTION, "limit": "It holds for these texts and names.", "next_step": next_step}
    return _find(result, "caution", row.method, sentence, **more)


def _list_cautions(result: MitigateResult, row: MethodMeasures) -> Iterator[Finding]:
    """What a method makes worse, and what it leaves as it was."""
    ratio, standardised = _value(row.spread_ratio) or 1.0, _value(row.standardised_ratio)
    if ratio < LEAST_SHRINKAGE <= standardised and is_marked(row.spread_change) and not row.helps:
        sentence = (
            f"{row.method} shrinks all probabilities towards each other: the spread falls to {100 * ratio:.0f} % in "
            f"points, but in units of the differences between texts it is {100 * standardised:.0f} % of what it was. "
            "Softer probabilities are not fairer."
        )
        yield _caution(result, row, sentence, "Look at flips, not at the spread.")
    flips, accuracy = row.flips_change, row.accuracy_change
    if rises(flips):
        sentence = f"{row.method} makes more labels flip with the name: {flips.value or 0:+.1f} {SHARE_UNIT}."
        yield _caution(result, row, sentence, "Do not use it.")
    if accuracy is not None and falls(accuracy):
        sentence = (
            f"{row.method} loses {abs(accuracy.value or 0):.1f} {SHARE_UNIT} of accuracy: part of what it removes is "
            "what the labels depend on."
        )
        size = measure_size(accuracy, SHARE_UNIT)
        yield _caution(result, row, sentence, "Check whether names carry the label in your task.", size=size)
    recalls, mean = _list_recalls(result, row), _value(row.recall)
    leaks = sorted((each, name) for name, each in recalls.items() if each < max(LOW_RECALL, mean - RECALL_GAP))
    if leaks:  # these names still reach the model
        names = [f"{name} ({100 * recall:.0f} %)" for recall, name in leaks]
        sentence = (
            f"{row.method} leaks: {result.settings.finder} marks {100 * mean:.0f} % of names, and too few of "
            f"{list_first(names)}. Names that it misses reach the model."
        )
        yield _caution(result, row, sentence, "Use a better --finder, or a method that is trained.")


def _doubt_spread(result: MitigateResult) -> Iterator[Finding]:
    original = result.original
    if original.spread.low and not original.exceeds_noise:
        sentence = (
            f"Before mitigation, equal countries would show a spread of {format_number(original.noise or 0)} points "
            "too, since each has other names: the spread may come from single names rather than from countries."
        )
        step = "Test more names: --draws 50, or countries with more names."
        yield _caution(result, result.mitigated[0], sentence, step)


# Language models


def _answer_of_language_model(result: MitigateResult, row: LanguageModelMeasures) -> Finding:
    change, is_higher = row.score_change, rises(row.score_change)
    return _find(
        result,
        "overall",
        row.method,
        f"{row.method}: balanced score {_say(result.language_models[0].score)} to {_say(row.score)}"
        f"{': it rises' if is_higher else ''} (change {format_evidence(change, change.p_adjusted)}). Cost: "
        f"{_say_loss(row)}; {100 * _value(row.word_variance_ratio):.0f} % of the variance over words is left.",
        question=SCORE_QUESTION,
        evidence=row.evidence,
        direction="higher" if is_higher else "lower" if row.helps else None,
        **_describe(change, "score"),
        **LANGUAGE,
    )


def _recommend_language_model(result: MitigateResult) -> Finding:
    rows = result.language_models[1:]
    choice = next((row for row in rows if row.method == result.recommended), None)
    if choice is not None:
        sentence = f"Take {choice.method}: it lowers the score. Cost: {_say_loss(choice)}."
    elif any(row.helps for row in rows):
        sentence = (
            f"No method is worth taking: the score falls, but perplexity rises by more than {MOST_PERPLEXITY_RISE:.0f} "
            f"% or more than {MOST_CAPITALS_LOST:.0f} percentage points of capitals are forgotten."
        )
    else:
        sentence = "Nothing helped: no method clearly lowers the score on held-out words and regions."
    return _find(result, "detail", None, sentence, question=CHOICE_QUESTION, **LANGUAGE)


def _list_language_cautions(result: MitigateResult, row: LanguageModelMeasures) -> Iterator[Finding]:
    left = 100 * _value(row.word_variance_ratio)
    sentences = {
        f"{row.method} raises the score: do not use it.": rises(row.score_change),
        f"{row.method} makes the model say much the same of everything: only {left:.0f} % of the variance "
        "over words is left. That is no fairness.": not row.keeps_words,
        f"{row.method} makes the model forget: {_say_loss(row)}.": row.forgets,
    }
    for sentence in (sentence for sentence, is_so in sentences.items() if is_so):
        yield _find(result, "caution", row.method, sentence, question=CAUTION_QUESTION, **LANGUAGE)


def _say_loss(row: LanguageModelMeasures) -> str:
    perplexity, capitals = _value(row.perplexity_change), _value(row.capitals_change)
    return f"perplexity {perplexity:+.1f} %, capitals known {capitals:+.1f} percentage points"
