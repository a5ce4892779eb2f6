"""Findings besides the answers: single words, tones, topics and regions that stand out; and what may be an artefact.

Single regions are reported only where the overall answer is not negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, log
from typing import Any

from geobias.audits.regions.association_answer import (
    FILE,
    Claim,
    count_sentences,
    list_clear,
    list_p_values,
    list_standing_out,
    list_tones,
    make_association_finding,
)
from geobias.audits.regions.result import RegionsResult, pluralise
from geobias.audits.regions.rows import Association, NameCorrelation, RegionScores
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.random_regions import MIN_REGIONS
from geobias.report.findings import Finding, Role, Size, format_p, grade_evidence
from geobias.report.sentences import format_evidence, format_number, measure_size
from geobias.report.tables import digits, format_interval, interval, is_marked
from geobias.texts.paraphrases import MOST_PARAPHRASES
from geobias.world.countries import UN_STATES

MOST_PAIRS, MOST_TONES, MOST_TOPICS = 5, 2, 1
MOST_DETAILS = 5  # of distances
LOW_AGREEMENT = 0.7
MEDIUM, LARGE = 0.3, 0.5  # correlations, as Cohen (1988) calls them
NOTABLE_PLACEBO, FULL_PLACEBO = 0.5, 0.9  # distance between invented places, divided by that between real ones
CONDITIONAL = "conditional"
NO_DIRECTION = "A distance has no direction: it does not say which place is described better or worse."
UNIT = "times"
TRAITS = {"tokens": "more tokens a name has", "name_likelihood": "likelier a bare name is"}
Levels = dict[str, list[RegionScores]]


def make_finding(result: RegionsResult, role: Role, **fields: Any) -> Finding:
    """A finding about distances: no clear evidence of a difference between places where names alone may make them."""
    finding = Finding(role=role, audit=result.audit, model=result.model.name, **fields)
    is_weak = role != "caution" and finding.evidence == "clear" and is_artefact(result)
    return replace(finding, evidence="suggestive") if is_weak else finding


def list_association_details(result: RegionsResult) -> Iterator[Finding]:
    """The clearest words, tones and topics beyond invented places; states of the United Nations first."""
    if result.association is not None:
        yield from (each for each in _list_details(result, result.association) if each.evidence != "none")


def _list_details(result: RegionsResult, association: Association) -> Iterator[Finding]:
    average, words = f"as of the average {association.noun}", result.scored_words
    sample = (
        f"The interval is of this pair alone, over {count_sentences(association)} and what a name alone may do; p is "
        "for all pairs, tones and topics."
    )
    pairs, tones = list_clear(result, result.associations), list_clear(result, list_tones(result))
    for row in pairs[:MOST_PAIRS]:
        kind = next(each.part_of_speech for each in words if each.word == row.subject)
        frame = "" if kind == "adjective" else f" It is a {kind}: its sentences differ from those of adjectives."
        said = f"Of {row.name} it says '{row.subject}' {{}} times as often {average}, relative to other words"
        yield _describe_claim(result, association, row, said, limit=f"{sample}{frame}")
    for row in tones[:MOST_TONES]:
        is_better = (row.times.value or 0) > 1
        yield _describe_claim(
            result,
            association,
            row,
            f"{row.name} is described {'more' if is_better else 'less'} favourably: favourable words are {{}} times as "
            f"likely, relative to unfavourable ones, {average}",
            limit=f"{sum(word.valence is not None for word in words):,} of {len(words):,} words have a rating. The "
            f"interval is of this one alone; in tone {len(tones):,} of {len(result.region_associations):,} "
            f"{pluralise(association.level)} stand out.",
            valence="better" if is_better else "worse",
        )
    yield from _list_regions(result, association, {row.id for row in (*pairs[:MOST_PAIRS], *tones[:MOST_TONES])})
    for row in list_clear(result, result.topic_associations)[:MOST_TOPICS]:
        yield _describe_claim(
            result,
            association,
            row,
            f"Of {row.name} it uses words of the topic {row.subject} {{}} times as often {average}, relative to other "
            "words",
            limit="The interval is of this topic alone, over its words, paraphrases and what a name alone may do.",
        )


def _list_regions(result: RegionsResult, association: Association, named: set[str]) -> Iterator[Finding]:
    """The regions that stand out by all their words together, besides those of which a word or a tone is named."""
    rows = list_standing_out(result)
    rows = [row for row in rows if not (row.level == "country" and row.id not in UN_STATES)] or rows
    others = [row for row in rows if row.id not in named]
    for row in others[: max(0, MOST_PAIRS - len(named))]:
        p_adjusted = _adjust_for_kinds(result, association, row.p_adjusted)
        yield make_association_finding(
            result,
            "detail",
            question=f"Does the model use words of {row.name} more, or less, than of other places?",
            subject=row.name,
            code=row.id,
            p=row.p_adjusted,
            p_adjusted=p_adjusted,
            evidence=grade_evidence(p_adjusted),
            sentence=f"{result.model.short_name}: {row.name} stands out by all its words together "
            f"({format_p(p_adjusted)}); no single word has to.",
            limit="It is compared with invented places and, fame held fixed, with known places that are no countries.",
            next_step=f"See all words of {row.name}: {FILE}, rows of {row.id}.",
        )


def _describe_claim(
    result: RegionsResult, association: Association, row: Claim, sentence: str, **fields: Any
) -> Finding:
    """A detail; the sentence has a gap for how many times. In one sentence alone, nothing is clear."""
    times, p_adjusted = row.times, _adjust_for_kinds(result, association, row.times.p_adjusted)
    evidence = grade_evidence(p_adjusted)
    return make_association_finding(
        result,
        "detail",
        question=f"Does the model say {f'“{row.subject}”' if row.subject else 'favourable words'} of {row.name} "
        "more often, or less, than names alone explain?",
        subject=row.name,
        code=row.id,
        direction="higher" if (times.value or 0) > 1 else "lower",
        size=measure_size(times, "times"),
        p=times.p,
        p_adjusted=p_adjusted,
        evidence="suggestive" if evidence == "clear" and times.low is None else evidence,
        sentence=f"{result.model.short_name}: {sentence.format(format_number(times.value or 0))} "
        f"({format_evidence(times, p_adjusted)}).",
        next_step=f"See all words of {row.name}: {FILE}, rows of {row.id}.",
        **fields,
    )


def _adjust_for_kinds(result: RegionsResult, association: Association, p_adjusted: float | None) -> float | None:
    """As the overall answer counts it, whose p is that of its clearest part: for all kinds of tests together."""
    return None if p_adjusted is None else min(1.0, len(list_p_values(result, association)) * p_adjusted)


def list_distance_details(result: RegionsResult) -> Iterator[Finding]:
    """The regions that stand out: the highest level first, then states, then the largest departure from random sets."""
    marked = [
        region
        for regions in list_levels(result).values()
        for region in sorted(regions, key=lambda each: (is_left_behind(result, each), -compare_with_random(each)))
        if region.stands_out
    ]
    levels = list(dict.fromkeys(region.level for region in result.regions))
    for region in marked[:MOST_DETAILS]:
        c_w, ratio = region.c_w_balanced, region.ratio or 1.0
        members = pluralise(levels[levels.index(region.level) + 1])
        limit = NO_DIRECTION
        if region.influential is not None:
            limit = (
                f"Without {region.influential} its balanced C_w would be {digits(region.c_w_without_it)} instead of "
                f"{digits(c_w.value)}."
            )
        yield make_finding(
            result,
            "detail",
            question=f"Are the {members} of {region.name} described more alike or more differently than random ones?",
            subject=region.name,
            code=region.id,
            direction="higher" if region.is_sparser else "lower",
            size=Size(ratio, None, None, UNIT),
            p=c_w.p,
            p_adjusted=c_w.p_adjusted,
            evidence=grade_evidence(c_w.p_adjusted),
            sentence=f"{result.model.short_name}: The {region.children:,} {members} of {region.name} lie {ratio:.2f} "
            f"times as far apart as random ones ({format_p(c_w.p_adjusted)}): described more "
            f"{'differently' if region.is_sparser else 'alike'}.",
            limit=limit,
            next_step=f"Look at the words in which they differ most: tables/words.csv, rows of {region.id}.",
        )


def list_levels(result: RegionsResult) -> Levels:
    """The regions below the root that were compared with random sets, by level.

    The root is left out: its score rests on the bare names of the regions directly below it, so that random
    reassignment of what lies below them hardly changes it.
    """
    levels: Levels = {}
    for region in result.regions[1:]:
        if region.c_w_balanced.p_adjusted is not None:
            levels.setdefault(region.level, []).append(region)
    return levels


def is_left_behind(result: RegionsResult, region: RegionScores) -> bool:
    """Whether a country is none of the UN; findings name those first, unless the user chose the countries."""
    return result.is_of_all_countries and region.level == "country" and region.id not in UN_STATES


def compare_with_random(region: RegionScores) -> float:
    """How far from random sets, alike closer together and further apart."""
    return abs(log(region.ratio)) if region.ratio else 0.0


def is_artefact(result: RegionsResult) -> bool:
    """Whether the score may be largely an effect of the names of regions.

    So it is where a region's distance from its siblings has a large and clear correlation with a trait of its bare
    name (|Spearman| >= 0.5, adjusted p < 0.05; at the highest level with ten regions), or where invented places lie at
    least 0.9 times as far apart as real ones.
    """
    strongest = _find_strongest(result)
    return (strongest is not None and _get_size(strongest) >= LARGE) or _compare_placebo(result) >= FULL_PLACEBO


def describe_artefact(result: RegionsResult) -> str:
    """The note above the map where names alone may make it; empty elsewhere."""
    if not is_artefact(result):
        return ""
    strongest, parts = _find_strongest(result), ["This map may be an artefact of names, not of places."]
    if strongest and _get_size(strongest) >= LARGE:
        parts.append(f"{_describe_correlation(strongest)} (Spearman {strongest.correlation.value:+.2f}).")
    if _compare_placebo(result) >= FULL_PLACEBO:
        parts.append(f"Invented places lie {_compare_placebo(result):.2f} times as far apart as real ones.")
    return " ".join(parts)


def _find_strongest(result: RegionsResult) -> NameCorrelation | None:
    """The property of the name that correlates most with the distance, among the clear ones at the highest level."""
    rows = [row for row in result.tokenisation if row.level == result.tokenisation[0].level and row.trait in TRAITS]
    return max((row for row in rows if is_marked(row.correlation)), key=_get_size, default=None)


def _get_size(row: NameCorrelation) -> float:
    return abs(row.correlation.value or 0.0)


def _compare_placebo(result: RegionsResult) -> float:
    """How far apart invented places lie, divided by real ones; minus infinity where it was not measured."""
    ratio = result.placebo.ratio if result.placebo else None
    return -inf if ratio is None or ratio.value is None else ratio.value


def _describe_correlation(row: NameCorrelation) -> str:
    """ "The more tokens a name has, the farther its region lies from its siblings"."""
    side = "farther" if (row.correlation.value or 0.0) > 0 else "closer"
    return f"The {TRAITS[row.trait]}, the {side} its region lies from its siblings"


def find_better_option(result: RegionsResult) -> str:
    """What depends less on names, or shows what they do; only what this run has not used."""
    options = [] if result.placebo else ["--placebo"]
    if result.model.score != CONDITIONAL and (result.model.architecture or result.model.endpoint):
        options.insert(0, f"--score {CONDITIONAL}")
    is_masked = "MaskedLM" in (result.model.architecture or "")
    other_model = "use a causal model" if is_masked else "use another model"
    if not options:
        return f"{other_model.capitalize()}; compare places whose names have as many tokens."
    return f"Add {' '.join(options)} to the command, or {other_model}."


def list_cautions(result: RegionsResult) -> Iterator[Finding]:
    name, strongest, placebo = result.model.short_name, _find_strongest(result), result.placebo
    if strongest and _get_size(strongest) >= MEDIUM:
        correlation = strongest.correlation
        bounds = f", 95 % interval {interval(correlation, 2)}" if correlation.low is not None else ""
        yield make_finding(
            result,
            "caution",
            question=f"Does a {strongest.level}'s distance from its siblings correlate with properties of its name?",
            direction="higher" if (correlation.value or 0.0) > 0 else "lower",
            size=measure_size(correlation, "Spearman correlation"),
            p=correlation.p,
            p_adjusted=correlation.p_adjusted,
            evidence=grade_evidence(correlation.p_adjusted),
            sentence=f"{name}: {_describe_correlation(strongest)} (Spearman {correlation.value:+.2f}{bounds}): "
            f"{'much' if _get_size(strongest) >= LARGE else 'part'} of HERB's distances may be an artefact of the "
            "names, not a description of the places.",
            limit=f"A correlation over {strongest.regions:,} {pluralise(strongest.level)}: how much names explain is "
            "not known.",
            next_step=find_better_option(result),
        )
    if placebo and placebo.ratio and _compare_placebo(result) >= NOTABLE_PLACEBO:
        ratio, members = placebo.ratio, pluralise(placebo.level)
        bounds = f" ({format_interval(ratio, '.2f')})" if ratio.low is not None else ""
        may = "alone may produce nearly all" if _compare_placebo(result) >= FULL_PLACEBO else "alone produce much"
        tokens = "The invented names were not matched to the real ones by their number of tokens."
        if placebo.tokens is not None and placebo.real_tokens is not None:
            tokens = (
                f"Invented names have {placebo.tokens:.1f} tokens on average, the real ones {placebo.real_tokens:.1f}."
            )
        yield make_finding(
            result,
            "caution",
            question=f"Do invented places lie as far apart as real {members}?",
            size=measure_size(ratio, UNIT),
            evidence="not testable",
            sentence=f"{name}: {len(placebo.names)} invented places lie {ratio.value:.2f} times as far apart as real "
            f"{members}{bounds}: names {may} of HERB's distances.",
            limit=tokens,
            next_step=find_better_option(result),
        )
    for agreement in result.kendall_w:
        if agreement.p is not None and agreement.p >= SIGNIFICANT and agreement.regions >= MIN_REGIONS:
            members = pluralise(agreement.level)
            yield make_finding(
                result,
                "caution",
                question=f"Do the templates rank the {members} alike?",
                size=None if agreement.w is None else Size(agreement.w, None, None, "Kendall's W"),
                p=agreement.p,
                p_adjusted=agreement.p,
                evidence=grade_evidence(agreement.p),
                sentence=f"{name}: The {len(result.settings.templates)} templates do not rank the "
                f"{agreement.regions:,} {members} alike (Kendall's W {agreement.w:.2f}, p = {agreement.p:.2g}): "
                "results may hold for one wording only.",
                limit="With few templates, even agreement may not be clear.",
                next_step="Look at how much each score varies over the templates: tables/regions.csv, columns ending "
                "in _spread.",
            )


def list_association_cautions(result: RegionsResult) -> Iterator[Finding]:
    """Paraphrases that disagree."""
    association = result.association
    if association is None or association.agreement is None or association.agreement >= LOW_AGREEMENT:
        return
    look = f"ook at the intervals: {FILE}."
    yield make_association_finding(
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
