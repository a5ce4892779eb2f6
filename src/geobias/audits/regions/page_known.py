"""Known stereotypes on the page: the AUC of each country, whose view the model follows, and offensive attributes."""

from __future__ import annotations

from geobias.audits.regions.known import FEWEST_OF_EACH
from geobias.audits.regions.known_records import KnownStereotypes
from geobias.audits.regions.known_views import NORTH_AMERICAN_VIEW, REGION_VIEW, WARNING
from geobias.measures.estimates import Estimate
from geobias.measures.separation import CHANCE
from geobias.report.findings import format_p
from geobias.report.page.blocks import Block, Chart, Row, Table
from geobias.report.page.charts import dots
from geobias.report.tables import format_interval, is_marked

NAMED_IN_ALT = 3  # countries on each end


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
            ("offensive attributes: times as likely as of the average country", offensive.times, offensive.times.p),
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
                "times as likely as of the average country": f"{each.times:.2f}",
                "called a stereotype by most annotators": "yes" if each.is_stereotype else "no",
                "offensiveness (2 to 4)": f"{each.offensiveness:.1f}",
            }
            for each in known.top_offensive or ()
        ],
        text_columns=("attribute",),
    )
