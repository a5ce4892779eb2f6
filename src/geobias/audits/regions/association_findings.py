"""What associations of regions and words conclude: whether they go beyond names, what is said of whom, in what tone.

Four tests answer for the whole, so each counts as often as there are tests (Bonferroni): the ratio to invented names,
if it is above 1; and the smallest adjusted p-value of the pairs, of the tones and of the topics. Single regions are
reported only where the overall test is not negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log
from typing import Any, NamedTuple

from geobias.audits.languages import is_other_language
from geobias.audits.regions.association import find_marked_words
from geobias.audits.regions.association_records import Association, RegionAssociation, list_compared
from geobias.audits.regions.caution import name_model
from geobias.audits.regions.notes import name_level, pluralise
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate
from geobias.report.findings import Finding, Role, Size, format_p, grade_evidence
from geobias.report.sentences import format_evidence, format_number, measure_size
from geobias.report.tables import format_interval, is_marked
from geobias.texts.paraphrases import MOST_PARAPHRASES
from geobias.world.countries import UN_STATES

MEASURE = "association"
MOST_PAIRS, MOST_TONES, MOST_TOPICS = 5, 2, 1
LOW_AGREEMENT = 0.7
TOTALS = "It holds if the function returns total log-likelihoods, not means per token."
FILE = "tables/associations.csv"


def answer_association(result: RegionsResult) -> Finding | None:
    """The overall answer; None if no associations were asked for."""
    association = result.association
    if result.settings.paraphrases is None:
        return None
    if association is None and any(map(is_other_language, result.settings.templates)):
        return _untestable(
            result,
            "the template is in another language, and their sentences are English.",
            "Give English templates, or add --paraphrases 0 to leave associations out.",
        )
    if association is None:
        return _untestable(
            result,
            "they need three regions of one level, and three words.",
            "Choose at least three countries and three words; with --subject demonym, countries that have one.",
        )
    p_values = _list_p_values(association)
    if not p_values:
        return _untestable(
            result, "there are no invented places to compare them with.", "Run it again without --no-placebo."
        )
    smallest = min(p_values, key=lambda name: p_values[name])
    p = min(1.0, len(p_values) * p_values[smallest])
    evidence = grade_evidence(p)
    size = None if association.ratio is None else measure_size(association.ratio, "times")
    limit, next_step = _describe_limit(association), f"See what is said of whom: {FILE}."
    if evidence == "none":
        sentence, limit = _say_null(association, p), _describe_clearest(association)
        next_step = "Other words (--words) may show more."
    elif grade_evidence(len(p_values) * p_values.get("ratio", 1.0)) == evidence:
        sentence = _say_ratio(association, p)
    else:
        sentence, size = _say_single(association, smallest, p)
    return _make_finding(
        result,
        "overall",
        direction=None if size is None else "higher" if size.value > 1 else "lower",
        size=size,
        p=p_values[smallest],
        p_adjusted=p,
        evidence=evidence,
        sentence=f"{name_model(result)}: {sentence}",
        limit=limit if result.model.architecture or result.model.endpoint else TOTALS,
        next_step=next_step,
    )


def list_association_details(result: RegionsResult) -> Iterator[Finding]:
    """The clearest words, tones and topics beyond invented places; states of the United Nations first."""
    association = result.association
    if association is None:
        return
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
            limit=f"{rated:,} of {len(association.words):,} words have a rating; the interval is over them. In tone "
            f"{len(tones):,} of {len(list_compared(association)):,} {pluralise(association.level)} stand out.",
            valence="better" if is_better else "worse",
        )
    for region, topic, times in list_clear_topics(association)[:MOST_TOPICS]:
        yield _describe_claim(
            result,
            Claim(region, topic, times),
            f"Of {region.name} it uses words of the topic {topic} {{}} times as often as of the average {level}, "
            "relative to other words",
            limit="The interval is over the words of the topic.",
        )


def list_association_cautions(result: RegionsResult) -> Iterator[Finding]:
    """Paraphrases that disagree."""
    association = result.association
    if association is None or association.agreement is None or association.agreement >= LOW_AGREEMENT:
        return
    look = f"ook at the intervals: {FILE}."
    yield _make_finding(
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


def _list_p_values(association: Association) -> dict[str, float]:
    """The smallest adjusted p-value of each kind of test that was made; a ratio below 1 is no evidence of bias."""
    regions, ratio = list_compared(association), association.ratio
    families = {
        "pairs": [word.times for region in regions for word in (*region.more, *region.less)],
        "tones": [region.valence for region in regions if region.valence],
        "topics": [topic for region in regions for topic in region.topics.values()],
    }
    p_values = {}
    if ratio and ratio.p is not None and ratio.value is not None:
        p_values["ratio"] = ratio.p if ratio.value > 1 else 1.0
    for name, estimates in families.items():
        tested = [each.p_adjusted for each in estimates if each.p_adjusted is not None]
        if tested:
            p_values[name] = min(tested)
    return p_values


def _say_ratio(association: Association, p: float) -> str:
    """The whole is larger than that of invented names."""
    pairs = f"{association.marked:,} of {association.tests:,} pairs stand out"
    none = f"None of {association.tests:,} pairs stands out by itself{_explain_few_words(association)}"
    return (
        f"{compare_strength(association, p)}: what it says depends on the {name_level(association.level)}, not only "
        f"on its name. {pairs if association.marked else none}."
    )


def _explain_few_words(association: Association) -> str:
    return "" if association.detectable_times else f": {len(association.words)} words are too few for that"


def _say_single(association: Association, kind: str, p: float) -> tuple[str, Size | None]:
    """Single words, tones or topics stand out, the whole does not; the size is that of the clearest."""
    regions = f"{len(list_compared(association)):,} {pluralise(association.level)}"
    if kind == "pairs":
        claims = list_clear_pairs(association)
        subject = f"{association.marked:,} of {association.tests:,} pairs of {name_level(association.level)} and word"
    elif kind == "tones":
        claims = list_clear_tones(association)
        subject = f"In tone, {len(claims):,} of {regions}"
    else:
        claims = list_clear_topics(association)
        subject = f"In the words of a topic, {len(claims):,} of {regions}"
    stand = "stands" if (association.marked if kind == "pairs" else len(claims)) == 1 else "stand"
    overall = "" if association.ratio is None else f" {compare_strength(association, with_interval=False)} overall."
    size = measure_size(claims[0].times, "times") if claims else None
    return f"{subject} {stand} out from invented places ({format_p(p)}).{overall}", size


def _say_null(association: Association, p: float) -> str:
    ratio, missed = association.ratio, association.detectable_times
    power = f"; one under {format_number(missed)} times would probably be missed" if missed else ""
    pairs = f"None of {association.tests:,} pairs stands out{power or _explain_few_words(association)}."
    if association.marked:  # of the pairs alone, before they are counted as one test of several
        stand = "stands" if association.marked == 1 else "stand"
        pairs = f"{association.marked:,} of {association.tests:,} pairs {stand} out, too few for all tests together."
    if ratio is None or ratio.value is None:
        return pairs
    meaning = "not clearly more than names alone" if ratio.value > 1 else "no more than names alone"
    return f"{compare_strength(association, p)}: {meaning}. {pairs}"


def compare_strength(association: Association, p: float | None = None, *, with_interval: bool = True) -> str:
    """How strongly words and regions are associated, relative to invented names."""
    ratio = association.ratio
    assert ratio is not None and ratio.value is not None
    evidence = "" if p is None else f", {format_p(p)}"
    bounds = f" (95 % interval {format_interval(ratio, '.2f')}{evidence})" if with_interval else ""
    return (
        f"Words and {pluralise(association.level)} are associated {ratio.value:.2f} times as strongly as words and "
        f"invented names{bounds}"
    )


def _describe_limit(association: Association) -> str:
    return (
        f"It holds for these {len(association.words):,} words in {_count_sentences(association)}; "
        f"times are relative to the average {name_level(association.level)} and to other words."
    )


def _count_sentences(association: Association) -> str:
    count = association.paraphrases
    return "one sentence" if count == 1 else f"{count} paraphrases of a sentence"


def _describe_sample(association: Association) -> str:
    """What the interval and the p-value of a single word are about."""
    if association.paraphrases == 1:
        return "One sentence has no interval: confirm it with --paraphrases 4. The p-value is against invented places."
    return f"The interval is over {_count_sentences(association)}, p against invented places."


def _describe_clearest(association: Association) -> str:
    """The clearest pair, which a null has too."""
    claims = [
        Claim(region, word.word, word.times)
        for region in list_compared(association)
        for word in (*region.more, *region.less)
    ]
    if not claims:
        return "Every word is as likely of every region."
    region, word, times = min(claims, key=lambda claim: (claim.times.p or 0, -measure_departure(claim.times)))
    return (
        f"The clearest pair is {region.name} and '{word}': {format_number(times.value or 0)} times as likely as of the "
        f"average {name_level(association.level)}, relative to other words ({format_p(times.p_adjusted)})."
    )


def _describe_claim(result: RegionsResult, claim: Claim, sentence: str, **fields: Any) -> Finding:
    """A detail; the sentence has a gap for how many times. In one sentence alone, nothing is clear."""
    region, description, times = claim
    evidence = grade_evidence(times.p_adjusted)
    return _make_finding(
        result,
        "detail",
        question=f"Does the model say {f'“{description}”' if description else 'favourable words'} of {region.name} "
        "more often, or less, than names alone explain?",
        subject=region.name,
        code=region.id,
        direction="higher" if (times.value or 0) > 1 else "lower",
        size=measure_size(times, "times"),
        p=times.p,
        p_adjusted=times.p_adjusted,
        evidence="suggestive" if evidence == "clear" and times.low is None else evidence,
        sentence=f"{result.model.short_name}: {sentence.format(format_number(times.value or 0))} "
        f"({format_evidence(times, times.p_adjusted)}).",
        next_step=f"See all words of {region.name}: {FILE}, rows of {region.id}.",
        **fields,
    )


def _untestable(result: RegionsResult, reason: str, next_step: str) -> Finding:
    return _make_finding(
        result,
        "overall",
        evidence="not testable",
        sentence=f"{name_model(result)}: Associations of regions and words cannot be tested: {reason}",
        limit="Without a test, typical words may be an effect of names alone.",
        next_step=next_step,
    )


def _make_finding(result: RegionsResult, role: Role, **fields: Any) -> Finding:
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
