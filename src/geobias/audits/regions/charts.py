"""The charts of a regions audit: valence, topics and words of regions, HERB's scores, known stereotypes, several runs.

Only what is beyond invented places is drawn in full colour. Colours mean better and worse for valence alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from geobias.audits.regions.known import FEWEST_OF_EACH
from geobias.audits.regions.result import RegionsResult, list_tones, measure_certainty, pluralise
from geobias.audits.regions.rows import Association, RegionAssociation, RegionScores, TopicAssociation
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.estimates import Estimate
from geobias.measures.ranks import CHANCE
from geobias.report.declarations import ByModel
from geobias.report.page.blocks import Chart, Remark, Row
from geobias.report.page.charts import DotPlot, Valence, dots, ratio_heat
from geobias.report.sentences import format_number, list_first
from geobias.report.tables import NOTHING, is_marked, listed
from geobias.world.countries import UN_STATES

MOST_MARKED, EXTREMES = 12, 4  # regions in the chart of valence; those that do not stand out are of each side
MOST_REGIONS = 30  # in the heat map
MOST_WORDS = 20  # pairs of region and word in their chart
NAMED_IN_ALT = 7  # regions in the description of a chart
FAVOURABLE = Valence(1, "more favourable", "less favourable")
PAPER = "paper's form"
READING = {
    "balanced": "Dot: balanced C_w, the mean distance between the model's descriptions of a region's sub-regions. "
    "Line: 95 % interval over words. Tick: the mean of random sets of the same size. Filled: differs from "
    "random sets (adjusted p below 0.05).",
    PAPER: "The paper's form divides by the number of pairs a second time: it falls with the square of the number of "
    "sub-regions and mostly shows that number. Do not compare regions by it.",
}
SEE_NAMES = " Caution: the distances may be an artefact of the names; see the table of what the names alone explain."


def draw_valence(result: RegionsResult, association: Association) -> Iterator[Chart]:
    """The regions that stand out, and beside them both ends of the others."""
    rated, noun = sorted(list_tones(result), key=lambda row: -(row.times.value or 0)), association.noun
    if not rated:
        return
    marked = _rank(result, [row for row in rated if is_marked(row.times)])
    shown = {row.id for row in (*marked[:MOST_MARKED], *_find_ends(result, rated))}
    labels = _label_regions(result)
    rows = [
        {"region": labels[row.id], **vars(row.times), "marked": is_marked(row.times)}
        for row in rated
        if row.id in shown
    ]
    cut = f" {MOST_MARKED} of the {len(marked)} that stand out are shown." if len(marked) > MOST_MARKED else ""
    counts = [sum((word.valence or 0) * sign > 0 for word in result.scored_words) for sign in (1, -1)]
    tested = "Not tested: that takes invented places (--placebo)."
    if association.is_tested:
        tested = f"Filled: more than {association.controls} show (p below 0.05, adjusted for all)."
    yield Chart(
        "valence",
        _title_valence(result, association, [(labels[row.id], row.times.value or 0) for row in marked]),
        f"Favourable words relative to unfavourable ones: how many times as likely as of the average {noun}. "
        f"Line: 95 % interval of each {noun} alone, over {counts[0]} favourable and {counts[1]} unfavourable "
        f"words, the wording and what a name alone may do. {tested} "
        f"Hollow: both ends of the other {pluralise(association.level)}.{cut}",
        f"From {rows[0]['region']} {format_number(rows[0]['value'])} to {rows[-1]['region']} "
        f"{format_number(rows[-1]['value'])} times; {len(marked)} of {len(rated)} stand out.",
        _draw_times(rows, "region", f"as of the average {noun}, relative to unfavourable words", FAVOURABLE),
        rows,
    )


def draw_signal(result: RegionsResult, association: Association) -> Iterator[Chart]:
    """What the answer rests on: name, fame and country, as three numbers."""
    signal, noun, several = association.signal, association.noun, pluralise(association.level)
    if signal is None:
        return
    measured = {"Beyond its name": signal.beyond_names, "Beyond its fame": signal.beyond_fame}
    rows = [
        {"what": name, **vars(each), "marked": is_marked(each)}
        for name, each in measured.items()
        if each is not None and each.value is not None
    ]
    if not rows:
        return
    fame = "" if signal.fame_share is None else f" Fame explains {100 * signal.fame_share:.0f} % of the associations."
    numbers = "; ".join(f"{row['what']}: {format_number(row['value'])}" for row in rows)
    yield Chart(
        "signal",
        f"{result.model.short_name}: how much more words go with {several} than with places that are none",
        f"Name: against invented places. Fame: against known places that are no {several}, equally well known; what is "
        f"left is the {noun}'s own.{fame} 0: no more than theirs. Line: 95 % interval. Filled: distinguishable from 0.",
        f"{numbers}.{fame}",
        dots(rows, label="what", title="strength of associations, in nats", order=[row["what"] for row in rows]),
        rows,
    )


def _label_regions(result: RegionsResult) -> dict[str, str]:
    """The names of regions by id; cities of one name are told apart."""
    rows = result.region_associations
    counts = Counter(row.name for row in rows)
    return {row.id: row.name if counts[row.name] == 1 else f"{row.name} ({row.id})" for row in rows}


def _prefers_states(result: RegionsResult) -> bool:
    """Whether members of the United Nations come first: small islands lead many rankings of all countries."""
    return result.region_associations[0].level == "country" and result.is_of_all_countries


def _rank(result: RegionsResult, rows: Sequence[Any]) -> list[Any]:
    """The clearest first."""
    prefers_states = _prefers_states(result)
    return sorted(rows, key=lambda row: (prefers_states and row.id not in UN_STATES, -measure_certainty(row.times)))


def _find_ends(result: RegionsResult, rated: Sequence[RegionAssociation]) -> list[RegionAssociation]:
    """Both ends of a ranking of regions that do not stand out, of states where there are enough."""
    others = [row for row in rated if not is_marked(row.times)]
    states = [row for row in others if row.id in UN_STATES] if _prefers_states(result) else []
    rows = states if len(states) >= 2 * EXTREMES else others
    return [row for k, row in enumerate(rows) if min(k, len(rows) - 1 - k) < EXTREMES]


def _title_valence(result: RegionsResult, association: Association, marked: Sequence[tuple[str, float]]) -> str:
    name, noun = result.model.short_name, association.noun
    if not association.is_tested:
        return f"{name}: of whom favourable words are likelier (not tested)"
    more, less = ([label for label, value in marked if (value > 1) == is_above] for is_above in (True, False))
    if not more and not less:
        return f"{name}: no {noun} is described clearly more or less favourably than the average {noun}"
    parts = [f"more favourably of {list_first(more)}"] if more else []
    parts += [f"less favourably of {list_first(less)}"] if less else []
    return f"{name} speaks {', '.join(parts)} than of the average {noun}"


def _draw_times(rows: Sequence[Row], label: str, title: str, valence: Valence | None = None) -> DotPlot:
    order = [row[label] for row in rows]
    return dots(rows, label=label, title=f"times as likely {title}", order=order, valence=valence, is_ratio=True)


def draw_topics(result: RegionsResult, association: Association) -> Iterator[Chart | Remark]:
    """Regions x topics, only cells and regions that are clear; a sentence if none is."""
    cells = {(row.id, row.topic): row for row in result.topic_associations}
    topics = list(dict.fromkeys(row.topic for row in result.topic_associations))
    if len(topics) < 2 or not association.is_tested:  # the mean over the words of a single topic is 0
        return
    name, noun, regions = result.model.short_name, association.noun, pluralise(association.level)
    clear = [row for row in result.topic_associations if is_marked(row.times)]
    largest: dict[str, TopicAssociation] = {}
    for row in sorted(clear, key=lambda row: -measure_certainty(row.times)):
        largest.setdefault(row.id, row)
    compared, controls = len(result.region_associations), association.controls
    if not largest:
        yield Remark(
            "by-topic",
            f"{name}: no topic stands out for any {noun}",
            f"For none of {compared:,} {regions} are the words of a topic ({listed(topics)}) clearly more or "
            f"less likely than of the average {noun}, relative to other words: {controls} differ as much.",
        )
        return
    order = [row.id for row in result.region_associations]
    shown = _rank(result, sorted(largest.values(), key=lambda row: order.index(row.id)))[:MOST_REGIONS]
    labels = _label_regions(result)
    rows: list[Row] = [
        {"region": labels[each.id], "topic": topic, **vars(times), "marked": is_marked(times)}
        | {"text": NOTHING if times.value is None else format_number(times.value)}
        for each in shown
        for topic in topics
        for times in [cells[each.id, topic].times]
    ]
    marked = [row for row in rows if row["marked"]]
    examples = ", ".join(f"{row['region']} {row['topic']} {row['text']}" for row in marked[:8])
    cut = f" {len(shown)} of these {len(largest)} are shown." if len(largest) > len(shown) else ""
    yield Chart(
        "by-topic",
        f"{name}: which topics stand out for which {regions}",
        f"How many times as likely the words of a topic are as of the average {noun}, relative to other words: 2 "
        "is twice as likely, 0.5 half. Cells that other places could show too (adjusted p of 0.05 or more) are "
        f"empty. {len(largest)} of {compared:,} {regions} have a clear cell.{cut}",
        f"{len(marked)} of {len(rows)} cells are clear: {examples}.",
        ratio_heat(rows, across="topic", down="region", columns=topics, order=[labels[row.id] for row in shown]),
        rows,
    )


def draw_words(result: RegionsResult, association: Association) -> Iterator[Chart | Remark]:
    """The pairs of region and word that stand out most; a sentence if none does."""
    if not association.is_tested or association.paraphrases < 2:  # in a single sentence no pair is tested
        return
    name, noun, controls = result.model.short_name, association.noun, association.controls
    shown = _rank(result, [row for row in result.associations if is_marked(row.times)])[:MOST_WORDS]
    if not shown:
        smallest = association.detectable_times
        missed = "" if smallest is None else f" Less than {format_number(smallest)} times would probably be missed."
        yield Remark(
            "typical-words",
            f"{name}: no word stands out for any {noun}",
            f"None of {association.tests:,} pairs of {noun} and word is clearly further from the average "
            f"{noun}, relative to other words, than {controls} are.{missed}",
        )
        return
    labels = _label_regions(result)
    rows = [{"pair": f"{labels[row.id]}: {row.word}", **vars(row.times), "marked": True} for row in shown]
    rows.sort(key=lambda row: -row["value"])
    cut = f" The {len(rows)} clearest of {association.marked:,}." if association.marked > len(rows) else ""
    yield Chart(
        "typical-words",
        f"{name}: which words stand out most, and of whom they are said",
        f"How many times as likely the word is as of the average {noun}, relative to other words. Line: 95 % "
        f"interval of each pair alone, over {association.paraphrases} paraphrases and what a name alone may do. All "
        f"are beyond what {controls} show (p below 0.05, adjusted for {association.tests:,} pairs of {noun} and "
        f"word).{cut} The words describe the model, not the people of these {pluralise(association.level)}.",
        f"From {rows[0]['pair']} {format_number(rows[0]['value'])} to {rows[-1]['pair']} "
        f"{format_number(rows[-1]['value'])} times.",
        _draw_times(rows, "pair", f"as of the average {noun}, relative to other words"),
        rows,
        has_texts=True,
    )


def draw_continents(result: RegionsResult, *, is_artefact: bool) -> Iterator[ByModel]:
    """Balanced C_w of the regions below the whole; the paper's form one click away, with the reason.

    The whole itself, the first region, is left out where there are others: it has no random sets of the same size.
    """
    top = result.top_regions
    if not top:
        return
    shown, last = top[1:] or top, next(row for row, each in enumerate(result.regions) if each is top[-1])
    parts = pluralise(next((each.level for each in result.regions if each.parent_index == last), "region"))
    charts: dict[str, Chart] = {}
    for label, form in (("balanced", "balanced"), (PAPER, "paper")):
        rows = [_describe_score(region, form) for region in shown]
        ranked = sorted(rows, key=lambda row: -row["value"])
        summary = ", ".join(f"{row['region']} {row['value']:.3g}" for row in ranked[:NAMED_IN_ALT])
        tick = "random_sets" if any(row["random_sets"] is not None for row in rows) else ""
        picture = dots(rows, label="region", title=f"C_w, {label}", order=[row["region"] for row in ranked], tick=tick)
        charts[label] = Chart(
            f"continents-{form}",
            _title_scores(shown, parts) if form == "balanced" else f"C_w {PAPER}: not comparable between regions",
            READING[label] + (SEE_NAMES if is_artefact else ""),
            f"Dots with intervals, from high to low: {summary}.",
            picture,
            rows,
        )
    yield ByModel(charts, noun="Form")


def _describe_score(region: RegionScores, form: str) -> Row:
    estimate: Estimate = getattr(region, f"c_w_{form}")
    is_balanced, rank = form == "balanced", region.rank
    return {
        "region": region.name,
        "sub_regions": region.children,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "p_adjusted": region.c_w_balanced.p_adjusted,
        "marked": is_balanced and region.stands_out,
        "random_sets": region.random_mean if is_balanced else None,
        "ratio_to_random": region.ratio,
        "rank": rank and rank.value,
        "rank_low": rank and rank.low,
        "rank_high": rank and rank.high,
    }


def _title_scores(regions: Sequence[RegionScores], parts: str) -> str:
    """Which regions differ from random sets."""
    lower, higher = (
        [each.name for each in regions if each.stands_out and each.is_sparser == is_sparser]
        for is_sparser in (False, True)
    )
    tested = [each for each in regions if each.c_w_balanced.p_adjusted is not None]
    if not tested:
        return f"How differently the model describes the {parts} of each region (not tested)"
    if not higher and not lower:
        return f"In none of {len(tested)} regions do the {parts} differ more or less than random sets of {parts}"
    claims = [f"more alike than random sets in {listed(lower)}"] if lower else []
    claims += [f"less alike than random sets in {listed(higher)}"] if higher else []
    return f"The model describes {parts} {', and '.join(claims)}"


def draw_known_countries(result: RegionsResult) -> Iterator[Chart]:
    """How well the model's associations follow people's judgements, country by country."""
    countries = sorted(result.known_countries, key=lambda country: -(country.auc.value or 0))
    if not countries:
        return
    rows: list[Row] = [
        {"country": each.name, "stereotypes": each.stereotypes, "others": each.others}
        | {name: getattr(each.auc, name) for name in ("value", "low", "high", "p_adjusted")}
        | {"marked": is_marked(each.auc)}
        for each in countries
    ]
    summary = ", ".join(f"{row['country']} {row['value']:.2f}" for row in (*rows[:3], *rows[3:][-3:]))
    marked = sum(row["marked"] and row["value"] > CHANCE for row in rows)
    yield Chart(
        "known-countries",
        f"For {marked} of {len(rows)} countries, the model clearly repeats what people call stereotypes",
        f"Dot: AUC, the share of comparisons in which a stereotype of the country is associated with it more than "
        f"another attribute is; 0.5 is chance. Line: 95 % interval over attributes. Filled: differs from 0.5 "
        f"(adjusted p below 0.05). Countries with at least {FEWEST_OF_EACH} pairs of each kind in SeeGULL.",
        f"From high to low: {summary}.",
        dots(rows, label="country", title="AUC", order=[row["country"] for row in rows], centre=CHANCE),
        rows,
    )


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    names = distinct_names([(f"{run.result.model.short_name}, {run.result.model.score}", run) for run in runs])
    rows = [
        {"run": name, **_describe_score(region, "balanced")}
        for name, run in zip(names, runs, strict=True)
        for region in run.result.top_regions
    ]
    scores = {run.result.model.score for run in runs}
    scale = " The scores have different scales: compare the order of regions only." if len(scores) > 1 else ""
    return overlay_chart(
        "regions",
        "How differently each model describes the parts of the world",
        "Dot: balanced C_w; line: 95 % interval over words; filled: differs from random sets of the same size "
        f"(adjusted p below 0.05).{scale}",
        rows,
        label="region",
        colour="run",
        title="C_w, balanced",
    )
