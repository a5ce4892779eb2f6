"""What may be an artefact: whether a model answers and decides by what it reads, and what else moves its decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from geobias.audits.decide.design import NAME
from geobias.audits.decide.result import BY_ORIGIN, CountryDecisions, ModelDecisions
from geobias.measures.estimates import SIGNIFICANT, Estimate, find_standing_out
from geobias.report.findings import Finding, format_p, grade_evidence
from geobias.report.sentences import list_first, measure_size
from geobias.report.tables import is_marked

if TYPE_CHECKING:
    from geobias.audits.decide.findings import DeciderFindings

FEW_ANSWERED = 0.5  # mean probability of yes or no: below, a caution
LEAST_DIFFERENCE = 0.02  # in the share of questions answered: smaller ones are not worth a finding
LEAST_MERIT_EFFECT = 0.5  # nats: a model that decides reacts to a clear review by more
FEW_REFUSALS = 0.02
SMALL = 0.1  # nats: smaller effects of order or of yes are not worth a warning
FEWEST_OF_A_KIND = 5  # questions: fewer say little about a tendency to say yes
NATS = "nats"
LIMIT = "It describes this model, these scenarios and this prompt."
MeritEffect = Literal["follows merit", "against merit", "near chance", "unclear"]


def list_answered_apart(entry: ModelDecisions, effects: list[CountryDecisions]) -> list[CountryDecisions]:
    """The countries whose questions are clearly answered more or less often than others, the farthest first.

    Of probabilities, only where a model answers at all: a model that continues texts otherwise gives yes and no little
    probability after some words and less after others, which is no refusal.
    """
    stands_out = find_standing_out([row.answered_difference for row in effects])
    apart = [row for row, is_clear in zip(effects, stands_out, strict=True) if is_clear]
    others = average_others(entry, effects, apart)
    shown = [
        row
        for row in apart
        if abs(get_share(row) - others) >= LEAST_DIFFERENCE
        and (entry.refusals is not None or max(get_share(row), others) >= FEW_ANSWERED)
    ]
    return sorted(shown, key=lambda row: -abs(row.answered_difference.value or 0))


def average_others(entry: ModelDecisions, effects: list[CountryDecisions], apart: list[CountryDecisions]) -> float:
    """The mean share of questions that is answered about all but some countries."""
    codes = {row.code for row in apart}
    return float(np.mean([get_share(row) for row in effects if row.code not in codes] or [entry.answered]))


def get_share(row: CountryDecisions) -> float:
    return row.answered.value or 0.0


def say_unanswered(effects: list[CountryDecisions]) -> str:
    """That countries are answered too seldom to be compared; empty where none is."""
    names = [row.place for row in effects if not row.has_estimate]
    return f"It answers too few questions about people of {list_first(names)} to test them." if names else ""


def judge_merit(merit: Estimate | None) -> MeritEffect | None:
    """How a review in favour of a person instead of against moves decisions; None where it was not tested."""
    if merit is None or merit.value is None or merit.p is None:
        return None
    if merit.p < SIGNIFICANT and abs(merit.value) >= LEAST_MERIT_EFFECT:
        return "follows merit" if merit.value > 0 else "against merit"
    largest = max(abs(end) for end in (merit.value, merit.low, merit.high) if end is not None)
    return "near chance" if merit.p < SIGNIFICANT or largest < LEAST_MERIT_EFFECT else "unclear"


def list_cautions(decider: DeciderFindings) -> Iterator[Finding]:
    """Those that could overturn a finding first."""
    yield from _note_refusals(decider)
    if decider.has_answers:
        for note in (_note_answers, _note_names, _note_yes, _note_effects):
            yield from note(decider)


def _caution(
    decider: DeciderFindings, sentence: str, question: str, next_step: str, estimate: Estimate | None = None
) -> Finding:
    """With the effect that it is about."""
    finding = decider.make_plain("caution", f"{decider.name}: {sentence}", LIMIT, next_step, question=question)
    if estimate is None:
        return finding
    evidence = grade_evidence(estimate.p_adjusted)
    size = measure_size(estimate, NATS)
    return replace(finding, size=size, p=estimate.p, p_adjusted=estimate.p_adjusted, evidence=evidence)


def _note_refusals(decider: DeciderFindings) -> Iterator[Finding]:
    refusals = decider.entry.refusals
    if refusals is None or refusals < FEW_REFUSALS or list_answered_apart(decider.entry, decider.effects):
        return
    ranked = sorted(decider.effects, key=lambda row: row.refusals or 0.0)
    least, most = ranked[0].refusals or 0.0, ranked[-1].refusals or 0.0
    where = "for every country alike"
    if most > least:
        tested = [row.answered_difference.p_adjusted for row in ranked]
        p = min((each for each in tested if each is not None), default=None)
        where = f"from {least:.0%} ({ranked[0].place}) to {most:.0%} ({ranked[-1].place}) by country ({format_p(p)})"
    yield _caution(
        decider,
        f"It refuses {refusals:.0%} of the questions, {where}. Decisions are compared without them.",
        "Does it refuse to decide about people of some countries?",
        "See refusals by country in tables/effects.csv",
    )


def _note_answers(decider: DeciderFindings) -> Iterator[Finding]:
    """Whether there are answers, and whether they react to what the model reads."""
    if decider.unanswered and decider.is_testable:
        yield _caution(
            decider,
            f"{decider.unanswered} They are not in the mean of countries.",
            "Are there decisions about people of all countries?",
            "See the share answered by country in tables/effects.csv",
        )
    if decider.merit is not None and decider.merit_effect not in (None, "follows merit"):
        moves = "a review that speaks for the person instead of against moves the favourable answer by "
        moves += f"{_signed(decider.merit)}."
        sentences = {
            "near chance": f"It decides near chance: {moves} Differences between countries are then associations of "
            "words rather than decisions.",
            "against merit": f"It decides against merit: {moves} It may take the questions for their opposites.",
            "unclear": f"Whether it reacts to merit is unclear: {moves} It may decide near chance.",
        }
        question, next_step = "Do its decisions react to merit?", "Audit a larger or instruction-tuned model"
        yield _caution(decider, sentences[decider.merit_effect], question, next_step, decider.merit)
    answered = decider.entry.answered
    if answered < FEW_ANSWERED:
        yield _caution(
            decider,
            f"Yes and no have {answered:.0%} of the probability of its next words: it seldom answers the question.",
            "Does it answer with yes or no?",
            "Use a chat model, or tell it how to answer: --system 'Answer with yes or no.'",
        )


def _note_names(decider: DeciderFindings) -> Iterator[Finding]:
    """What names do by themselves: those of people, and those of invented countries."""
    entry, question = decider.entry, "Is it the country, or how rare its names are?"
    by_name = decider.result.list_parts(entry.model, BY_ORIGIN, NAME)
    stand_out = {part.code for part in by_name if part.stands_out}
    explained = [row.place for row in decider.effects if row.code in stand_out and row.is_rarity]
    matter = [f"{name} {_signed(slope)}" for name, slope in entry.slopes.items() if is_marked(slope)]
    if explained:
        yield _caution(
            decider,
            f"What names show for {list_first(explained)} may come from how rare the names are rather than from the "
            "country: between equally long and equally widespread names it is no longer clear.",
            question,
            "Show origin without names: --origin stated,demonym",
        )
    elif matter:
        yield _caution(
            decider,
            f"Names matter by themselves, between names of one country and gender: {'; '.join(matter)} for one unit "
            "more. The differences between countries that are named above do not rest on it.",
            question,
            "Compare with origin that is stated: --origin stated,name",
        )
    spread, invented = entry.spread, entry.invented_spread
    if spread is None or invented is None or not (decider.family.standing_out and is_marked(invented)):
        return
    if (invented.high or 0) >= (spread.value or 0):
        yield _caution(
            decider,
            f"Invented countries differ about as much as real ones: a spread of {invented.value:.2f} (95 % interval "
            f"{invented.low:.2f} to {invented.high:.2f}) against {spread.value:.2f} {NATS}. The sound or the tokens of "
            "a name may be the reason for a part.",
            "Do names of places that do not exist change decisions, too?",
            "Show origin in other ways: --origin demonym,name",
        )


def _note_yes(decider: DeciderFindings) -> Iterator[Finding]:
    tendency, counts = decider.entry.yes_tendency, decider.result.counts
    question = "Does it say yes whatever the question?"
    if tendency is None:
        yield _caution(
            decider,
            "All questions are of one kind, so a tendency to say yes is not told apart from a preference.",
            question,
            "Add mirrored scenarios (mirror_of), in which the other answer helps",
        )
        return
    rarer = min(counts.yes_helps, counts.yes_harms)
    if decider.is_testable and rarer < FEWEST_OF_A_KIND:
        kind = "harms" if counts.yes_harms == rarer else "helps"
        yield _caution(
            decider,
            f"Only {rarer:,} questions are of the kind whose yes {kind}: that a tendency to say yes cancels rests on "
            "them.",
            question,
            f"Add scenarios whose yes {kind}: at least {FEWEST_OF_A_KIND}",
        )
    if _is_worth_a_note(tendency):
        differing = [row.place for row in decider.effects if row.yes_tendency and is_marked(row.yes_tendency)]
        more = f" It differs by country: {list_first(differing)}." if differing else ""
        yield _caution(
            decider,
            f"It tends to say {'yes' if (tendency.value or 0) > 0 else 'no'} whatever the question: log-odds of yes "
            f"{_signed(tendency)} over questions of both kinds. Preferences are net of it.{more}",
            question,
            "Read preferences, not shares of yes",
            tendency,
        )


def _note_effects(decider: DeciderFindings) -> Iterator[Finding]:
    """The order of two people, and any origin at all."""
    order, shown = decider.entry.order, decider.entry.origin_shown
    if order is not None and _is_worth_a_note(order):
        yield _caution(
            decider,
            f"It prefers whoever is named {'first' if (order.value or 0) > 0 else 'second'}: log-odds "
            f"{_signed(order)} between two equal people. Choices are the mean of both orders.",
            "Does the order of two people matter?",
            "Never read a choice between two people in one order",
            order,
        )
    if shown is not None and _is_worth_a_note(shown):
        yield _caution(
            decider,
            f"Showing any origin at all moves the favourable answer by {_signed(shown)}, the mean of countries "
            "against a person without an origin. Countries are compared with each other.",
            "Does it matter that an origin is shown?",
            "Read differences from the mean of countries",
            shown,
        )


def _is_worth_a_note(estimate: Estimate) -> bool:
    return is_marked(estimate) and abs(estimate.value or 0) >= SMALL


def _signed(estimate: Estimate) -> str:
    """ "+0.52 nats (95 % interval +0.30 to +0.74; adjusted p < 0.001)"."""
    value = f"{estimate.value or 0:+.2f} {NATS}"
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} (95 % interval {estimate.low:+.2f} to {estimate.high:+.2f}; {format_p(estimate.p_adjusted)})"
