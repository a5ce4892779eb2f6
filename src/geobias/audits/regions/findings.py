"""What a regions audit concludes: what is said of whom (`association_answer.py`), and what HERB's score tells.

HERB's score is a distance: it says that descriptions differ, not which place is described better. Every finding about
it is relative to random regions of the same level. Three kinds of test answer for the whole tree, so each counts as
many times as there are tests (Bonferroni):

- all groups at once, such as the countries of every continent (`measures/grouping.py`);
- for each level, its regions one by one; the smallest Benjamini-Hochberg p-value is Simes' test of the level.

Single regions are reported only where the overall test is not negative (gatekeeping). Where names alone may make the
score (`is_artefact`), nothing is called clear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from scipy import stats

from geobias.audits.regions.association_answer import answer_association
from geobias.audits.regions.details import (
    NO_DIRECTION,
    UNIT,
    Levels,
    compare_with_random,
    find_better_option,
    is_artefact,
    is_left_behind,
    list_association_cautions,
    list_association_details,
    list_cautions,
    list_distance_details,
    list_levels,
    make_finding,
)
from geobias.audits.regions.known import list_known_findings
from geobias.audits.regions.result import RegionsResult, pluralise
from geobias.audits.regions.rows import RegionScores
from geobias.measures.estimates import POWER, SIGNIFICANT
from geobias.measures.random_regions import top_groups
from geobias.report.findings import DIFFERENCES, Finding, Size, format_p, grade_evidence
from geobias.report.sentences import measure_size, say_missed
from geobias.report.tables import digits, format_interval

LARGEST_P = 0.9  # of regions whose standard error is read off: near 1 it is a ratio of two numbers near 0
NAMES_NOT_TESTED = "Whether names alone explain it was not tested: that takes ten regions of a level, or --placebo."


def list_findings(result: RegionsResult) -> Iterator[Finding]:
    """The overall answers, what stands out, and what may be an artefact; associations before distances."""
    association, distance = answer_association(result), _answer_overall(result)
    # Two answers are told apart by their measures; a single one needs no name.
    measure = None if association is None else "distance"
    has_associations = association is not None and association.evidence in DIFFERENCES
    if association is not None:
        yield association
    yield replace(distance, measure=measure)
    if has_associations:
        yield from list_association_details(result)
    if distance.evidence in DIFFERENCES:
        yield from (replace(detail, measure=measure) for detail in list_distance_details(result))
    if has_associations:
        yield from list_association_cautions(result)
    yield from list_known_findings(result)
    yield from list_cautions(result)


def _answer_overall(result: RegionsResult) -> Finding:
    levels = list_levels(result)
    p_values = [min(region.c_w_balanced.p_adjusted or 0.0 for region in regions) for regions in levels.values()]
    ratio = result.grouping.ratio if result.grouping else None
    if ratio and ratio.p is not None:
        p_values.append(ratio.p)
    if not p_values:
        return _explain_no_test(result)
    p = min(1.0, len(p_values) * min(p_values))
    is_negative = grade_evidence(p) == "none"
    carries_p = ratio is not None and ratio.p is not None and ratio.p == min(p_values)
    if ratio and ratio.value is not None and (carries_p or is_negative):
        size = Size(ratio.value, ratio.low, ratio.high, UNIT)
        sentence = _describe_groups(result, size, p, is_negative=is_negative)
    else:  # a single region carries the evidence: size and direction are its own
        region = _choose_clearest(result, levels, is_negative=is_negative)
        size = Size(region.ratio or 1.0, None, None, UNIT)
        start, tested = "No region's" if is_negative else "Single regions'", sum(map(len, levels.values()))
        sentence = (
            f"{result.label}: {start} sub-regions are described more alike or more differently than random ones: "
            f"{tested:,} tested; the clearest: {region.name}, {size.value:.2f} times as far apart ({format_p(p)})"
        )
    if is_negative:
        effect = _find_detectable_departure(result, levels, len(p_values))
        missed = say_missed("words and regions", effect, [size.value - 1], lambda share: f"{100 * share:.2g} %")
        sentence = f"{sentence}.{missed}"
    else:
        doubt = ", but names alone may explain it" if is_artefact(result) else ""
        sentence = " ".join([f"{sentence}{doubt}.", *_count_marked(levels)])
    return make_finding(
        result,
        "overall",
        question=_ask(result),
        direction="higher" if size.value > 1 else "lower",
        size=size,
        p=min(p_values),
        p_adjusted=p,
        evidence=grade_evidence(p),
        sentence=sentence,
        limit=NO_DIRECTION if result.tokenisation or result.placebo else NAMES_NOT_TESTED,
        next_step=_choose_next_step(result, is_negative=is_negative),
    )


def _explain_no_test(result: RegionsResult) -> Finding:
    """There are no two groups, so there is nothing that a score can be compared with."""
    region = next((region for region in result.regions if region.has_pairs), None)
    score = "no region has two sub-regions."
    if region and region.c_w_balanced.value is not None:
        score = (
            f"the {region.children:,} sub-regions of {region.name} lie {digits(region.c_w_balanced.value)} apart, with "
            "no random ones to compare them with."
        )
    return make_finding(
        result,
        "overall",
        question=_ask(result),
        size=measure_size(region.c_w_balanced, "distance") if region else None,
        evidence="not testable",
        sentence=f"{result.label}: Whether it describes regions of one parent alike cannot be tested: {score}",
        limit=NO_DIRECTION,
        next_step="Choose regions below at least two parents, such as the countries of two continents.",
    )


def _describe_groups(result: RegionsResult, size: Size, p: float, *, is_negative: bool) -> str:
    parent, members = _name_groups(result)
    bounds = "" if size.low is None else f"95 % interval {format_interval(size, '.2f')}, "
    if is_negative:
        level = "region" if parent.startswith("level ") else parent
        meaning = f"no pattern by {level} beyond single {members}"
    else:
        meaning = f"described more {'alike' if size.value < 1 else 'differently'}"
    return (
        f"{result.label}: {members.capitalize()} of {_name_one(parent)} lie {size.value:.2f} times as far "
        f"apart as random ones ({bounds}{format_p(p)}): {meaning}"
    )


def _count_marked(levels: Levels) -> Iterator[str]:
    """How many regions of each level stand out."""
    for level, regions in levels.items():
        marked = sum(region.stands_out for region in regions)
        if marked:
            yield f"{marked:,} of {len(regions):,} {pluralise(level)} {'stands' if marked == 1 else 'stand'} out."


def _choose_clearest(result: RegionsResult, levels: Levels, *, is_negative: bool) -> RegionScores:
    """The region with the smallest p-value; a territory only where it stands out and no other region does."""
    tested = [region for regions in levels.values() for region in regions]
    others = [region for region in tested if not is_left_behind(result, region)]
    if is_negative or any(region.stands_out for region in others):
        tested = others or tested
    return min(tested, key=lambda region: (region.c_w_balanced.p_adjusted or 0.0, -compare_with_random(region)))


def _find_detectable_departure(result: RegionsResult, levels: Levels, tests: int) -> float | None:
    """The smallest departure of the ratio from 1 that is found with a power of 80 %, by the normal approximation.

    Without a test of all groups at once it is that of a single region, whose standard error follows from its ratio and
    p-value; the median over regions.
    """
    if result.grouping:
        spread = result.grouping.null_spread
    else:
        regions = [region for each in levels.values() for region in each]
        spreads = [
            abs(region.ratio - 1) / float(stats.norm.isf(region.c_w_balanced.p / 2))
            for region in regions
            if region.ratio and region.c_w_balanced.p is not None and 0 < region.c_w_balanced.p < LARGEST_P
        ]
        if not spreads:
            return None
        spread, tests = median(spreads), len(regions)
    return float(stats.norm.isf(SIGNIFICANT / 2 / tests) + stats.norm.ppf(POWER)) * spread


def _name_groups(result: RegionsResult) -> tuple[str, str]:
    """The level of the groups that were tested together, and the plural of that of their members."""
    member = result.regions[top_groups(result.tree.children)[0][0]]
    assert member.parent_index is not None  # the root is in no group
    return result.regions[member.parent_index].level, pluralise(member.level)


def _name_one(level: str) -> str:
    """A single region of a level, and which level if that has only a number."""
    return f"one region at {level}" if level.startswith("level ") else f"one {level}"


def _ask(result: RegionsResult) -> str:
    if not top_groups(result.tree.children):
        return "Are the sub-regions of a region described more alike than random ones?"
    parent, members = _name_groups(result)
    return f"Are the {members} of {_name_one(parent)} described more alike than random {members}?"


def _choose_next_step(result: RegionsResult, *, is_negative: bool) -> str:
    if is_artefact(result):
        return find_better_option(result)
    if is_negative:
        return "More words (--words) and templates (--template) find smaller differences."
    if result.placebo is None:
        return "Add --placebo to see how far apart invented names lie."
    return "Look at the words in which regions differ most: tables/words.csv."
