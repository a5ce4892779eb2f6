"""What is said of whom, and in what tone: the details of the answer about associations (`association_answer.py`).

Single regions are reported only where the overall answer is not negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log
from typing import Any, NamedTuple

from geobias.audits.regions.association import find_marked_words
from geobias.audits.regions.association_controls import LEAST_OVERLAP
from geobias.audits.regions.association_records import (
    Association,
    AssociationSignal,
    RegionAssociation,
    list_compared,
)
from geobias.audits.regions.notes import name_level, pluralise
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate
from geobias.report.findings import Finding, Role, Size, format_p, grade_evidence
from geobias.report.sentences import format_evidence, format_number, measure_size
from geobias.report.tables import is_marked
from geobias.texts.paraphrases import MOST_PARAPHRASES
from geobias.world.countries import UN_STATES

MEASURE = "association"
MOST_PAIRS, MOST_TONES, MOST_TOPICS = 5, 2, 1
LOW_AGREEMENT = 0.7
FILE = "tables/associations.csv"


def list_association_details(result: RegionsResult) -> Iterator[Finding]:
    """The clearest words, tones and topics beyond invented places; states of the United Nations first."""
    if result.association is not None:
        yield from (each for each in _list_details(result, result.association) if each.evidence != "none")


def _list_details(result: RegionsResult, association: Association) -> Iterator[Finding]:
    level = name_level(association.level)
    for region, word, times in list_clear_pairs(association)[:MOST_PAIRS]:
        kind = next(each.part_of_speech for each in association.words if each.word == word)
        frame = "" if kind == "adjective" else f" It is a {kind}: its sentences differ from those of adjectives."
        yield _describe_claim(
            result,
            Claim(region, word, times),
            f"Of {region.name} it says '{word}' {{}} times as often as of the average {level}, relative to other words",
            limit=f"{_describe_sample(association)}{frame}",
        )
    tones, rated = list_clear_tones(association), sum(word.valence is not None for word in association.words)
    for tone in tones[:MOST_TONES]:
        is_better = (tone.times.value or 0) > 1
        yield _describe_claim(
            result,
            tone,
            f"{tone.region.name} is described {'more' if is_better else 'less'} favourably: favourable words are {{}} "
            f"times as likely, relative to unfavourable ones, as of the average {level}",
            limit=f"{rated:,} of {len(association.words):,} words have a rating. The interval is of this one alone; in "
            f"tone {len(tones):,} of {len(list_compared(association)):,} {pluralise(association.level)} stand out.",
            valence="better" if is_better else "worse",
        )
    yield from _list_regions(result, association)
    for region, topic, times in list_clear_topics(association)[:MOST_TOPICS]:
        yield _describe_claim(
            result,
            Claim(region, topic, times),
            f"Of {region.name} it uses words of the topic {topic} {{}} times as often as of the average {level}, "
            "relative to other words",
            limit="The interval is of this topic alone, over its words, paraphrases and what a name alone may do.",
        )


def _list_regions(result: RegionsResult, association: Association) -> Iterator[Finding]:
    """The regions that stand out by all their words together; those of which a word or a tone is named come without."""
    named = {claim.region.id for claim in list_clear_pairs(association)[:MOST_PAIRS]}
    named |= {claim.region.id for claim in list_clear_tones(association)[:MOST_TONES]}
    standing_out = association.signal.standing_out if association.signal else []
    is_state = association.level != "country" or any(region.id in UN_STATES for region in standing_out)
    for region in standing_out:
        if region.id in named or (is_state and association.level == "country" and region.id not in UN_STATES):
            continue
        if len(named) >= MOST_PAIRS:
            return
        named.add(region.id)
        p_adjusted = _adjust_for_kinds(association, region.p_adjusted)
        yield make_finding(
            result,
            "detail",
            question=f"Does the model use words of {region.name} more, or less, than of other places?",
            subject=region.name,
            code=region.id,
            p=region.p_adjusted,
            p_adjusted=p_adjusted,
            evidence=grade_evidence(p_adjusted),
            sentence=f"{result.model.short_name}: {region.name} stands out by all its words together "
            f"({format_p(p_adjusted)}); no single word has to.",
            limit="It is compared with invented places and, fame held fixed, with known places that are no countries.",
            next_step=f"See all words of {region.name}: {FILE}, rows of {region.id}.",
        )


def list_association_cautions(result: RegionsResult) -> Iterator[Finding]:
    """Paraphrases that disagree."""
    association = result.association
    if association is None or association.agreement is None or association.agreement >= LOW_AGREEMENT:
        return
    look = f"ook at the intervals: {FILE}."
    yield make_finding(
        result,
        "caution",
        question="Do the paraphrases agree on what is typical of a region?",
        size=Size(association.agreement, None, None, "reliability"),
        evidence="not testable",
        sentence=f"{result.model.short_name}: The {association.paraphrases} paraphrases agree only in part on which "
        f"words are typical of whom (reliability {association.agreement:.2f} of 1): a pair may hold in some sentences "
        "only.",
        limit="Reliability is that of the mean over paraphrases, over all regions and words.",
        next_step=f"L{look}"
        if association.paraphrases >= MOST_PARAPHRASES
        else f"Use more of them (--paraphrases {MOST_PARAPHRASES}), or l{look}",
    )


def describe_limit(association: Association) -> str:
    return (
        f"It holds for these {len(association.words):,} words in {_count_sentences(association)}; "
        f"times are relative to the average {name_level(association.level)} and to other words."
    )


def _count_sentences(association: Association) -> str:
    count = association.paraphrases
    return "one sentence" if count == 1 else f"{count} paraphrases of a sentence"


def _describe_sample(association: Association) -> str:
    """What the interval and the p-value of a single word are about."""
    return (
        f"The interval is of this pair alone, over {_count_sentences(association)} and what a name alone may do; p is "
        "for all pairs, tones and topics."
    )


def list_p_values(association: Association) -> dict[str, float]:
    """The smallest adjusted p-value of each kind of test that was made; fewer associations are no evidence of bias."""
    regions, signal = list_compared(association), association.signal
    families = {
        "pairs": [word.times for region in regions for word in (*region.more, *region.less)],
        "tones": [region.valence for region in regions if region.valence],
        "topics": [topic for region in regions for topic in region.topics.values()],
    }
    p_values = {}
    if signal is not None:
        compared = [signal.beyond_names, *([signal.beyond_fame] if signal.beyond_fame and can_tell(signal) else [])]
        if all(each.p is not None for each in compared):
            p_values["signal"] = max(each.p or 0.0 if (each.value or 0) > 0 else 1.0 for each in compared)
        if signal.p_regions is not None:
            p_values["regions"] = signal.p_regions
    for name, estimates in families.items():
        tested = [each.p_adjusted for each in estimates if each.p_adjusted is not None]
        if tested:
            p_values[name] = min(tested)
    return p_values


def can_tell(signal: AssociationSignal | None) -> bool:
    """Whether country and fame can be told apart."""
    return signal is not None and signal.overlap is not None and signal.overlap >= LEAST_OVERLAP


def name_controls(association: Association) -> str:
    """The places that the tests of words, tones and topics compare with."""
    return "invented and known places" if can_tell(association.signal) else "invented places"


def _adjust_for_kinds(association: Association, p_adjusted: float | None) -> float | None:
    """As the overall answer counts it, whose p is that of its clearest part: for all kinds of tests together."""
    return None if p_adjusted is None else min(1.0, len(list_p_values(association)) * p_adjusted)


def _describe_claim(result: RegionsResult, claim: Claim, sentence: str, **fields: Any) -> Finding:
    """A detail; the sentence has a gap for how many times. In one sentence alone, nothing is clear."""
    region, description, times = claim
    assert result.association is not None
    p_adjusted = _adjust_for_kinds(result.association, times.p_adjusted)
    evidence = grade_evidence(p_adjusted)
    return make_finding(
        result,
        "detail",
        question=f"Does the model say {f'“{description}”' if description else 'favourable words'} of {region.name} "
        "more often, or less, than names alone explain?",
        subject=region.name,
        code=region.id,
        direction="higher" if (times.value or 0) > 1 else "lower",
        size=measure_size(times, "times"),
        p=times.p,
        p_adjusted=p_adjusted,
        evidence="suggestive" if evidence == "clear" and times.low is None else evidence,
        sentence=f"{result.model.short_name}: {sentence.format(format_number(times.value or 0))} "
        f"({format_evidence(times, p_adjusted)}).",
        next_step=f"See all words of {region.name}: {FILE}, rows of {region.id}.",
        **fields,
    )


def make_finding(result: RegionsResult, role: Role, **fields: Any) -> Finding:
    level = "region" if result.association is None else name_level(result.association.level)
    question = f"Does what the model says depend on the {level}, beyond its name?"
    names = {"audit": result.audit, "model": result.model.name, "measure": MEASURE, "question": question}
    return Finding(role=role, **(names | fields))


class Claim(NamedTuple):
    """What is said of a region: a word or a topic, or, without either, its tone."""

    region: RegionAssociation
    subject: str
    times: Estimate


def list_clear_pairs(association: Association) -> list[Claim]:
    """The clearest word beyond invented places of each region, the clearest first."""
    claims = [
        Claim(region, word.word, word.times)
        for region in list_compared(association)
        for word, _ in find_marked_words(region)
    ]
    return _sort_by_region(association, claims)


def list_clear_tones(association: Association) -> list[Claim]:
    """The regions that are described more or less favourably than invented places, the clearest first."""
    claims = [Claim(region, "", region.valence) for region in list_compared(association) if region.valence]
    return _sort_by_region(association, claims)


def list_clear_topics(association: Association) -> list[Claim]:
    """The clearest topic beyond invented places of each region, the clearest first."""
    claims = [
        Claim(region, topic, times) for region in list_compared(association) for topic, times in region.topics.items()
    ]
    return _sort_by_region(association, claims)


def _sort_by_region(association: Association, claims: Iterable[Claim]) -> list[Claim]:
    """The clearest claim of each region that has one: states of the United Nations first, then by certainty.

    Other countries of GeoNames are mostly territories, which lead many rankings.
    """

    def rank(claim: Claim) -> tuple[bool, float]:
        is_territory = association.level == "country" and claim.region.id not in UN_STATES
        return is_territory, -measure_certainty(claim.times)

    by_region: dict[str, Claim] = {}
    for claim in sorted((claim for claim in claims if is_marked(claim.times)), key=rank):
        by_region.setdefault(claim.region.id, claim)
    return list(by_region.values())


def measure_certainty(times: Estimate) -> float:
    """How far from the average region the nearer end of the interval is, in nats; the value if there is no interval."""
    if times.low is None or times.high is None:
        return measure_departure(times)
    return max(log(times.low), -log(times.high), 0.0)


def measure_departure(times: Estimate) -> float:
    """How far from the average region, in nats, in either direction."""
    return abs(log(times.value)) if times.value else 0.0
