"""Questions that a model does not answer: of which countries they are, and what is concluded from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from geobias.audits.decide.ranking import FEW_ANSWERED
from geobias.audits.decide.records import CountryDecisions, ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.measures.estimates import find_standing_out
from geobias.report.findings import Finding, format_p, grade_evidence
from geobias.report.sentences import list_first, measure_size

ANSWERS: Final = "answers"  # the measure of these findings; others are of preferences
LEAST_DIFFERENCE: Final = 0.02  # in the share of questions answered: smaller ones are not worth a finding


def list_unanswered(entry: ModelDecisions) -> list[CountryDecisions]:
    """The countries that are answered too seldom to be compared."""
    return [country for country in entry.countries if not country.has_estimate]


def say_unanswered(countries: Sequence[str]) -> str:
    return f"It answers too few questions about people of {list_first(countries)} to test them."


def list_answered_apart(entry: ModelDecisions) -> list[CountryDecisions]:
    """The countries whose questions are clearly answered more or less often than others, the farthest first.

    Of probabilities, only where a model answers at all: a model that continues texts otherwise gives yes and no little
    probability after some words and less after others, which is no refusal.
    """
    differences = [country.answered_difference for country in entry.countries]
    stands_out = find_standing_out(differences)
    apart = [country for country, is_clear in zip(entry.countries, stands_out, strict=True) if is_clear]
    others = answered_elsewhere(entry, apart)
    shown = [
        country
        for country in apart
        if abs(country.answered - others) >= LEAST_DIFFERENCE
        and (entry.refusals is not None or max(country.answered, others) >= FEW_ANSWERED)
    ]
    return sorted(shown, key=lambda country: -abs(country.answered_difference.value or 0))


def answered_elsewhere(entry: ModelDecisions, apart: Sequence[CountryDecisions]) -> float:
    """The mean share of questions that is answered about all but these countries."""
    codes = {country.code for country in apart}
    return float(np.mean([each.answered for each in entry.countries if each.code not in codes] or [entry.answered]))


def report_answered(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    """That people of some countries get fewer answers: before all preferences, which are those of answers only."""
    apart = list_answered_apart(entry)
    if not apart:
        return
    first, *others = apart
    more = ""
    if others:
        named = [f"{country.country} ({country.answered:.0%})" for country in others]
        more = f" {len(others):,} more of {len(entry.countries):,} countries stand out: {list_first(named)}."
    p = first.answered_difference.p_adjusted
    yield Finding(
        role="overall",
        audit=result.audit,
        model=entry.model.name,
        measure=ANSWERS,
        question="Does it answer questions about people of all countries equally often?",
        subject=first.country,
        code=first.code,
        direction="higher" if (first.answered_difference.value or 0) > 0 else "lower",
        size=measure_size(first.answered_difference, "share of questions"),
        p=first.answered_difference.p,
        p_adjusted=p,
        evidence=grade_evidence(p),
        sentence=f"{entry.model.short_name} {_say_answered(result, entry, first)} people of {first.country}, "
        f"{answered_elsewhere(entry, apart):.0%} of those about others ({format_p(p)}).{more}",
        limit="It holds for questions like these; what would be decided where no answer comes is not known.",
        next_step="Read what it answers to these questions, and see the share answered in tables/countries.csv",
    )


def _say_answered(result: DecideResult, entry: ModelDecisions, country: CountryDecisions) -> str:
    """ "answers 0 of 160 questions about"."""
    if entry.refusals is None:
        return f"gives yes and no {country.answered:.0%} of the probability of its answers to questions about"
    questions = entry.counts.questions_by_country
    if entry.sampled or len(result.settings.origin) > 1 or not questions:
        return f"answers {country.answered:.0%} of the questions about"
    return f"answers {country.answered * questions:.0f} of {questions:,} questions about"
