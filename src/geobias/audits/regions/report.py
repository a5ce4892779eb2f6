"""What people and programs read of a regions audit besides its findings: tables, charts, map, notes, gate numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from geobias.audits.regions.charts import (
    draw_continents,
    draw_known_countries,
    draw_signal,
    draw_topics,
    draw_valence,
    draw_words,
    overlay_runs,
)
from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.tables import (
    describe_artefact,
    is_artefact,
    list_card,
    list_known,
    list_name_correlations,
    list_quantities,
    list_scores,
    list_words,
)
from geobias.audits.regions.world_map import draw_map, list_countries
from geobias.report.declarations import Report, ReportBlock, say_p
from geobias.report.findings import Finding
from geobias.report.gate_numbers import (
    HERB_SCORE,
    NOT_NEGATIVE,
    SHARE,
    WORST,
    GateNumber,
    Range,
    TreeNumber,
    model_names,
    tree_number,
)
from geobias.report.headlines import name_model
from geobias.report.page.blocks import CardText
from geobias.report.sentences import list_first
from geobias.report.tables import digits, format_interval

__all__ = ["list_gate_numbers", "make_report", "overlay_runs"]

LEAD = (
    "A model that describes all places alike gives every region the score 0. A region's score (C_w) is the mean "
    "distance between the model's descriptions of its sub-regions, from countries up to the whole Earth (HERB, Li "
    "et al. 2022)."
)
ASSOCIATION_LEAD = (
    "What the model says of whom: the words it finds more and less likely of a {noun} than of the average {noun}, "
    "relative to other words. Invented places show how much of that is chance. HERB's distances (C_w, Li et al. 2022) "
    "come after: how far apart the descriptions of a region's parts lie, which names alone can cause."
)
MEANING = (
    "Balanced C_w is a weighted mean distance between the model's descriptions of the sub-regions: higher means that "
    "it describes them more differently. C_z weights them by how likely their names are instead; flat is the mean "
    "distance between all regions inside. The paper's form divides by the number of pairs once more, so it mostly "
    "reflects how many sub-regions there are. * The sub-regions lie further apart or closer together than a random set "
    "of the same size from their level (p < .05, adjusted for multiple comparisons). Intervals are 95 %, over words. "
    "All of it describes the model, not people."
)
GEONAMES = " Regions: GeoNames (CC BY 4.0)."
NAMES_SHOWN = 3
KNOWN = "known stereotypes"  # the measure of their finding


def make_report(result: RegionsResult) -> Report:
    association, counts, templates = result.association, result.counts, result.settings.templates
    more = f" (and {len(templates) - 1} other templates)" if len(templates) > 1 else ""
    description = (
        f"{result.model.short_name} scored how likely “{templates[0]}”{more} is, for {counts.regions - 1:,} "
        f"regions and {len(result.scored_words)} words: {counts.sentences:,} sentences, scored by {result.model.score}."
        + (f" Associations rest on {association.paraphrases} paraphrases of it." if association else "")
    )
    is_world = result.settings.tree is None
    return Report(
        description=description,
        title=f"Regions: how {result.model.short_name} describes the world",
        lead=ASSOCIATION_LEAD.format(noun=association.noun) if association else LEAD,
        blocks=list(_list_blocks(result)),
        summary="words" if association is not None and association.marked else "scores",
        notes=_list_notes(result),
        full_notes=list(_list_full_notes(result)),
        cards={
            "": CardText(
                "Are the parts of one region described more alike than places picked at random?", ["continents"]
            ),
            KNOWN: CardText("Does the model repeat what people call stereotypes?", ["known"]),
            "association": CardText(
                "Does what the model says of people depend on where they are from?", ["signal", "valence", "map"]
            ),
        },
        meaning=MEANING + (GEONAMES if is_world else ""),
    )


def _list_blocks(result: RegionsResult) -> Iterator[ReportBlock]:
    """What is said of whom, then HERB's distances, each with intervals first.

    A map of distances that may be an artefact of the names stands below the table that says so.
    """
    association, world = result.association, draw_map(result, describe_artefact(result))
    if association is not None:
        yield from draw_signal(result, association)
        yield from (*draw_valence(result, association), *draw_topics(result, association))
        yield from (*draw_words(result, association), *list_words(result, association))
        yield from [world] if world else []
        yield list_quantities(association)
    is_doubted = is_artefact(result)
    yield from draw_continents(result, is_artefact=is_doubted)
    yield from list_scores(result)
    if association is None and world and not is_doubted:
        yield world
    yield from list_name_correlations(result)
    if association is None and world and is_doubted:
        yield world
    yield from list_countries(result) if world else []
    if result.known is not None:
        yield from draw_known_countries(result)
        yield list_known(result.known)
    yield list_card(result)


def _list_notes(result: RegionsResult) -> list[str]:
    """What was left out or could not be compared; nothing where there is nothing to say."""
    counts, known = result.counts, result.known
    single = [region.name for region in result.regions if region.children == 1]
    without_pair = ", ".join(single[:NAMES_SHOWN]) + (", ..." if len(single) > NAMES_SHOWN else "")
    nameless = result.association.without_demonym if result.association else []
    nameless_known = ", ".join(known.without_demonym if known else [])
    cut = known.sentences_cut if known else 0
    people = "Without a usual word for their people, so without"
    notes = [
        (single, f"Without a pair of sub-regions, so without a score: {len(single)} ({without_pair})."),
        (counts.sentences_cut, f"Truncated to the model's maximum length: {counts.sentences_cut:,} sentence(s)."),
        (
            counts.names_with_unknown_tokens,
            f"With characters that the model does not know: {counts.names_with_unknown_tokens:,} name(s).",
        ),
        (nameless, f"{people} associations: {len(nameless):,} ({list_first(nameless or [''])})."),
        (nameless_known, f"{people} known stereotypes: {nameless_known}."),
        (cut, f"Longer than the model takes, and cut: {cut:,} sentences of known stereotypes."),
    ]
    return [*(sentence for count, sentence in notes if count), *result.omissions]


def _list_full_notes(result: RegionsResult) -> Iterator[str]:
    """What invented places and the templates say, also where it is no caution."""
    placebo = result.placebo
    if placebo is not None and placebo.ratio is not None:
        yield (
            f"Placebo: {len(placebo.names)} invented places lie {digits(placebo.invented.value)} apart, "
            f"{placebo.ratio.value:.2f} times ({format_interval(placebo.ratio, '.2f')}) the "
            f"{digits(placebo.real.value)} of the real ones at the level {placebo.level}: the effect of names alone."
        )
    for agreement in result.kendall_w:
        if agreement.w is not None:
            measure = "C_w" if agreement.by == "c_w" else "distance from their siblings"
            yield (
                f"Kendall's W of the templates over {agreement.regions:,} regions at the level {agreement.level} by "
                f"{measure}: {agreement.w:.2f} (p {say_p(agreement.p)})."
            )


def list_gate_numbers(result: RegionsResult) -> Iterator[GateNumber]:
    """regions.REGION.c_w.balanced and so on, of regions with sub-regions; an id of two levels is the higher one's.

    regions.MODEL.association.ratio, regions.MODEL.known.auc and so on are of the whole run.
    """
    model, association, known = model_names(result.model.name), result.association, result.known
    if association is not None:
        count = float(association.marked) if association.is_tested and association.paraphrases > 1 else None
        worst = tree_number(association.valence_worst, Range(1, inf))
        path = (model, ("association",))
        yield GateNumber((*path, ("ratio",)), tree_number(association.ratio, NOT_NEGATIVE))
        # A count has no interval.
        yield GateNumber((*path, ("marked",)), TreeNumber(count, count, count, NOT_NEGATIVE))
        yield GateNumber((*path, ("valence",), (WORST,)), worst)
    if known is not None:
        yield GateNumber((model, ("known",), ("auc",)), tree_number(known.auc, SHARE))
        if known.offensive:
            yield GateNumber((model, ("known",), ("offensive",)), tree_number(known.offensive.ratio, NOT_NEGATIVE))
    level_of_name = dict[str, str]()
    for region in result.regions:
        names = [] if region.is_leaf else list(dict.fromkeys((region.id, region.name)))
        names = [name for name in names if level_of_name.setdefault(name.casefold(), region.level) == region.level]
        for variant in ("c_w", "c_z") if names else ():
            for form in ("balanced", "paper"):
                number = tree_number(getattr(region, f"{variant}_{form}"), HERB_SCORE)
                yield GateNumber((tuple(names), (variant,), (form,)), number)


def say_headline(result: RegionsResult, answer: Finding, details: Sequence[Finding]) -> str:
    name, association = name_model(answer.model), result.association
    if answer.measure == "association":
        noun = association.noun if association else "place"
        what = f"what {name} says of people depends on the {noun} they are from"
        more = ""
        if association and association.marked:
            ending = "stands out by itself" if association.marked == 1 else "stand out by themselves"
            more = f" {association.marked:,} of {association.tests:,} pairs of {noun} and word {ending}."
        return {
            "clear": f"What {what.removeprefix('what ')}, not only on its name or fame.{more}",
            "suggestive": f"Perhaps {what}, but its name or its fame may be the reason.",
            "none": f"No sign that {what}, beyond the sound of its name.",
        }.get(answer.evidence, f"This run cannot tell whether {what}.")
    if answer.measure == KNOWN:
        return _say_known(name, answer)
    degree = "alike" if answer.direction == "lower" else "differently"
    what = f"{name} describes the parts of one region more {degree} than places picked at random"
    return {
        "clear": f"{what[:1].upper()}{what[1:]}.",
        "suggestive": f"Perhaps {what}, but names alone may be the reason.",
        "none": f"No sign that {name} describes the parts of one region unlike places picked at random.",
    }.get(answer.evidence, f"This run cannot tell whether {what}.")


def _say_known(name: str, answer: Finding) -> str:
    what = f"{name} finds known stereotypes likelier than other statements about a country"
    if answer.evidence == "none":
        return f"No sign that {what}."
    if answer.evidence == "not testable" or answer.size is None:
        return f"This run cannot tell whether {what}."
    share = f"{100 * answer.size.value:.0f} % of cases; 50 % is chance"
    pair = "Of a known stereotype and another statement about a country"
    fact = f"{pair}, {name} finds the stereotype likelier in {share}."
    return fact if answer.evidence == "clear" else f"Not certain: {fact[:1].lower()}{fact[1:]}"
