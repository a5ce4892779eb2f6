"""What the model says of whom, on the page: valence, topics and single words of regions, and how much of it is content.

Only what is beyond invented places is drawn in full colour. Colours mean better and worse for valence alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geobias.audits.regions.association_findings import measure_certainty, name_controls
from geobias.audits.regions.association_records import Association, RegionAssociation, list_compared
from geobias.audits.regions.files import read_associations
from geobias.audits.regions.notes import name_level
from geobias.audits.regions.page_continents import plural
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import SIGNIFICANT, Estimate, Estimates
from geobias.report.page.blocks import Block, Chart, Remark, Row
from geobias.report.page.charts import Valence, dots
from geobias.report.page.ratio_heat import ratio_heat
from geobias.report.runs import FinishedRun
from geobias.report.sentences import format_number, list_first
from geobias.report.tables import NOTHING, is_marked, listed
from geobias.world.countries import UN_STATES

MOST_MARKED, EXTREMES = 12, 4  # regions in the chart of valence; those that do not stand out are of each side
MOST_REGIONS = 30  # in the heat map
MOST_WORDS = 20  # pairs of region and word in their chart
LEAD = (
    "What the model says of whom: the words it finds more and less likely of a {noun} than of the average {noun}, "
    "relative to other words. Invented places show how much of that is chance. HERB's distances (C_w, Li et al. 2022) "
    "come after: how far apart the descriptions of a region's parts lie, which names alone can cause."
)
FAVOURABLE = Valence(1, "more favourable", "less favourable")


@dataclass(frozen=True)
class AssociationView:
    """The associations of a run and how the page speaks of them."""

    result: RegionsResult
    association: Association
    estimates: Estimates
    """Regions x words, in nats."""

    @cached_property
    def regions(self) -> list[RegionAssociation]:
        return list_compared(self.association)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The names of regions by id; cities of one name are told apart."""
        counts = Counter(region.name for region in self.regions)
        return {
            region.id: region.name if counts[region.name] == 1 else f"{region.name} ({region.id})"
            for region in self.regions
        }

    @property
    def model(self) -> str:
        return self.result.model.short_name

    @property
    def is_tested(self) -> bool:
        """Whether there were invented places to compare with."""
        return self.association.invented_times is not None

    @property
    def noun(self) -> str:
        return name_level(self.association.level)

    @property
    def prefers_states(self) -> bool:
        """Whether members of the United Nations come first: small islands lead many rankings of all countries."""
        return self.association.level == "country" and self.result.settings.countries == "all"

    def comes_later(self, region: RegionAssociation) -> bool:
        """Whether others are named before the region, even if it is clearer."""
        return self.prefers_states and region.id not in UN_STATES

    def rank(self, estimates: Mapping[str, Estimate]) -> list[RegionAssociation]:
        """The regions with an estimate, the clearest first."""
        regions = [region for region in self.regions if region.id in estimates]
        return sorted(regions, key=lambda region: (self.comes_later(region), -measure_certainty(estimates[region.id])))


def association_blocks(run: FinishedRun[RegionsResult], name: str) -> list[Block]:
    """Charts of valence, topics and words, those with intervals first; none for a run without associations."""
    result, association = run.result, run.result.association
    if association is None:
        return []
    view = AssociationView(result, association, read_associations(run))
    return [*_valence_chart(name, view), *_topic_cells(name, view), *_word_chart(name, view)]


def lead(association: Association) -> str:
    return LEAD.format(noun=name_level(association.level))


def list_omissions(association: Association) -> Iterator[str]:
    """What has no associations, and why."""
    names = association.without_demonym
    if names:
        yield f"Without a usual word for their people, so without associations: {len(names):,} ({list_first(names)})."


def _valence_chart(name: str, view: AssociationView) -> Iterator[Chart]:
    """The regions that stand out, and beside them both ends of the others."""
    valences = {region.id: region.valence for region in view.regions if region.valence}
    if not valences:
        return
    rated = sorted(view.regions, key=lambda region: valences[region.id].value or 0, reverse=True)
    marked = {code: valence for code, valence in valences.items() if is_marked(valence)}
    clearest = view.rank(marked)
    ends = _find_ends(view, [region for region in rated if region.id not in marked])
    shown = {region.id for region in [*clearest[:MOST_MARKED], *ends]}
    rows = [
        {"region": view.labels[region.id], **vars(valences[region.id]), "marked": region.id in marked}
        for region in rated
        if region.id in shown
    ]
    more, less = (
        [view.labels[region.id] for region in clearest if ((marked[region.id].value or 0) > 1) == is_above]
        for is_above in (True, False)
    )
    cut = f" {MOST_MARKED} of the {len(marked)} that stand out are shown." if len(marked) > MOST_MARKED else ""
    counts = [sum((word.valence or 0) * sign > 0 for word in view.association.words) for sign in (1, -1)]
    yield Chart(
        f"{name}-valence",
        _title_valence(view, more, less),
        f"Favourable words relative to unfavourable ones: how many times as likely as of the average {view.noun}. "
        f"Line: 95 % interval of each {view.noun} alone, over {counts[0]} favourable and {counts[1]} unfavourable "
        f"words, the wording and what a name alone may do. {_describe_marks(view)} "
        f"Hollow: both ends of the other {plural(view.association.level)}.{cut}",
        f"From {rows[0]['region']} {format_number(rows[0]['value'])} to {rows[-1]['region']} "
        f"{format_number(rows[-1]['value'])} times; {len(marked)} of {len(rated)} stand out.",
        dots(
            rows,
            label="region",
            title=f"times as likely as of the average {view.noun}, relative to unfavourable words",
            order=[row["region"] for row in rows],
            valence=FAVOURABLE,
            is_ratio=True,
        ),
        rows,
    )


def _find_ends(view: AssociationView, ranked: Sequence[RegionAssociation]) -> list[RegionAssociation]:
    """Both ends of a ranking, of states where there are enough."""
    states = [region for region in ranked if region.id in UN_STATES] if view.prefers_states else []
    regions = states if len(states) >= 2 * EXTREMES else ranked
    return [region for k, region in enumerate(regions) if min(k, len(regions) - 1 - k) < EXTREMES]


def _title_valence(view: AssociationView, more: Sequence[str], less: Sequence[str]) -> str:
    if not view.is_tested:
        return f"{view.model}: of whom favourable words are likelier (not tested)"
    if not more and not less:
        return f"{view.model}: no {view.noun} is described clearly more or less favourably than the average {view.noun}"
    parts = [f"more favourably of {list_first(more)}"] if more else []
    parts += [f"less favourably of {list_first(less)}"] if less else []
    return f"{view.model} speaks {', '.join(parts)} than of the average {view.noun}"


def _describe_marks(view: AssociationView) -> str:
    if not view.is_tested:
        return "Not tested: that takes invented places (--placebo)."
    return f"Filled: more than {name_controls(view.association)} show (p below 0.05, adjusted for all)."


def _topic_cells(name: str, view: AssociationView) -> Iterator[Chart | Remark]:
    """Regions x topics, only cells and regions that are clear; a sentence if none is."""
    topics = list(dict.fromkeys(topic for region in view.regions for topic in region.topics))
    if len(topics) < 2 or not view.is_tested:  # the mean over the words of a single topic is 0
        return
    regions, block_id = plural(view.association.level), f"{name}-by-topic"
    marked = {
        region.id: max(clear_topics, key=measure_certainty)
        for region in view.regions
        if (clear_topics := [times for times in region.topics.values() if is_marked(times)])
    }
    if not marked:
        yield Remark(
            block_id,
            f"{view.model}: no topic stands out for any {view.noun}",
            f"For none of {len(view.regions):,} {regions} are the words of a topic ({listed(topics)}) clearly more or "
            f"less likely than of the average {view.noun}, relative to other words: {name_controls(view.association)} "
            "differ as much.",
        )
        return
    shown = view.rank(marked)[:MOST_REGIONS]
    rows = [_topic_row(view, region, topic) for region in shown for topic in topics]
    clear = [row for row in rows if row["marked"]]
    examples = ", ".join(f"{row['region']} {row['topic']} {row['text']}" for row in clear[:8])
    cut = f" {len(shown)} of these {len(marked)} are shown." if len(marked) > len(shown) else ""
    yield Chart(
        block_id,
        f"{view.model}: which topics stand out for which {regions}",
        f"How many times as likely the words of a topic are as of the average {view.noun}, relative to other words: 2 "
        "is twice as likely, 0.5 half. Cells that other places could show too (adjusted p of 0.05 or more) are "
        f"empty. {len(marked)} of {len(view.regions):,} {regions} have a clear cell.{cut}",
        f"{len(clear)} of {len(rows)} cells are clear: {examples}.",
        ratio_heat(rows, across="topic", down="region", columns=topics, order=[view.labels[r.id] for r in shown]),
        rows,
    )


def _topic_row(view: AssociationView, region: RegionAssociation, topic: str) -> Row:
    times = region.topics[topic]
    return {
        "region": view.labels[region.id],
        "topic": topic,
        **vars(times),
        "marked": is_marked(times),
        "text": NOTHING if times.value is None else format_number(times.value),
    }


def _word_chart(name: str, view: AssociationView) -> Iterator[Chart | Remark]:
    """The pairs of region and word that stand out most; a sentence if none does."""
    if not view.is_tested or view.association.paraphrases < 2:  # in a single sentence no pair is tested
        return
    association, block_id, regions = view.association, f"{name}-typical-words", plural(view.association.level)
    pairs = _list_marked_pairs(view)
    if not pairs:
        smallest = association.detectable_times
        missed = "" if smallest is None else f" Less than {format_number(smallest)} times would probably be missed."
        yield Remark(
            block_id,
            f"{view.model}: no word stands out for any {view.noun}",
            f"None of {association.tests:,} pairs of {view.noun} and word is clearly further from the average "
            f"{view.noun}, relative to other words, than {name_controls(association)} are.{missed}",
        )
        return
    rows = [
        {
            "pair": f"{view.labels[view.regions[row].id]}: {association.words[k].word}",
            **vars(_to_times(view.estimates.at(row, k))),
            "marked": True,
        }
        for row, k in pairs[:MOST_WORDS]
    ]
    rows.sort(key=lambda row: -row["value"])
    cut = f" The {len(rows)} clearest of {len(pairs):,}." if len(pairs) > len(rows) else ""
    yield Chart(
        block_id,
        f"{view.model}: which words stand out most, and of whom they are said",
        f"How many times as likely the word is as of the average {view.noun}, relative to other words. Line: 95 % "
        f"interval of each pair alone, over {association.paraphrases} paraphrases and what a name alone may do. All "
        f"are beyond what {name_controls(association)} show (p below 0.05, adjusted for {association.tests:,} pairs of "
        f"{view.noun} and word).{cut} "
        f"The words describe the model, not the people of these {regions}.",
        f"From {rows[0]['pair']} {format_number(rows[0]['value'])} to {rows[-1]['pair']} "
        f"{format_number(rows[-1]['value'])} times.",
        dots(
            rows,
            label="pair",
            title=f"times as likely as of the average {view.noun}, relative to other words",
            order=[row["pair"] for row in rows],
            is_ratio=True,
        ),
        rows,
        has_texts=True,
    )


def _list_marked_pairs(view: AssociationView) -> list[tuple[int, int]]:
    """Positions of regions and words beyond invented places, the clearest first; a word of two topics counts once."""
    words = view.association.words
    marked = map(tuple, np.argwhere(view.estimates.p_adjusted < SIGNIFICANT).tolist())
    distinct = {(row, words[k].word): (row, k) for row, k in marked}.values()

    def rank(pair: tuple[int, int]) -> tuple[bool, float]:
        times = _to_times(view.estimates.at(*pair))
        return view.comes_later(view.regions[pair[0]]), -measure_certainty(times)

    return sorted(distinct, key=rank)


def _to_times(estimate: Estimate) -> Estimate:
    value, low, high = (None if x is None else float(np.exp(x)) for x in (estimate.value, estimate.low, estimate.high))
    return Estimate(value, low, high, estimate.p, estimate.p_adjusted)
