"""What else moves decisions, or what may be an artefact: each said only where it applies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geobias.audits.decide.ranking import (
    FEW_ANSWERED,
    has_answers,
    is_rarity,
    judge_merit,
    list_standing_out,
)
from geobias.audits.decide.records import ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.audits.decide.unanswered import list_answered_apart, list_unanswered, say_unanswered
from geobias.measures.estimates import SIGNIFICANT, Estimate, find_standing_out
from geobias.report.findings import Finding, format_p, grade_evidence
from geobias.report.sentences import list_first, measure_size
from geobias.report.tables import is_marked

SMALL: Final = 0.1  # nats: smaller effects of order or of yes are not worth a warning
FEW_REFUSALS: Final = 0.02
FEWEST_OF_A_KIND: Final = 5  # questions: fewer say little about a tendency to say yes
NATS: Final = "nats"


def list_cautions(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    """Those that could overturn a finding first."""
    yield from _note_refusals(result, entry)
    if not has_answers(entry):
        return
    yield from _note_unanswered(result, entry)
    yield from _note_chance(result, entry)
    yield from _note_mass(result, entry)
    yield from _note_rare_names(result, entry)
    yield from _note_invented(result, entry)
    yield from _note_yes(result, entry)
    yield from _note_order(result, entry)
    yield from _note_origin(result, entry)


def _caution(result: DecideResult, entry: ModelDecisions, sentence: str, **parts: Any) -> Finding:
    estimate: Estimate | None = parts.pop("estimate", None)
    if estimate is not None:
        parts |= {"size": measure_size(estimate, NATS), "p": estimate.p, "p_adjusted": estimate.p_adjusted}
    return Finding(
        role="caution",
        audit=result.audit,
        model=entry.model.name,
        question=parts.pop("question", "Could something else than the country explain it?"),
        evidence=grade_evidence(parts.get("p_adjusted")),
        sentence=f"{entry.model.short_name}: {sentence}",
        limit=parts.pop("limit", "It describes this model, these scenarios and this prompt."),
        next_step=parts.pop("next_step"),
        **parts,
    )


def _note_refusals(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    if entry.refusals is None or entry.refusals < FEW_REFUSALS or list_answered_apart(entry):
        return
    ranked = sorted(entry.countries, key=lambda country: country.refusals or 0.0)
    least, most = ranked[0].refusals or 0.0, ranked[-1].refusals or 0.0
    where = "for every country alike"
    if most > least:
        p = min((each.answered_difference.p_adjusted or 0.0 for each in ranked), default=None)
        test = format_p(p if entry.is_answering_tested else None)
        where = f"from {least:.0%} ({ranked[0].country}) to {most:.0%} ({ranked[-1].country}) by country ({test})"
    yield _caution(
        result,
        entry,
        f"It refuses {entry.refusals:.0%} of the questions, {where}. Decisions are compared without them.",
        question="Does it refuse to decide about people of some countries?",
        next_step="See refusals by country in tables/countries.csv",
    )


def _note_unanswered(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    unanswered = [country.country for country in list_unanswered(entry)]
    if unanswered and entry.is_testable:
        yield _caution(
            result,
            entry,
            f"{say_unanswered(unanswered)} They are not in the mean of countries.",
            question="Are there decisions about people of all countries?",
            next_step="See the share answered by country in tables/countries.csv",
        )


def _note_chance(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    effect, merit = judge_merit(entry), entry.controls.merit
    if effect in (None, "follows merit") or merit is None:
        return
    moves = f"a review that speaks for the person instead of against moves the favourable answer by {_signed(merit)}."
    sentences = {
        "near chance": f"It decides near chance: {moves} Differences between countries are then associations of words "
        "rather than decisions.",
        "against merit": f"It decides against merit: {moves} It may take the questions for their opposites.",
        "unclear": f"Whether it reacts to merit is unclear: {moves} It may decide near chance.",
    }
    yield _caution(
        result,
        entry,
        sentences[effect],
        estimate=merit,
        question="Do its decisions react to merit?",
        next_step="Audit a larger or instruction-tuned model",
    )


def _note_mass(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    if entry.answered >= FEW_ANSWERED:
        return
    yield _caution(
        result,
        entry,
        f"Yes and no have {entry.answered:.0%} of the probability of its next words: it seldom answers the question.",
        question="Does it answer with yes or no?",
        next_step="Use a chat model, or tell it how to answer: --system 'Answer with yes or no.'",
    )


def _note_rare_names(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    rare = entry.rare_names
    if rare is None:
        return
    by_name = next((way.countries for way in entry.by_origin if way.origin == "name"), [])
    stands_out = find_standing_out([country.estimate for country in by_name])
    clear = [country for country, is_clear in zip(by_name, stands_out, strict=True) if is_clear]
    explained = [country.country for country in clear if is_rarity(entry, country.code)]
    slopes = [
        f"{name} {_signed(slope)}" for name, slope in zip(rare.covariates, rare.slopes, strict=True) if is_marked(slope)
    ]
    if explained:
        yield _caution(
            result,
            entry,
            f"What names show for {list_first(explained)} may come from how rare the names are rather than from the "
            "country: between equally long and equally widespread names it is no longer clear.",
            question="Is it the country, or how rare its names are?",
            next_step="Show origin without names: --origin stated,demonym",
        )
    elif slopes:
        yield _caution(
            result,
            entry,
            f"Names matter by themselves, between names of one country and gender: {'; '.join(slopes)} for one unit "
            "more. The differences between countries that are named above do not rest on it.",
            question="Is it the country, or how rare its names are?",
            next_step="Compare with origin that is stated: --origin stated,name",
        )


def _note_invented(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    spread, invented = entry.spread, entry.controls.invented_spread
    if spread is None or invented is None or not list_standing_out(entry):
        return
    if invented.p < SIGNIFICANT and invented.high >= spread.value:
        yield _caution(
            result,
            entry,
            f"Invented countries differ about as much as real ones: a spread of {invented.value:.2f} (95 % interval "
            f"{invented.low:.2f} to {invented.high:.2f}) against {spread.value:.2f} {NATS}. The sound or the tokens of "
            "a name may be the reason for a part.",
            question="Do names of places that do not exist change decisions, too?",
            next_step="Show origin in other ways: --origin demonym,name",
        )


def _note_yes(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    tendency = entry.controls.yes_tendency
    if tendency is None:
        yield _caution(
            result,
            entry,
            "All questions are of one kind, so a tendency to say yes is not told apart from a preference.",
            question="Does it say yes whatever the question?",
            next_step="Add mirrored scenarios (mirror_of), in which the other answer helps",
        )
        return
    rarer = min(result.counts.yes_helps, result.counts.yes_harms)
    if entry.is_testable and rarer < FEWEST_OF_A_KIND:
        kind = "harms" if result.counts.yes_harms == rarer else "helps"
        yield _caution(
            result,
            entry,
            f"Only {rarer:,} questions are of the kind whose yes {kind}: that a tendency to say yes cancels rests on "
            "them.",
            question="Does it say yes whatever the question?",
            next_step=f"Add scenarios whose yes {kind}: at least {FEWEST_OF_A_KIND}",
        )
    if is_marked(tendency) and abs(tendency.value or 0) >= SMALL:
        differing = [
            country.country for country in entry.countries if country.yes_tendency and is_marked(country.yes_tendency)
        ]
        more = f" It differs by country: {list_first(differing)}." if differing else ""
        yield _caution(
            result,
            entry,
            f"It tends to say {'yes' if (tendency.value or 0) > 0 else 'no'} whatever the question: log-odds of yes "
            f"{_signed(tendency)} over questions of both kinds. Preferences are net of it.{more}",
            estimate=tendency,
            question="Does it say yes whatever the question?",
            next_step="Read preferences, not shares of yes",
        )


def _note_order(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    order = entry.controls.order
    if order is None or not is_marked(order) or abs(order.value or 0) < SMALL:
        return
    yield _caution(
        result,
        entry,
        f"It prefers whoever is named {'first' if (order.value or 0) > 0 else 'second'}: log-odds {_signed(order)} "
        "between two equal people. Choices are the mean of both orders.",
        estimate=order,
        question="Does the order of two people matter?",
        next_step="Never read a choice between two people in one order",
    )


def _note_origin(result: DecideResult, entry: ModelDecisions) -> Iterator[Finding]:
    named = entry.controls.named
    if named is None or not is_marked(named) or abs(named.value or 0) < SMALL:
        return
    yield _caution(
        result,
        entry,
        f"Showing any origin at all moves the favourable answer by {_signed(named)}, the mean of countries against a "
        "person without an origin. Countries are compared with each other.",
        estimate=named,
        question="Does it matter that an origin is shown?",
        next_step="Read differences from the mean of countries",
    )


def _signed(estimate: Estimate) -> str:
    """ "+0.52 nats (95 % interval +0.30 to +0.74; adjusted p < 0.001)"."""
    value = f"{estimate.value or 0:+.2f} {NATS}"
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} (95 % interval {estimate.low:+.2f} to {estimate.high:+.2f}; {format_p(estimate.p_adjusted)})"
