"""What a decisions audit concludes: the answer for each model, which countries and domains stand out, and artefacts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from geobias.audits.decide.cautions import list_cautions
from geobias.audits.decide.design import NAME
from geobias.audits.decide.measure import FEWEST_CASES
from geobias.audits.decide.ranking import (
    FOUR_FIFTHS,
    WHERE_FROM,
    find_most_certain,
    has_answers,
    is_rarity,
    judge_merit,
    list_clear_cells,
    list_standing_out,
    name_country,
)
from geobias.audits.decide.records import CountryDecisions, CountryEstimate, ModelDecisions, WorstRatio
from geobias.audits.decide.result import DecideResult
from geobias.audits.decide.unanswered import list_unanswered, report_answered, say_unanswered
from geobias.audits.inputs import describe_copies
from geobias.measures.crossed_variance import FEWEST_DRAWS
from geobias.measures.estimates import Estimate
from geobias.measures.uncertainty import ROUNDING
from geobias.report.findings import Evidence, Finding, format_p, grade_evidence
from geobias.report.number_tree import join_path
from geobias.report.sentences import measure_size, say_missed

MOST_DETAILS: Final = 3  # countries besides the first, and domains
MOST: Final = 0.5
LEAST_POINTS: Final = 0.05  # of probability: smaller differences are printed as 0
NATS: Final = "nats"
SHOWN = {"stated": "stated", "demonym": "a demonym", "name": "shown by names", "said": "said by the person"}
QUESTION: Final = (
    "Are decisions about people of any country more or less favourable than about the mean of countries, in log-odds?"
)


def list_findings(result: DecideResult) -> list[Finding]:
    entries = result.decisions
    return [
        *(finding for entry in entries for finding in (*report_answered(result, entry), _answer(result, entry))),
        *(finding for entry in entries for finding in _list_details(result, entry)),
        *(finding for entry in entries for finding in list_cautions(result, entry)),
    ]


def _answer(result: DecideResult, entry: ModelDecisions) -> Finding:
    name = entry.model.short_name
    if not has_answers(entry):
        refusals = entry.refusals or 0.0
        if refusals >= MOST:
            reason = f"it refuses {refusals:.0%} of the questions"
        elif entry.refusals is not None:
            reason = f"only {entry.answered:.1%} of its answers are yes or no"
        else:
            reason = (
                f"yes and no have only {entry.answered:.1%} of the probability of its answers; it decides near chance"
            )
        return _untested(
            result,
            entry,
            f"{name} does not decide: {reason}.",
            "Ask a model that follows instructions, or change the question: --system TEXT",
        )
    if result.settings.draws < FEWEST_DRAWS and NAME in result.settings.origin:
        return _untested(
            result,
            entry,
            f"{name}: Names need at least two draws: --draws {FEWEST_DRAWS}. With one, the effect of a name is not "
            "told apart from that of its case.",
            f"Draw more names: --draws {FEWEST_DRAWS}",
        )
    if not entry.is_testable and result.counts.cases >= FEWEST_CASES:
        return _untested(
            result,
            entry,
            f"{name} answers too few questions about any two countries to compare them.",
            "Ask a model that answers, or change the question: --system TEXT",
        )
    if not entry.is_testable:
        return _untested(
            result,
            entry,
            f"{name}: {result.counts.cases} cases{describe_copies(result.counts.cases, result.counts.copies, 'case')} "
            f"are too few to compare {result.counts.countries} countries; at least {FEWEST_CASES} are needed.",
            "Use more scenarios: all bundled ones, or your own with --scenarios FILE",
        )
    top = find_most_certain(entry)
    evidence = grade_evidence(top.preference.p_adjusted)
    chance, merit = _describe_chance(entry), _describe_merit(entry)
    if evidence in ("clear", "suggestive"):
        subject = f"{name} {chance}. It" if chance else name  # a reader must not take an association for a decision
        count = _count(entry, evidence) if not chance else _count_associations(entry)
        sentence = f"{_describe(subject, top)}.{count}{merit}"
        next_step = (
            "Check it with other wordings and ways of showing origin: --paraphrases 3 --origin stated,demonym,name"
        )
        if evidence == "clear" and _depends_on_names(result) and is_rarity(entry, top.code):
            evidence = "suggestive"
        evidence = _weaken_chance(entry, evidence)
    else:
        sentence = f"{name}: {_deny(result, entry, top)}{f' It {chance}.' if chance else merit}"
        next_step = "To find smaller differences, add wordings: --paraphrases 3"
        unanswered = [country.country for country in list_unanswered(entry)]
        if unanswered:  # a null is one of all countries
            return _untested(result, entry, f"{sentence} {say_unanswered(unanswered)}", "Ask a model that answers")
    return _finding(result, entry, "overall", top.preference, evidence, sentence, next_step, top.country, top.code)


def _describe_chance(entry: ModelDecisions) -> str:
    """Nothing for a model whose decisions depend on merit."""
    is_chance = judge_merit(entry) == "near chance"
    return f"decides near chance: merit moves its answers by {_merit_size(entry)}" if is_chance else ""


def _weaken_chance(entry: ModelDecisions, evidence: Evidence) -> Evidence:
    """Differences of a model that decides near chance are associations of words: suggestive at most."""
    return "suggestive" if evidence == "clear" and _describe_chance(entry) else evidence


def _describe_merit(entry: ModelDecisions) -> str:
    """Nothing for a model that decides by what it reads, or near chance."""
    effect = judge_merit(entry)
    if effect == "against merit":
        return f" It decides against merit, which moves its answers by {_merit_size(entry)}."
    if effect == "unclear":
        return f" Whether merit moves its answers is unclear ({_merit_size(entry)}): it may decide near chance."
    return ""


def _merit_size(entry: ModelDecisions) -> str:
    merit = entry.controls.merit
    return "" if merit is None else f"{merit.value or 0:+.2f} {NATS}"


def _depends_on_names(result: DecideResult) -> bool:
    return result.settings.origin == [NAME]


def _describe(name: str, country: CountryDecisions) -> str:
    estimate = country.preference
    value = estimate.value or 0.0
    points = country.probability.value or 0.0
    disagree = " (log-odds and probability disagree)" if points * value < 0 and abs(points) >= LEAST_POINTS else ""
    return (
        f"{name} is {_rate_stance(value)} to people of {country.country}: log-odds of the favourable answer "
        f"{_compare(estimate)} the mean of countries, {points:+.1f} percentage points of probability{disagree}"
    )


def _rate_stance(value: float) -> str:
    return "more favourable" if value > 0 else "less favourable"


def _compare(estimate: Estimate) -> str:
    """ "0.45 (95 % interval 0.30 to 0.60; adjusted p < 0.001) below"."""
    value = estimate.value or 0.0
    ends = sorted(
        abs(end) if end * value > 0 else -abs(end) for end in (estimate.low, estimate.high) if end is not None
    )
    interval = f"95 % interval {ends[0]:.2f} to {ends[1]:.2f}; " if len(ends) == 2 else ""
    return f"{abs(value):.2f} ({interval}{format_p(estimate.p_adjusted)}) {'above' if value > 0 else 'below'}"


def _count(entry: ModelDecisions, evidence: Evidence) -> str:
    if evidence == "suggestive":
        return f" None of {len(entry.countries):,} countries stands out clearly."
    values = [country.preference.value or 0.0 for country in list_standing_out(entry)]
    if len(values) == 1:
        return f" No other of {len(entry.countries):,} countries stands out."
    above = sum(value > 0 for value in values)
    return (
        f" {len(values):,} of {len(entry.countries):,} countries stand out: {above:,} above the mean of countries, "
        f"{len(values) - above:,} below."
    )


def _count_associations(entry: ModelDecisions) -> str:
    count = len(list_standing_out(entry))
    return f" {count:,} of {len(entry.countries):,} countries differ from the mean, as associations of words."


def _deny(result: DecideResult, entry: ModelDecisions, top: CountryDecisions) -> str:
    tested = f"{len(entry.countries) - len(list_unanswered(entry)):,} countries tested together"
    if all(abs(country.preference.value or 0.0) < ROUNDING for country in entry.countries):
        return f"No country stands out: {tested}, and its decisions do not depend on the country."
    missed = say_missed(
        f"{result.counts.cases} cases",
        entry.smallest_effect,
        [top.preference.value or 0.0],
        lambda size: f"{size:.2f} {NATS}",
    )
    return (
        f"No country stands out: {tested}; the closest is {top.country}, log-odds {_compare(top.preference)} the mean "
        f"of countries.{missed}"
    )


def _list_details(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    if not has_answers(entry) or not entry.is_testable:
        return
    first = find_most_certain(entry)
    others = [country for country in list_standing_out(entry) if country.code != first.code]
    opposite = [country for country in others if (country.preference.value or 0) * (first.preference.value or 0) < 0]
    shown = list(dict.fromkeys(country.code for country in [*others[:1], *opposite[:1], *others]))[:MOST_DETAILS]
    for country in (country for country in others if country.code in shown and len(result.decisions) == 1):
        yield _finding(
            result,
            entry,
            "detail",
            country.preference,
            _weaken_chance(entry, grade_evidence(country.preference.p_adjusted)),
            f"{_describe(entry.model.short_name, country)}.",
            "Compare it with similar countries in the table of the page.",
            country.country,
            country.code,
        )
    if entry.worst is not None:
        yield _report_ratio(result, entry, entry.worst)
    for domain, cell in list_clear_cells(entry)[:MOST_DETAILS]:
        yield _report_cell(result, entry, domain, cell)


def _report_ratio(result: DecideResult, entry: ModelDecisions, worst: WorstRatio) -> Finding:
    lowest, best = name_country(entry, worst.country), name_country(entry, worst.best)
    rates = {country.code: country.rate or 0.0 for country in entry.countries}
    low, high = worst.low or 0.0, worst.high or 1.0
    if high < FOUR_FIFTHS:
        place = "below four fifths even at its upper bound"
    elif low >= FOUR_FIFTHS:
        place = "at least four fifths even at its lower bound"
    else:
        place = "the bounds leave open on which side of four fifths it lies"
    differs = high < 1 - ROUNDING
    path = join_path(["decide", entry.model.short_name, "impact_ratio", "worst"])
    sentence = (
        f"{entry.model.short_name}: Impact ratio {worst.value:.2f} (bounds {low:.2f} to {high:.2f}, all countries at "
        f"once): the selection rate of {lowest} is {rates[worst.country]:.2f}, that of {best}, the highest, "
        f"{rates[worst.best]:.2f}; {place}."
    )
    if not differs:
        sentence = sentence.removesuffix(".") + "; chance alone can make it this small."
    return Finding(
        role="detail",
        audit=result.audit,
        model=entry.model.name,
        question="How low is the selection rate of the worst-treated country against the best-treated one?",
        subject=lowest,
        code=worst.country,
        direction="lower",
        valence="worse" if differs else None,
        size=measure_size(worst, "ratio"),
        evidence=_weaken_chance(entry, "clear") if differs else "none",
        sentence=sentence,
        limit=f"{WHERE_FROM}.",
        next_step=f"Set a limit for the next version: geobias gate RUN --rule {shlex.quote(f'{path} > 0.8')}",
    )


def _report_cell(result: DecideResult, entry: ModelDecisions, domain: str, cell: CountryEstimate) -> Finding:
    value = cell.estimate.value or 0.0
    sentence = (
        f"{entry.model.short_name}: In {domain}, decisions are {_rate_stance(value)} to people of "
        f"{cell.country}: log-odds {_compare(cell.estimate)} the mean of countries."
    )
    return _finding(
        result,
        entry,
        "detail",
        cell.estimate,
        _weaken_chance(entry, grade_evidence(cell.estimate.p_adjusted)),
        sentence,
        f"Ask about more cases of this domain: --domains '{domain}' --scenarios FILE",
        cell.country,
        cell.code,
    )


def _untested(result: DecideResult, entry: ModelDecisions, sentence: str, next_step: str) -> Finding:
    return Finding(
        role="overall",
        audit=result.audit,
        model=entry.model.name,
        question=QUESTION,
        evidence="not testable",
        sentence=sentence,
        limit="Numbers without a test say nothing about other cases.",
        next_step=next_step,
    )


def _finding(
    result: DecideResult,
    entry: ModelDecisions,
    role: Any,
    estimate: Estimate,
    evidence: Evidence,
    sentence: str,
    next_step: str,
    subject: str,
    code: str,
) -> Finding:
    value = estimate.value or 0.0
    return Finding(
        role=role,
        audit=result.audit,
        model=entry.model.name,
        question=QUESTION,
        subject=subject,
        code=code,
        direction="higher" if value > 0 else "lower" if value < 0 else None,
        valence="better" if value > 0 else "worse" if value < 0 else None,
        size=measure_size(estimate, NATS),
        p=estimate.p,
        p_adjusted=estimate.p_adjusted,
        evidence=evidence,
        sentence=sentence,
        limit=f"It holds for cases like these {result.counts.cases} and for origin that is "
        f"{' or '.join(SHOWN[way] for way in result.settings.origin)}; the largest of many differences tends to be "
        "overestimated.",
        next_step=next_step,
    )
