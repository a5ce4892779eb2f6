"""The tables of a regions audit: typical words, scores, what names explain, known stereotypes; rows of a model card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from geobias.audits.regions.association_answer import list_clear, measure_departure, name_controls
from geobias.audits.regions.charts import plural
from geobias.audits.regions.details import compare_with_random
from geobias.audits.regions.known import NORTH_AMERICAN_VIEW, REGION_VIEW
from geobias.audits.regions.result import RegionsResult, pluralise
from geobias.audits.regions.rows import Association, KnownStereotypes, RegionScores, WordAssociation
from geobias.report.declarations import CARD, FULL, PAGE, TABLES, TERMINAL, Column, Table
from geobias.report.findings import format_p
from geobias.report.results import HasInterval
from geobias.report.sentences import format_number
from geobias.report.tables import NOTHING, digits, format_interval, is_marked, marked
from geobias.world.countries import UN_STATES

WARNING = (
    "Content warning: these are offensive stereotypes. They are what a model associates with a country, never a "
    "statement about people."
)
TRAITS = {
    "tokens": "its number of tokens",
    "name_likelihood": "the likelihood of its name alone",
    "norm": "the norm of its vector",
}
DIFFERING_WORDS_SHOWN = 3
SUMMARY_REGIONS, SUMMARY_WORDS, FULL_WORDS = 4, 3, 5
RELIABLE = 0.7  # Nunnally's (1978) minimum for a reliability in research


class Quantity(NamedTuple):
    """A row of a table of different numbers."""

    label: str
    value: str
    estimate: HasInterval | None
    meaning: str = ""
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
                f"{name_controls(association)}",
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
    positions = {id(region): row for row, region in enumerate(result.regions)}

    def say_rank(region: RegionScores) -> str:
        rank = region.rank
        return NOTHING if rank is None else f"{rank.value:.0f} ({rank.low:.0f}–{rank.high:.0f})"

    def say_words(region: RegionScores) -> str:
        return ", ".join(result.differing_words(positions[id(region)], DIFFERING_WORDS_SHOWN))

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
    if result.by_template:
        columns.append(Column("words that\ndiffer most", say_words, on={FULL}, keep=3))
    most_different = sorted(below or [top], key=lambda region: -compare_with_random(region))[:SUMMARY_REGIONS]
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


def list_quantities(result: RegionsResult, association: Association) -> Table:
    """How much of the likelihoods is content, and how far it can be relied on; with what each number means."""
    return Table(
        "content",
        f"How much of what the model says depends on the {association.noun}",
        "Where the differences between log-likelihoods come from, and how far the associations can be relied on.",
        list(_measure_content(association)),
        [
            Column("quantity", "label", is_text=True),
            Column("value (95 % interval)", _say_quantity),
            Column("what it means", "meaning", on={PAGE}, is_text=True),
        ],
        on=TABLES,
    )


def _say_quantity(row: Quantity) -> str:
    has_bounds = row.estimate is not None and row.estimate.low is not None
    return f"{row.value} ({format_interval(row.estimate, '.2f')})" if row.estimate and has_bounds else row.value


def _measure_content(association: Association) -> Iterator[Quantity]:
    noun, regions, shares = association.noun, plural(association.level), association.variance
    for label, share, meaning in (
        ("Variance: the word", shares.word, "Common words are likely of everybody."),
        ("Variance: the name", shares.region, "Some names make every sentence more, or less, likely."),
        (
            f"Variance: {noun} and word together",
            shares.interaction,
            f"Some words are likelier of some {regions}: only this can be bias.",
        ),
    ):
        yield Quantity(label, f"{100 * share:.1f} %", None, meaning)
    signal = association.signal
    if signal is not None:
        known = "known places that are none, with fame held fixed"
        for label, estimate, others in (
            ("More than a name", signal.beyond_names, "invented places"),
            ("More than fame", signal.beyond_fame, known),
        ):
            if estimate is not None and estimate.value is not None:
                meaning = f"How much more words go with {regions} than with {others}. 0 or less: not at all."
                yield Quantity(label, f"{estimate.value:+.2f} nats", estimate, meaning)
        if signal.fame_share is not None:
            meaning = f"The share of the associations of {regions} that goes with {' and '.join(signal.proxies)}."
            yield Quantity("Explained by fame", f"{100 * signal.fame_share:.0f} %", None, meaning)
    if association.ratio is not None:
        yield Quantity(
            "Ratio to invented places",
            f"{association.ratio.value:.2f}",
            association.ratio,
            f"Strength of associations of real {regions}, divided by that of names without meaning. 1: no more than "
            "these. Training alone moves it: do not compare models by it.",
        )
    if association.invented_times is not None:
        yield Quantity(
            "Noise of invented places",
            f"{format_number(association.invented_times)} times",
            None,
            "1 in 20 words is at least that much more, or less, likely of an invented place.",
        )
    if association.detectable_times is not None:
        yield Quantity(
            "Smallest word that would be found",
            f"{format_number(association.detectable_times)} times",
            None,
            "A single association of this size stands out in 8 of 10 cases; a smaller one may be missed.",
        )
    if association.agreement is not None:
        yield Quantity(
            "Agreement of paraphrases",
            f"{association.agreement:.2f}",
            None,
            f"From 0 to 1: how far the mean over {association.paraphrases} paraphrases would be the same with others. "
            f"Below {RELIABLE}, associations depend on the wording.",
        )
    if association.subject_agreement is not None:
        yield Quantity(
            "Agreement of demonyms and names",
            f"{association.subject_agreement:+.2f}",
            None,
            "Correlation of what is said of “Kenyans” with what is said of “people in Kenya”, over all pairs.",
        )
    if association.permuted is not None:
        yield Quantity(
            "Neighbours against permuted words",
            f"{association.permuted:.2f}",
            None,
            f"How far apart {regions} of one parent lie, divided by what randomly permuted words give. Below 1: "
            "neighbours share associations.",
        )


def list_known(result: RegionsResult, known: KnownStereotypes) -> Iterator[Table]:
    """Every number over all countries, with its interval; the countries; and offensive attributes, if the user asks."""
    yield Table(
        "known",
        f"How the model's associations compare with people's judgements of {known.pairs:,} pairs",
        f"An AUC of 0.5, a difference of 0 and a ratio of 1 are chance. Intervals are over {known.interval_over}. "
        "SeeGULL has votes of annotators from a country's own region, and of others in North America with roots there.",
        list(_measure_known(known)),
        [
            Column("measure", "label", is_text=True),
            Column("value", "value"),
            Column("95 % interval", lambda row: format_interval(row.estimate, ".3f").replace("-", "−")),
            Column("p", lambda row: format_p(row.p).removeprefix("adjusted p ").removeprefix("= ")),
        ],
        on=TABLES,
    )
    if result.known_offensive:
        yield Table(
            "known-offensive",
            f"Offensive attributes that the model associates most with a country. {WARNING}",
            "Single pairs have no interval: of many, the largest are partly chance.",
            result.known_offensive,
            [
                Column("country", "name", is_text=True),
                Column("attribute", "attribute", is_text=True),
                Column("times as likely as\nof the average country,\nrelative to others", "times", ".2f"),
                Column(
                    "called a stereotype by most annotators",
                    lambda row: "yes" if row.is_stereotype else "no",
                    on={PAGE},
                ),
                Column("offensiveness (2 to 4)", "offensiveness", ".1f", on={PAGE}),
            ],
            on=TABLES,
            text_columns=("attribute",),
        )


def _measure_known(known: KnownStereotypes) -> Iterator[Quantity]:
    within = known.auc_within_attributes
    lines = [
        ("AUC: stereotypes against other pairs of the same country", known.auc, known.auc.p),
        ("AUC: between countries of the same attribute", within, within.p),
    ]
    if views := known.views:
        lines += [
            (f"AUC by the votes of {REGION_VIEW}", views.region, views.region.p),
            (f"AUC by the votes of {NORTH_AMERICAN_VIEW}", views.north_america, views.north_america.p),
            ("difference of these two", views.difference, views.difference.p_adjusted),
        ]
    if offensive := known.offensive:
        times = "offensive attributes: times as likely as of the average country, relative to others"
        lines += [
            (times, offensive.times, offensive.times.p),
            ("inoffensive attributes: the same", offensive.inoffensive_times, offensive.inoffensive_times.p),
            ("ratio of these two, within countries", offensive.ratio, offensive.ratio.p_adjusted),
        ]
    for label, estimate, p in lines:
        value = "not known" if estimate.value is None else f"{estimate.value:.3f}".replace("-", "−")
        yield Quantity(label, value, estimate, p=p)


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
