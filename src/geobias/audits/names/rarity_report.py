"""Country or name: what remains with length, spelling and frequency of names held fixed, in words and as a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from geobias.audits.names.records import CountryRarity, RarityAdjustment
from geobias.audits.names.result import ClassifierMeasures
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.charts import Valence, dots
from geobias.report.tables import is_marked, listed, signed

AS_MEASURED, HELD_FIXED = "as measured", "names alike"


def describe_covariates(rarity: RarityAdjustment) -> str:
    """What is held fixed, over how many texts, and what is not and why."""
    names = listed([covariate.name for covariate in rarity.covariates] or ["nothing"])
    left_out = "".join(f"; without {name}: {reason}" for name, reason in rarity.left_out.items())
    return f"{names}, {rarity.draws} draws of {rarity.texts} texts{left_out}"


def describe_rarity(entry: ClassifierMeasures) -> Iterator[str]:
    """One sentence on the marked country with the largest difference; an explanation only where it is marked too."""
    rarity, name = entry.rarity, entry.model.name
    marked = [] if rarity is None else [country for country in rarity.countries if is_marked(country.unadjusted)]
    if not marked:
        return
    country = max(marked, key=lambda each: abs(each.unadjusted.value or 0))
    before, after = signed(country.unadjusted.value, 1), signed(country.adjusted.value, 1)
    if is_marked(country.explained):
        yield (
            f"{name}: {country.country}'s Δ of {before} points is {after} between names of equal length, spelling and "
            "frequency."
        )
    else:
        yield (
            f"{name}: that length, spelling or frequency of names explains a part of {country.country}'s Δ of {before} "
            "points is not shown."
        )


def draw_rarity_chart(chart_id: str, entry: ClassifierMeasures, valence: Valence) -> Chart | None:
    """Both deltas of every country."""
    rarity = entry.rarity
    if rarity is None or not rarity.countries:
        return None
    ranked = sorted(rarity.countries, key=lambda country: -(country.unadjusted.value or 0))
    rows = [row for country in ranked for row in _chart_rows(country)]
    counts = {kind: sum(row["marked"] for row in rows if row["delta"] == kind) for kind in (AS_MEASURED, HELD_FIXED)}
    extremes = (ranked[0], ranked[-1])
    return Chart(
        chart_id,
        f"{entry.model.short_name}: {_title_rarity([country.unadjusted for country in ranked], counts)}",
        f"Circle: Δ against the mean of countries, in points (-100 to +100); square: what remains between names of "
        f"equal length, spelling and frequency ({describe_covariates(rarity)}); line: 95 % interval; clear: adjusted p "
        "< 0.05. How rare a name is in a model's training data may itself follow from where its texts come from.",
        f"Clear as measured (adjusted p < 0.05): {counts[AS_MEASURED]} of {len(ranked)} countries; with length, "
        f"spelling and frequency held fixed: {counts[HELD_FIXED]}. "
        + "; ".join(
            f"{country.country} {signed(country.unadjusted.value, 1)}, then {signed(country.adjusted.value, 1)} points"
            for country in extremes
        )
        + ".",
        dots(
            rows,
            label="country",
            title="Δ against the mean of countries, points",
            order=[country.country for country in ranked],
            shape="delta",
            valence=valence,
        ),
        rows,
    )


def _title_rarity(estimates: Sequence[Estimate], counts: Mapping[str, int]) -> str:
    """How many countries stand out before and after: counts, since not to be clear is no proof of no difference."""
    if all(estimate.p_adjusted is None for estimate in estimates):
        return "country, or length, spelling and frequency of names? Too little data to tell"
    if not any(counts.values()):
        return "no country stands out, whether or not length, spelling and frequency of names are held fixed"
    return (
        f"{counts[AS_MEASURED]} of {len(estimates)} countries stand out as measured, {counts[HELD_FIXED]} with length, "
        "spelling and frequency of names held fixed"
    )


def _chart_rows(country: CountryRarity) -> Iterator[Row]:
    for kind, estimate in ((AS_MEASURED, country.unadjusted), (HELD_FIXED, country.adjusted)):
        yield {"country": country.country, "delta": kind, **vars(estimate), "marked": is_marked(estimate)}
