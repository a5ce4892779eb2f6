"""The tables of a regions audit: typical words, scores, what names explain, known stereotypes; rows of a model card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from geobias.audits.regions.known import NORTH_AMERICAN_VIEW, REGION_VIEW
from geobias.audits.regions.result import RegionsResult, list_clear, measure_departure, pluralise
from geobias.audits.regions.rows import (
    Association,
    KnownStereotypes,
    NameCorrelation,
    RegionScores,
    WordAssociation,
)
from geobias.report.declarations import CARD, FULL, PAGE, TABLES, TERMINAL, Column, Table
from geobias.report.findings import format_p
from geobias.report.results import HasInterval
from geobias.report.sentences import format_number
from geobias.report.tables import NOTHING, digits, format_interval, is_marked, marked
from geobias.world.countries import UN_STATES

TRAITS = {
    "tokens": "its number of tokens",
    "name_likelihood": "the likelihood of its name alone",
    "norm": "the norm of its vector",
}
LARGE = 0.5  # a correlation, as Cohen (1988) calls it
FULL_PLACEBO = 0.9  # distance between invented places, divided by that between real ones
STRONGEST = {"tokens": "more tokens a name has", "name_likelihood": "likelier a bare name is"}
SUMMARY_REGIONS, SUMMARY_WORDS, FULL_WORDS = 4, 3, 5
RELIABLE = 0.7  # Nunnally's (1978) minimum for a reliability in research


class Quantity(NamedTuple):
    """A row of a table of different numbers."""

    label: str
    number: HasInterval | float | None
    meaning: str = ""
    form: str = "{:.2f}"
    p: float | None = None


def list_words(result: RegionsResult, association: Association) -> Iterator[Table]:
    """The most typical words of the regions in which a word stands out most."""
    by_region: dict[str, list[WordAssociation]] = {}
    for row in result.associations:
        by_region.setdefault(row.id, []).append(row)
    clear = [by_region[row.id] for row in list_clear(result, result.associations)]
    states = [rows for rows in clear if rows[0].id in UN_STATES] if association.level == "country" else clear

    def say_words(rows: Sequence[WordAssociation], count: int) -> str:
        """Those beyond invented places first, then the largest."""
        ranked = sorted(rows, key=lambda row: (not is_marked(row.times), -measure_departure(row.times)))
        texts = [marked(f"{row.word} {format_number(row.times.value or 0)}×", row.times) for row in ranked[:count]]
        return ", ".join(text.rstrip() for text in texts)

    for shown, count, place in ((clear[:SUMMARY_REGIONS], SUMMARY_WORDS, TERMINAL), (states, FULL_WORDS, FULL)):
        if shown:
            yield Table(
                "words",
                f"Typical words, × the average {association.noun}, relative to other words; * beyond "
                f"{association.controls}",
                "",
                [(rows[0].name, say_words(rows, count)) for rows in shown],
                [
                    Column("region", lambda row: row[0], is_text=True),
                    Column("words", lambda row: row[1], is_text=True),
                ],
                on={place},
                most={FULL: len(shown)},
            )


def list_scores(result: RegionsResult) -> Iterator[Table]:
    """HERB's scores of the regions directly below the root, from high to low; few of them differ most from random."""
    top, *below = result.top_regions or [result.regions[0]]

    def say_rank(region: RegionScores) -> str:
        rank = region.rank
        return NOTHING if rank is None else f"{rank.value:.0f} ({rank.low:.0f}–{rank.high:.0f})"

    columns = [
        Column("region", "name", is_text=True),
        Column("rank", say_rank, on={FULL}, keep=2),
        Column("sub-regions", "children", ",", keep=2),
        Column("C_w", lambda region: digits(region.c_w_balanced.value)),
        Column("95 % interval", lambda region: format_interval(region.c_w_balanced, ".3g")),
        Column("× random", _say_ratio),
        Column("C_z", lambda region: digits(region.c_z_balanced.value), on={FULL}, keep=2),
        Column("flat", lambda region: digits(region.flat and region.flat.value), on={FULL}, keep=2),
        Column("C_w of\nassociations", lambda region: digits(region.association_score), on={FULL}, keep=2),
        Column("paper's\nC_w×1000", lambda region: digits(region.c_w_paper.value, 1000), on={FULL}, keep=3),
    ]
    if len(result.settings.templates) > 1:
        columns.append(Column("± over\ntemplates", lambda region: digits(region.c_w_balanced_spread), on={FULL}))
    most_different = sorted(below or [top], key=lambda region: -region.departure)[:SUMMARY_REGIONS]
    for regions, first, place in ((most_different, [], TERMINAL), (below or [top], [top] if below else [], FULL)):
        yield Table(
            "scores",
            "Balanced C_w of sub-regions; * differs from random",
            "",
            sorted(regions, key=lambda region: -(region.c_w_balanced.value or 0)),
            columns,
            first=first,
            on={place},
        )


def _say_ratio(region: RegionScores) -> str:
    return f"{NOTHING} " if region.ratio is None else f"{region.ratio:.2f}{'*' if region.stands_out else ' '}"


def list_name_correlations(result: RegionsResult) -> Iterator[Table]:
    rows = [row for row in result.tokenisation if row.correlation.value is not None]
    if rows:
        yield Table(
            "names",
            "How much the names alone explain",
            "Tokenisation alone makes distances: the nearer these correlations are to 1 or -1, the more a score may be "
            "an artefact of names. * marks an adjusted p-value below 0.05.",
            rows,
            [
                Column("level", lambda row: f"{row.level} ({row.regions})", is_text=True),
                Column("distance to its siblings, correlated with", lambda row: TRAITS[row.trait], is_text=True),
                Column("Spearman", lambda row: marked(f"{row.correlation.value:+.2f}", row.correlation)),
                Column("95 % interval", lambda row: format_interval(row.correlation, "+.2f")),
            ],
            on=TABLES,
        )


def is_artefact(result: RegionsResult) -> bool:
    """Whether the score may be largely an effect of the names of regions.

    So it is where a region's distance from its siblings has a large and clear correlation with a trait of its bare
    name (|Spearman| >= 0.5, adjusted p < 0.05; at the highest level with ten regions), or where invented places lie at
    least 0.9 times as far apart as real ones.
    """
    strongest = find_strongest(result)
    return (strongest is not None and strongest.size >= LARGE) or compare_placebo(result) >= FULL_PLACEBO


def describe_artefact(result: RegionsResult) -> str:
    """The note above the map where names alone may make it; empty elsewhere."""
    if not is_artefact(result):
        return ""
    strongest, parts = find_strongest(result), ["This map may be an artefact of names, not of places."]
    if strongest and strongest.size >= LARGE:
        parts.append(f"{describe_correlation(strongest)} (Spearman {strongest.correlation.value:+.2f}).")
    if compare_placebo(result) >= FULL_PLACEBO:
        parts.append(f"Invented places lie {compare_placebo(result):.2f} times as far apart as real ones.")
    return " ".join(parts)


def find_strongest(result: RegionsResult) -> NameCorrelation | None:
    """The property of the name that correlates most with the distance, among the clear ones at the highest level."""
    rows = [row for row in result.tokenisation if row.level == result.tokenisation[0].level and row.trait in STRONGEST]
    return max((row for row in rows if is_marked(row.correlation)), key=lambda row: row.size, default=None)


def compare_placebo(result: RegionsResult) -> float:
    """How far apart invented places lie, divided by real ones; minus infinity where it was not measured."""
    ratio = result.placebo.ratio if result.placebo else None
    return -inf if ratio is None or ratio.value is None else ratio.value


def describe_correlation(row: NameCorrelation) -> str:
    """ "The more tokens a name has, the farther its region lies from its siblings"."""
    side = "farther" if (row.correlation.value or 0.0) > 0 else "closer"
    return f"The {STRONGEST[row.trait]}, the {side} its region lies from its siblings"


def list_quantities(association: Association) -> Table:
    """How much of the likelihoods is content, and how far it can be relied on; with what each number means."""
    return Table(
        "content",
        f"How much of what the model says depends on the {association.noun}",
        "Where the differences between log-likelihoods come from, and how far the associations can be relied on.",
        [row for row in _measure_content(association) if getattr(row.number, "value", row.number) is not None],
        [
            Column("quantity", "label", is_text=True),
            Column("value (95 % interval)", _say_quantity),
            Column("what it means", "meaning", on={PAGE}, is_text=True),
        ],
        on=TABLES,
    )


def _say_quantity(row: Quantity) -> str:
    value = row.form.format(getattr(row.number, "value", row.number))
    has_bounds = getattr(row.number, "low", None) is not None
    return f"{value} ({format_interval(row.number, '.2f')})" if has_bounds else value  # type: ignore[arg-type]


def _measure_content(association: Association) -> list[Quantity]:
    """What was not measured has no number."""
    noun, regions, shares = association.noun, pluralise(association.level), association.variance
    signal, noise, smallest = association.signal, association.invented_times, association.detectable_times
    fame, proxies = signal.fame_share if signal else None, " and ".join(signal.proxies if signal else [])
    more = f"How much more words go with {regions} than with {{}}. 0 or less: not at all."
    return [
        Quantity("Variance: the word", 100 * shares.word, "Common words are likely of everybody.", "{:.1f} %"),
        Quantity(
            "Variance: the name",
            100 * shares.region,
            "Some names make every sentence more, or less, likely.",
            "{:.1f} %",
        ),
        Quantity(
            f"Variance: {noun} and word together",
            100 * shares.interaction,
            f"Some words are likelier of some {regions}: only this can be bias.",
            "{:.1f} %",
        ),
        Quantity(
            "More than a name", signal.beyond_names if signal else None, more.format("invented places"), "{:+.2f} nats"
        ),
        Quantity(
            "More than fame",
            signal.beyond_fame if signal else None,
            more.format("known places that are none, with fame held fixed"),
            "{:+.2f} nats",
        ),
        Quantity(
            "Explained by fame",
            None if fame is None else 100 * fame,
            f"The share of the associations of {regions} that goes with {proxies}.",
            "{:.0f} %",
        ),
        Quantity(
            "Ratio to invented places",
            association.ratio,
            f"Strength of associations of real {regions}, divided by that of names without meaning. 1: no more than "
            "these. Training alone moves it: do not compare models by it.",
        ),
        Quantity(
            "Noise of invented places",
            noise,
            "1 in 20 words is at least that much more, or less, likely of an invented place.",
            f"{format_number(noise or 0)} times",
        ),
        Quantity(
            "Smallest word that would be found",
            smallest,
            "A single association of this size stands out in 8 of 10 cases; a smaller one may be missed.",
            f"{format_number(smallest or 0)} times",
        ),
        Quantity(
            "Agreement of paraphrases",
            association.agreement,
            f"From 0 to 1: how far the mean over {association.paraphrases} paraphrases would be the same with others. "
            f"Below {RELIABLE}, associations depend on the wording.",
        ),
        Quantity(
            "Agreement of demonyms and names",
            association.subject_agreement,
            "Correlation of what is said of “Kenyans” with what is said of “people in Kenya”, over all pairs.",
            "{:+.2f}",
        ),
        Quantity(
            "Neighbours against permuted words",
            association.permuted,
            f"How far apart {regions} of one parent lie, divided by what randomly permuted words give. Below 1: "
            "neighbours share associations.",
        ),
    ]


def list_known(known: KnownStereotypes) -> Table:
    """Every number over all countries, with its interval."""
    return Table(
        "known",
        f"How the model's associations compare with people's judgements of {known.pairs:,} pairs",
        f"An AUC of 0.5, a difference of 0 and a ratio of 1 are chance. Intervals are over {known.interval_over}. "
        "SeeGULL has votes of annotators from a country's own region, and of others in North America with roots there.",
        list(_measure_known(known)),
        [
            Column("measure", "label", is_text=True),
            Column("value", lambda row: "not known" if row.number.value is None else _say_minus(row.number.value)),
            Column("95 % interval", lambda row: format_interval(row.number, ".3f").replace("-", "−")),
            Column("p", lambda row: format_p(row.p).removeprefix("adjusted p ").removeprefix("= ")),
        ],
        on=TABLES,
    )


def _say_minus(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _measure_known(known: KnownStereotypes) -> Iterator[Quantity]:
    within = known.auc_within_attributes
    yield Quantity("AUC: stereotypes against other pairs of the same country", known.auc, p=known.auc.p)
    yield Quantity("AUC: between countries of the same attribute", within, p=within.p)
    if views := known.views:
        yield Quantity(f"AUC by the votes of {REGION_VIEW}", views.region, p=views.region.p)
        yield Quantity(f"AUC by the votes of {NORTH_AMERICAN_VIEW}", views.north_america, p=views.north_america.p)
        yield Quantity("difference of these two", views.difference, p=views.difference.p_adjusted)
    if offensive := known.offensive:
        times = "offensive attributes: times as likely as of the average country, relative to others"
        yield Quantity(times, offensive.times, p=offensive.times.p)
        inoffensive = offensive.inoffensive_times
        yield Quantity("inoffensive attributes: the same", inoffensive, p=inoffensive.p)
        yield Quantity("ratio of these two, within countries", offensive.ratio, p=offensive.ratio.p_adjusted)


def list_card(result: RegionsResult) -> Table:
    """The rows of a model card."""
    association, rows = result.association, list[tuple[str, HasInterval]]()
    if association is not None and association.ratio is not None:
        members = pluralise(association.level)
        label = f"Association of words and {members} (1: as of invented names; not for comparing models)"
        rows.append((label, association.ratio))
    if association is not None and association.valence_worst is not None:
        label = f"Favourable words, {association.noun} farthest from the average (1: as of it)"
        rows.append((label, association.valence_worst))
    rows += [
        (f"Balanced C_w of {region.name} (0: all sub-regions described alike)", region.c_w_balanced)
        for region in result.top_regions
    ]
    return Table(
        "card",
        "",
        "",
        rows,
        [
            Column("Measure", lambda row: row[0], is_text=True),
            Column("Value", lambda row: f"{row[1].value:.3g}"),
            Column("95 % interval", lambda row: format_interval(row[1], ".3g")),
        ],
        on={CARD},
    )
