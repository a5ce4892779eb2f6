"""What a comparison concludes: whether the second model treats places differently from the first, and for whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from geobias.audits.compare.result import (
    ANSWERED,
    MEAN_LIMIT,
    PREFERENCE,
    SCORE,
    WORDS,
    CompareResult,
    Difference,
    ModelPair,
    list_pairs,
)
from geobias.audits.labels import label_tone
from geobias.measures.estimates import detectable_effect, find_standing_out
from geobias.report.findings import Evidence, Finding, format_p, grade_evidence
from geobias.report.sentences import format_evidence, format_number, list_first, measure_size, say_missed
from geobias.report.tables import is_marked

MOST_DETAILS = 2  # where there is one pair of models; else the most certain one of each
QUESTION = "Does the second model treat places differently from the first?"


def list_findings(result: CompareResult) -> list[Finding]:
    """For each pair of models the overall answers, then the clear differences, then which models were not compared."""
    pairs = list_pairs(result)
    most_details = MOST_DETAILS if len(pairs) == 1 else 1
    answers: list[Finding] = []
    details: list[Finding] = []
    for pair in pairs:
        if ANSWERED in pair.rows:  # what is not answered is in no preference
            shares = _answer(replace(pair, rows={ANSWERED: pair.rows[ANSWERED]}))
            answers += [replace(shares, measure=ANSWERED)] if shares.evidence == "clear" else []
        answers.append(_answer(pair))
        details += _list_details(pair, most_details)
    return [
        *answers,
        *sorted(details, key=lambda detail: detail.p_adjusted or 0),
        *_list_cautions(result),
    ]


def main_rows(pair: ModelPair) -> list[Difference]:
    """The rows of the main measure that have a difference."""
    return [row for row in next(iter(pair.rows.values())) if row.is_known]


def select_places(rows: Iterable[Difference]) -> list[Difference]:
    """The most certain row of each place, of several classes: the most certain place first."""
    by_place: dict[str, Difference] = {}
    for row in sorted(rows, key=lambda row: row.certainty):
        by_place.setdefault(row.id, row)
    return list(by_place.values())


def _answer(pair: ModelPair) -> Finding:
    """The overall test is the smallest adjusted p-value of the main measure: valid for max-T and Benjamini-Hochberg."""
    rows = main_rows(pair)
    tested = [row for row in rows if row.difference.p_adjusted is not None]
    if not tested:
        return _say_untested(pair)
    largest = min(tested, key=lambda row: row.certainty)
    evidence = grade_evidence(largest.difference.p_adjusted)
    standing_out = [row for row in tested if grade_evidence(row.difference.p_adjusted) == evidence]
    standing_out = list_clear(tested) if evidence == "clear" else standing_out
    if evidence in ("clear", "suggestive"):
        sentence = _say_difference(pair, tested, standing_out, evidence)
        if _moves_alike(tested):
            evidence = "suggestive"
            sentence += " Most places move alike: the models may only react differently to the control."
    else:
        sentence = _say_null(pair, tested)
    return _make_finding(pair, largest, "overall", sentence, evidence, about_all=True)


def list_clear(rows: Sequence[Difference]) -> list[Difference]:
    """The clear differences of one measure; not those that may only mirror the largest, where it is against a mean."""
    clear = [row for row in rows if grade_evidence(row.difference.p_adjusted) == "clear"]
    if not clear or WORDS[clear[0].measure].limit != MEAN_LIMIT:
        return clear
    marks = []
    for label in dict.fromkeys(row.label for row in rows):
        family = [row for row in rows if row.label == label]
        standing_out = find_standing_out([row.difference for row in family])
        marks += [row for row, stands_out in zip(family, standing_out, strict=True) if stands_out]
    return [row for row in clear if row in marks]


def _moves_alike(rows: Sequence[Difference]) -> bool:
    """Whether most shifts against a control differ clearly and in one direction, as its wording alone would do."""
    if rows[0].measure != "against_control" or len({row.id for row in rows}) < 2:
        return False
    labels = dict.fromkeys(row.label for row in rows)
    counts = [
        sum(row.label == label and _direction(row) == way for row in rows if is_marked(row.difference))
        for label in labels
        for way in ("higher", "lower")
    ]
    return 2 * max(counts) > len(rows) / len(labels)


def _say_difference(
    pair: ModelPair, tested: Sequence[Difference], standing_out: Sequence[Difference], evidence: Evidence
) -> str:
    rows = select_places(standing_out)
    total = len({row.id for row in tested})
    verb = "differ clearly" if evidence == "clear" else "may differ"
    p = format_p(rows[0].difference.p_adjusted)
    return (
        f"{pair.second} and {pair.first} {verb} in {len(rows)} of {total} {WORDS[rows[0].measure].places}: with "
        f"{pair.second} {_say_outcomes(pair, rows)} ({p}). {_say_spread(pair, tested, rows[0])}"
    )


def _say_outcomes(pair: ModelPair, rows: Sequence[Difference]) -> str:
    """What the second model does to places, those with the same outcome together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        groups.setdefault(_outcome(pair, row), []).append(row.name)
    parts: list[str] = []
    for k, ((start, outcome), names) in enumerate(groups.items()):
        is_repeated = k > 0 and start == list(groups)[k - 1][0]
        parts.append(f"{'' if is_repeated else f'{start} '}{outcome} {list_first(names)}")
    return ", ".join(parts)


def _outcome(pair: ModelPair, row: Difference) -> tuple[str, str]:
    """What is compared, and how it comes out, up to the name of the place."""
    if valence := _valence(pair, row):
        return "the outcome is", f"{valence} for"
    if row.measure == SCORE:
        return "differences are", f"{'larger' if _direction(row) == 'higher' else 'smaller'} within"
    return f"{_quantity(row)} is", f"{_direction(row)} for"


def _say_spread(pair: ModelPair, tested: Sequence[Difference], row: Difference) -> str:
    """How far apart places are with each model: a description, not a test."""
    if row.measure == SCORE:  # the first row is the region that holds all others
        second, first, quantity = tested[0].second, tested[0].first, f"C_w of {tested[0].name}"
    else:
        alike = [each for each in tested if each.label == row.label]
        seconds, firsts = ([getattr(each, run) or 0 for each in alike] for run in ("second", "first"))
        second, first = max(seconds) - min(seconds), max(firsts) - min(firsts)
        quantity = f"Highest minus lowest {_quantity(row).removeprefix('the ')}"
    return f"{quantity}: {_value(row, second)}; with {pair.first} {_value(row, first)}."


def _say_null(pair: ModelPair, tested: Sequence[Difference]) -> str:
    words = WORDS[tested[0].measure]
    total = len({row.id for row in tested})
    if not any(row.size for row in tested):
        return f"{pair.second} and {pair.first} agree: every difference between them is 0 ({total} {words.places})."
    largest = max(tested, key=lambda row: row.size)
    effect = detectable_effect(row.difference for row in tested)
    power = say_missed(words.data, effect, [largest.size], lambda size: f"{format_number(size)}{_name_unit(largest)}")
    return (
        f"{pair.second} and {pair.first} do not differ clearly in any of {total} {words.places}: the largest "
        f"difference in {_quantity(largest)} is {_difference(largest)} for {_subject(largest)} "
        f"({format_p(largest.difference.p_adjusted)}).{power}"
    )


def _say_untested(pair: ModelPair) -> Finding:
    rows = next(iter(pair.rows.values()))
    words = WORDS[rows[0].measure]
    total = len({row.id for row in rows})
    return Finding(
        role="overall",
        audit="compare",
        model=pair.model,
        question=QUESTION,
        evidence="not testable",
        sentence=f"{pair.second} and {pair.first} cannot be compared: none of {total} {words.places} could be tested.",
        limit=f"There are too few {words.data}, draws of names or predictions of a class for an interval.",
        next_step="Run both audits again with more texts, draws or words, then compare them.",
    )


def _list_details(pair: ModelPair, most: int) -> Iterator[Finding]:
    """The most certain clear differences of the main measure; of another one only where that has none."""
    for measure, rows in pair.rows.items():
        clear = [] if measure == ANSWERED else list_clear(rows)  # which has an answer of its own
        for row in select_places(clear)[:most]:
            yield _make_finding(pair, row, "detail", _say_row(pair, row), "clear")
        if clear:
            return


def _say_row(pair: ModelPair, row: Difference) -> str:
    subject, valence = _subject(row), _valence(pair, row)
    if valence:
        claim = f"{subject} fare {valence} with {pair.second} than with {pair.first}"
    elif row.measure == SCORE:
        degree = "more" if _direction(row) == "higher" else "less"
        claim = f"{subject} are described {degree} differently by {pair.second} than by {pair.first}"
    else:
        claim = f"for {subject} {_quantity(row)} is {_direction(row)} with {pair.second} than with {pair.first}"
    quantity = _quantity(row).removeprefix("the ")
    values = f"{quantity} {_value(row, row.second)} against {_value(row, row.first)}"
    difference = format_number(row.difference.value or 0)
    evidence = format_evidence(row.difference, row.difference.p_adjusted)
    return f"{claim[0].upper()}{claim[1:]}: {values} (difference {difference}, {evidence})."


def _list_cautions(result: CompareResult) -> Iterator[Finding]:
    for pair in list_pairs(result):
        yield from _note_mirrored(pair)
    for comparison in result.comparisons:
        if comparison.left_out:
            yield Finding(
                role="caution",
                audit="compare",
                model=comparison.left_out[0],
                question=QUESTION,
                evidence="not testable",
                sentence=f"Not compared, since only one of {comparison.first} and {comparison.second} has them: "
                f"{list_first(comparison.left_out)}.",
                limit="Classifiers are compared by name where a run has several of them.",
                next_step="Run both audits with the same classifiers, or compare runs of one classifier each.",
            )


def _note_mirrored(pair: ModelPair) -> Iterator[Finding]:
    """Clear differences of the main measure that may only mirror the largest one."""
    rows = main_rows(pair)
    clear = list_clear(rows)
    others = [row for row in rows if grade_evidence(row.difference.p_adjusted) == "clear" and row not in clear]
    if others:
        largest = max(clear, key=lambda row: row.size)
        yield Finding(
            role="caution",
            audit="compare",
            model=pair.model,
            question=QUESTION,
            evidence="not testable",
            sentence=f"The differences of {list_first([row.name for row in select_places(others)])} may only mirror "
            f"that of {largest.name}, which moves the mean of countries.",
            limit=MEAN_LIMIT,
            next_step=f"Compare runs without {largest.name} (--countries).",
        )


def _make_finding(
    pair: ModelPair,
    row: Difference,
    role: Literal["overall", "detail"],
    sentence: str,
    evidence: Evidence,
    *,
    about_all: bool = False,
) -> Finding:
    words, estimate = WORDS[row.measure], row.difference
    runs = f"geobias report {' '.join(pair.runs)}"
    is_null = evidence == "none"
    return Finding(
        role=role,
        audit="compare",
        model=pair.model,
        question=QUESTION,
        subject=None if about_all else row.name,
        code=None if about_all else row.id,
        direction=None if is_null else _direction(row),
        valence=None if is_null else _valence(pair, row),
        size=measure_size(estimate, words.unit),
        p=estimate.p,
        p_adjusted=estimate.p_adjusted,
        evidence=evidence,
        sentence=sentence,
        limit=f"It holds for these {words.data}: others may show a difference." if is_null else words.limit,
        next_step="To find smaller differences, run both audits again with more texts, cases or words."
        if is_null
        else f"See both runs side by side: {runs}",
    )


def _direction(row: Difference) -> Literal["higher", "lower"]:
    return "higher" if (row.difference.value or 0) > 0 else "lower"


def _valence(pair: ModelPair, row: Difference) -> Literal["better", "worse"] | None:
    if pair.is_about_emotions:
        return None
    tone = 1 if row.measure in ("delta", PREFERENCE) else label_tone(row.label) if row.label else 0
    sign = tone * (row.difference.value or 0)
    return None if not sign else "better" if sign > 0 else "worse"


def _subject(row: Difference) -> str:
    return WORDS[row.measure].subject.format(place=row.name)


def _quantity(row: Difference) -> str:
    return WORDS[row.measure].quantity.format(label=row.label)


def _difference(row: Difference) -> str:
    return f"{format_number(row.size)}{_name_unit(row)} {_direction(row)}"


def _name_unit(row: Difference) -> str:
    unit = WORDS[row.measure].unit
    return "" if unit == "C_w" else f" {unit}"


def _value(row: Difference, value: float | None) -> str:
    suffix = {"delta": " points", "change": " %"}.get(row.measure, "")
    return "unknown" if value is None else f"{format_number(value)}{suffix}"
