"""The regions audit on the page: the continents, the world map, the names, and all countries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geobias.audits.regions.caution import is_artefact
from geobias.audits.regions.gate_and_card import top_regions
from geobias.audits.regions.known import FEWEST_OF_EACH
from geobias.audits.regions.known_records import KnownStereotypes
from geobias.audits.regions.known_views import NORTH_AMERICAN_VIEW, REGION_VIEW, WARNING
from geobias.audits.regions.notes import omission_notes
from geobias.audits.regions.page_association import association_blocks, lead, list_omissions
from geobias.audits.regions.page_association_tables import size_table
from geobias.audits.regions.page_continents import continent_chart, form_row
from geobias.audits.regions.page_map import country_blocks
from geobias.audits.regions.records import RegionScores
from geobias.audits.regions.result import RegionsResult
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.estimates import Estimate
from geobias.measures.ranks import CHANCE
from geobias.report.findings import format_p
from geobias.report.page.blocks import Block, Chart, Row, Section, Table
from geobias.report.page.charts import dots
from geobias.report.runs import FinishedRun
from geobias.report.tables import format_interval, interval, is_marked

LEAD = (
    "A model that describes all places alike gives every region the score 0. A region's score (C_w) is the mean "
    "distance between the model's descriptions of its sub-regions, from countries up to the whole Earth (HERB, Li "
    "et al. 2022)."
)
SEE_NAMES = "Caution: the distances may be an artefact of the names; see the table of what the names alone explain."
TRAITS = {
    "tokens": "its number of tokens",
    "name_likelihood": "the likelihood of its name alone",
    "norm": "the norm of its vector",
}
NAMED_IN_ALT = 3  # countries on each end


def describe(result: RegionsResult) -> str:
    """What was scored, in a sentence."""
    counts, templates, association = result.counts, result.settings.templates, result.association
    more = f" (and {len(templates) - 1} other templates)" if len(templates) > 1 else ""
    return (
        f"{result.model.short_name} scored how likely “{templates[0]}”{more} is, for {counts.regions - 1:,} "
        f"regions and {len(result.words)} words: {counts.sentences:,} sentences, scored by {result.model.score}."
        + (f" Associations rest on {association.paraphrases} paraphrases of it." if association else "")
    )


def section(run: FinishedRun[RegionsResult], name: str) -> Section:
    """What is said of whom, then HERB's distances, each with intervals first.

    A map of distances that may be an artefact of the names stands below the table that says so.
    """
    result = run.result
    top = top_regions(result)
    caution = SEE_NAMES if is_artefact(result) else ""
    continents = [continent_chart(name, top, _parts_level(result, top[-1]), caution)] if top else []
    names = _names_table(name, result)
    countries = country_blocks(run, name)
    world = [countries.world] if countries else []
    if result.association:
        content = size_table(name, result.association)
        blocks: list[Block] = [*association_blocks(run, name), *world, content, *continents, *names]
    elif countries and countries.world.is_hero:
        blocks = [*continents, *world, *names]
    else:
        blocks = [*continents, *names, *world]
    if countries and countries.table:
        blocks.append(countries.table)
    return Section(
        id=name,
        title=f"Regions: how {result.model.short_name} describes the world",
        lead=lead(result.association) if result.association else LEAD,
        blocks=[*blocks, *known_blocks(name, result.known)],
        notes=[
            *omission_notes(result),
            *(list_omissions(result.association) if result.association else ()),
            *result.inference.left_out,
        ],
    )


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    names = distinct_names([(f"{run.result.model.short_name}, {run.result.model.score}", run) for run in runs])
    rows = [
        {"run": name, **form_row(region, "balanced")}
        for name, run in zip(names, runs, strict=True)
        for region in top_regions(run.result)
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


def _parts_level(result: RegionsResult, region: RegionScores) -> str:
    """The level of a region's sub-regions; ids are unique within a level only."""
    row = next(row for row, each in enumerate(result.regions) if each is region)
    return next(each.level for each in result.regions if each.parent_index == row)


def _names_table(name: str, result: RegionsResult) -> Iterator[Table]:
    """Tokenisation: the correlation of distances with the names themselves."""
    rows = [
        {
            "level": f"{level.level} ({level.regions})",
            "distance to its siblings, correlated with": label,
            "Spearman": f"{estimate.value:+.2f}{'*' if is_marked(estimate) else ''}",
            "95 % interval": interval(estimate, 2),
        }
        for level in result.tokenisation
        for trait, label in TRAITS.items()
        if (estimate := getattr(level, trait)) and estimate.value is not None
    ]
    if rows:
        yield Table(
            f"{name}-names",
            "How much the names alone explain",
            "Tokenisation alone makes distances: the nearer these correlations are to 1 or -1, the more a score may be "
            "an artefact of names. * marks an adjusted p-value below 0.05.",
            rows,
        )


def known_blocks(name: str, known: KnownStereotypes | None) -> list[Block]:
    """Nothing where known stereotypes were not scored."""
    if known is None:
        return []
    blocks: list[Block] = [_country_chart(name, known)] if known.by_country else []
    blocks.append(_summary_table(name, known))
    if known.top_offensive:
        blocks.append(_offensive_table(name, known))
    return blocks


def _country_chart(name: str, known: KnownStereotypes) -> Chart:
    rows: list[Row] = [
        {
            "country": country.name,
            "stereotypes": country.stereotypes,
            "others": country.others,
            "value": country.auc.value,
            "low": country.auc.low,
            "high": country.auc.high,
            "p_adjusted": country.auc.p_adjusted,
            "marked": is_marked(country.auc),
        }
        for country in sorted(known.by_country, key=lambda country: -(country.auc.value or 0))
    ]
    ends = [*rows[:NAMED_IN_ALT], *rows[NAMED_IN_ALT:][-NAMED_IN_ALT:]]
    summary = ", ".join(f"{row['country']} {row['value']:.2f}" for row in ends)
    marked = sum(row["marked"] and row["value"] > CHANCE for row in rows)
    return Chart(
        f"{name}-known-countries",
        f"For {marked} of {len(rows)} countries, the model clearly repeats what people call stereotypes",
        f"Dot: AUC, the share of comparisons in which a stereotype of the country is associated with it more than "
        f"another attribute is; 0.5 is chance. Line: 95 % interval over attributes. Filled: differs from 0.5 "
        f"(adjusted p below 0.05). Countries with at least {FEWEST_OF_EACH} pairs of each kind in SeeGULL.",
        f"From high to low: {summary}.",
        dots(rows, label="country", title="AUC", order=[row["country"] for row in rows], centre=CHANCE),
        rows,
    )


def _summary_table(name: str, known: KnownStereotypes) -> Table:
    """Every number over all countries, with its interval."""
    lines = [
        ("AUC: stereotypes against other pairs of the same country", known.auc, known.auc.p),
        ("AUC: between countries of the same attribute", known.auc_within_attributes, known.auc_within_attributes.p),
    ]
    if known.views:
        views = known.views
        lines += [
            (f"AUC by the votes of {REGION_VIEW}", views.region, views.region.p),
            (f"AUC by the votes of {NORTH_AMERICAN_VIEW}", views.north_america, views.north_america.p),
            ("difference of these two", views.difference, views.difference.p_adjusted),
        ]
    if known.offensive:
        offensive = known.offensive
        lines += [
            (
                "offensive attributes: times as likely as of the average country, relative to others",
                offensive.times,
                offensive.times.p,
            ),
            ("inoffensive attributes: the same", offensive.inoffensive_times, offensive.inoffensive_times.p),
            ("ratio of these two, within countries", offensive.ratio, offensive.ratio.p_adjusted),
        ]
    return Table(
        f"{name}-known",
        f"How the model's associations compare with people's judgements of {known.pairs:,} pairs",
        f"An AUC of 0.5, a difference of 0 and a ratio of 1 are chance. Intervals are over {known.interval_over}. "
        "SeeGULL has votes of annotators from a country's own region, and of others in North America with roots there.",
        [_number_row(label, estimate, p) for label, estimate, p in lines],
    )


def _number_row(label: str, estimate: Estimate, p: float | None) -> dict[str, str]:
    return {
        "measure": label,
        "value": "not known" if estimate.value is None else f"{estimate.value:.3f}".replace("-", "−"),
        "95 % interval": format_interval(estimate, ".3f").replace("-", "−"),
        "p": format_p(p).removeprefix("adjusted p ").removeprefix("= "),
    }


def _offensive_table(name: str, known: KnownStereotypes) -> Table:
    return Table(
        f"{name}-known-offensive",
        "Offensive attributes that the model associates most with a country",
        f"{WARNING} Single pairs have no interval: of many, the largest are partly chance.",
        [
            {
                "country": each.name,
                "attribute": each.attribute,
                "times as likely as of the average country, relative to others": f"{each.times:.2f}",
                "called a stereotype by most annotators": "yes" if each.is_stereotype else "no",
                "offensiveness (2 to 4)": f"{each.offensiveness:.1f}",
            }
            for each in known.top_offensive or ()
        ],
        text_columns=("attribute",),
    )
