"""What a regions audit concludes: what is said of whom (`association_findings.py`), and what HERB's score tells.

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
from math import log
from statistics import median

from scipy import stats

from geobias.audits.regions.association_answer import answer_association
from geobias.audits.regions.association_findings import (
    list_association_cautions,
    list_association_details,
)
from geobias.audits.regions.caution import better_option, has_names_test, is_artefact, list_cautions, name_model
from geobias.audits.regions.known_views import list_known_findings
from geobias.audits.regions.notes import is_marked_region, name_level, name_one, pluralise
from geobias.audits.regions.records import RegionNull, RegionScores
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.random_regions import POWER, top_groups
from geobias.report.findings import Finding, Size, format_p, grade_evidence
from geobias.report.sentences import say_missed
from geobias.report.tables import digits, format_interval
from geobias.world.countries import UN_STATES

__all__ = ["is_artefact", "list_findings"]

AUDIT = "regions"
DISTANCE = "distance"
POSITIVE = ("clear", "suggestive")
MOST_DETAILS = 5
UNIT = "times"
LARGEST_P = 0.9  # of regions whose standard error is read off: near 1 it is a ratio of two numbers near 0
NO_DIRECTION = "A distance has no direction: it does not say which place is described better or worse."
NAMES_NOT_TESTED = "Whether names alone explain it was not tested: that takes ten regions of a level, or --placebo."

TestedRegion = tuple[RegionScores, RegionNull]


def list_findings(result: RegionsResult) -> Iterator[Finding]:
    """The overall answers, what stands out, and what may be an artefact; associations before distances."""
    association, distance = answer_association(result), _answer_overall(result)
    # Two answers are told apart by their measures; a single one needs no name.
    measure = None if association is None else DISTANCE
    is_weak = is_artefact(result)

    def qualify(finding: Finding) -> Finding:
        return replace(_weaken(finding) if is_weak else finding, measure=measure)

    has_associations = association is not None and association.evidence in POSITIVE
    if association is not None:
        yield association
    yield qualify(distance)
    if has_associations:
        yield from list_association_details(result)
    if distance.evidence in POSITIVE:
        yield from map(qualify, _list_details(result))
    if has_associations:
        yield from list_association_cautions(result)
    yield from list_known_findings(result)
    yield from list_cautions(result)


def _weaken(finding: Finding) -> Finding:
    """A test of distances is no clear evidence of a difference between places where names alone may make them."""
    return replace(finding, evidence="suggestive") if finding.evidence == "clear" else finding


def _answer_overall(result: RegionsResult) -> Finding:
    levels = _regions_by_level(result)
    p_values = [min(null.p_adjusted or 0.0 for _, null in regions) for regions in levels.values()]
    ratio = result.grouping.ratio if result.grouping else None
    if ratio and ratio.p is not None:
        p_values.append(ratio.p)
    if not p_values:
        return _untestable(result)
    p = min(1.0, len(p_values) * min(p_values))
    is_negative = grade_evidence(p) == "none"
    carries_p = ratio is not None and ratio.p is not None and ratio.p == min(p_values)
    if ratio and ratio.value is not None and (carries_p or is_negative):
        size = Size(ratio.value, ratio.low, ratio.high, UNIT)
        parts = [_describe_groups(result, size, p, is_negative=is_negative)]
    else:  # a single region carries the evidence: size and direction are its own
        region, null = _choose_clearest(result, levels, is_negative=is_negative)
        size = Size(null.ratio or 1.0, None, None, UNIT)
        parts = [_describe_largest(result, levels, region, size.value, p, is_negative=is_negative)]
    if not is_negative and is_artefact(result):
        parts[0] += ", but names alone may explain it"
    parts[0] += "."
    if not is_negative:
        parts += _count_marked(levels)
    else:
        effect = _detectable_departure(result, levels, len(p_values))
        parts[0] += say_missed("words and regions", effect, [size.value - 1], lambda share: f"{100 * share:.2g} %")
    return Finding(
        role="overall",
        audit=AUDIT,
        model=result.model.name,
        question=_question(result),
        direction="higher" if size.value > 1 else "lower",
        size=size,
        p=min(p_values),
        p_adjusted=p,
        evidence=grade_evidence(p),
        sentence=" ".join(parts),
        limit=NO_DIRECTION if has_names_test(result) else NAMES_NOT_TESTED,
        next_step=_next_step(result, is_negative=is_negative),
    )


def _untestable(result: RegionsResult) -> Finding:
    """There are no two groups, so there is nothing that a score can be compared with."""
    region = next((region for region in result.regions if region.pairs), None)
    size, score = None, "no region has two sub-regions."
    if region and region.c_w.balanced is not None:
        estimate = region.inference.c_w.balanced if region.inference else None
        low, high = (estimate.low, estimate.high) if estimate else (None, None)
        size = Size(region.c_w.balanced, low, high, "distance")
        score = (
            f"the {region.children:,} sub-regions of {region.name} lie {digits(region.c_w.balanced)} apart, with "
            "no random ones to compare them with."
        )
    return Finding(
        role="overall",
        audit=AUDIT,
        model=result.model.name,
        question=_question(result),
        size=size,
        evidence="not testable",
        sentence=f"{name_model(result)}: Whether it describes regions of one parent alike cannot be tested: {score}",
        limit=NO_DIRECTION,
        next_step="Choose regions below at least two parents, such as the countries of two continents.",
    )


def _describe_groups(result: RegionsResult, size: Size, p: float, *, is_negative: bool) -> str:
    parent, members = _group_levels(result)
    bounds = "" if size.low is None else f"95 % interval {format_interval(size, '.2f')}, "
    if is_negative:
        meaning = f"no pattern by {name_level(parent)} beyond single {members}"
    else:
        meaning = f"described more {'alike' if size.value < 1 else 'differently'}"
    return (
        f"{name_model(result)}: {members.capitalize()} of {name_one(parent)} lie {size.value:.2f} times as far "
        f"apart as random ones ({bounds}{format_p(p)}): {meaning}"
    )


def _describe_largest(
    result: RegionsResult,
    levels: dict[str, list[TestedRegion]],
    region: RegionScores,
    ratio: float,
    p: float,
    *,
    is_negative: bool,
) -> str:
    tested = sum(map(len, levels.values()))
    start = "No region's" if is_negative else "Single regions'"
    return (
        f"{name_model(result)}: {start} sub-regions are described more alike or more differently than random ones: "
        f"{tested:,} tested; the clearest: {region.name}, {ratio:.2f} times as far apart ({format_p(p)})"
    )


def _count_marked(levels: dict[str, list[TestedRegion]]) -> Iterator[str]:
    """How many regions of each level stand out."""
    for level, regions in levels.items():
        marked = sum(is_marked_region(region) for region, _ in regions)
        if marked:
            yield f"{marked:,} of {len(regions):,} {pluralise(level)} {'stands' if marked == 1 else 'stand'} out."


def _list_details(result: RegionsResult) -> Iterator[Finding]:
    """The regions that stand out: the highest level first, then states, then the largest departure from random sets."""
    marked = [
        tested
        for regions in _regions_by_level(result).values()
        for tested in sorted(regions, key=lambda each: (_is_territory(result, each[0]), -_departure(each)))
        if is_marked_region(tested[0])
    ]
    for region, null in marked[:MOST_DETAILS]:
        ratio = null.ratio or 1.0
        members = pluralise(_level_below(result, region.level))
        comparison = "described more differently" if null.sparser else "described more alike"
        influence = region.leave_one_out
        yield Finding(
            role="detail",
            audit=AUDIT,
            model=result.model.name,
            question=f"Are the {members} of {region.name} described more alike or more differently than random ones?",
            subject=region.name,
            code=region.id,
            direction="higher" if null.sparser else "lower",
            size=Size(ratio, None, None, UNIT),
            p=null.p,
            p_adjusted=null.p_adjusted,
            evidence=grade_evidence(null.p_adjusted),
            sentence=f"{result.model.short_name}: The {region.children:,} {members} of {region.name} lie {ratio:.2f} "
            f"times as far apart as random ones ({format_p(null.p_adjusted)}): {comparison}.",
            limit=f"Without {influence.name} its balanced C_w would be {digits(influence.value)} instead of "
            f"{digits(region.c_w.balanced)}."
            if influence
            else NO_DIRECTION,
            next_step=f"Look at the words in which they differ most: tables/words.csv, rows of {region.id}.",
        )


def _regions_by_level(result: RegionsResult) -> dict[str, list[TestedRegion]]:
    """The regions below the root that were compared with random sets, by level.

    The root is left out: its score rests on the bare names of the regions directly below it, so that random
    reassignment of what lies below them hardly changes it.
    """
    levels = dict[str, list[TestedRegion]]()
    for region in result.regions[1:]:
        if region.null and region.null.p_adjusted is not None:
            levels.setdefault(region.level, []).append((region, region.null))
    return levels


def _choose_clearest(
    result: RegionsResult, levels: dict[str, list[TestedRegion]], *, is_negative: bool
) -> TestedRegion:
    """The region with the smallest p-value; a territory only where it stands out and no other region does."""
    tested = [each for regions in levels.values() for each in regions]
    others = [each for each in tested if not _is_territory(result, each[0])]
    if is_negative or any(is_marked_region(region) for region, _ in others):
        tested = others or tested
    return min(tested, key=lambda each: (each[1].p_adjusted or 0.0, -_departure(each)))


def _is_territory(result: RegionsResult, region: RegionScores) -> bool:
    """Whether a country is none of the UN; findings name those first, unless the user chose the countries."""
    return result.settings.countries == "all" and region.level == "country" and region.id not in UN_STATES


def _departure(tested: TestedRegion) -> float:
    """How far from random sets, alike closer together and further apart."""
    ratio = tested[1].ratio
    return abs(log(ratio)) if ratio else 0.0


def _detectable_departure(result: RegionsResult, levels: dict[str, list[TestedRegion]], tests: int) -> float | None:
    """The smallest departure of the ratio from 1 that is found with a power of 80 %, by the normal approximation.

    Without a test of all groups at once it is that of a single region, whose standard error follows from its ratio and
    p-value; the median over regions.
    """
    if result.grouping:
        spread = result.grouping.null_spread
    else:
        nulls = [null for regions in levels.values() for _, null in regions]
        spreads = [
            abs(null.ratio - 1) / float(stats.norm.isf(null.p / 2))
            for null in nulls
            if null.ratio and null.p is not None and 0 < null.p < LARGEST_P
        ]
        if not spreads:
            return None
        spread, tests = median(spreads), len(nulls)
    return float(stats.norm.isf(SIGNIFICANT / 2 / tests) + stats.norm.ppf(POWER)) * spread


def _group_levels(result: RegionsResult) -> tuple[str, str]:
    """The level of the groups that were tested together, and the plural of that of their members."""
    member = result.regions[top_groups(result.tree.children)[0][0]]
    assert member.parent_index is not None  # the root is in no group
    return result.regions[member.parent_index].level, pluralise(member.level)


def _level_below(result: RegionsResult, level: str) -> str:
    levels = list(dict.fromkeys(region.level for region in result.regions))
    return levels[levels.index(level) + 1]


def _question(result: RegionsResult) -> str:
    if not top_groups(result.tree.children):
        return "Are the sub-regions of a region described more alike than random ones?"
    parent, members = _group_levels(result)
    return f"Are the {members} of {name_one(parent)} described more alike than random {members}?"


def _next_step(result: RegionsResult, *, is_negative: bool) -> str:
    if is_artefact(result):
        return better_option(result)
    if is_negative:
        return "More words (--words) and templates (--template) find smaller differences."
    if result.placebo is None:
        return "Add --placebo to see how far apart invented names lie."
    return "Look at the words in which regions differ most: tables/words.csv."
