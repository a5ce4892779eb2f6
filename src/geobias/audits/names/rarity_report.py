"""Country or rarity, in words and as a chart: shared by the terminal, the page and the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from geobias.audits.names.records import CountryRarity, RarityAdjustment
from geobias.audits.names.result import ClassifierMeasures
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.charts import Valence, dots
from geobias.report.tables import is_marked, listed, signed

AS_MEASURED, RARITY_FIXED = "as measured", "rarity held fixed"


def describe_covariates(rarity: RarityAdjustment) -> str:
    """What rarity is measured by, and over how many texts."""
    names = listed([covariate.name for covariate in rarity.covariates])
    lm = f" by {rarity.lm}" if rarity.lm else ""
    return f"{names}{lm}, {rarity.draws} draws of {rarity.texts} texts"


def describe_rarity(entry: ClassifierMeasures) -> Iterator[str]:
    """One sentence on the marked country with the largest difference; an explanation only where it is marked too."""
    rarity, name = entry.rarity, entry.model.name
    if rarity is None:
        return
    if rarity.lm is None and entry.correlations is not None:
        yield (
            f"{name}: rarity is measured by characters alone: tokens and surprisal do not vary between the draws of a "
            "text and country (--perplexity-draws 2 or more)."
        )
    marked = [country for country in rarity.countries if is_marked(country.unadjusted)]
    if not marked:
        return
    country = max(marked, key=lambda each: abs(each.unadjusted.value or 0))
    before, after = signed(country.unadjusted.value, 1), signed(country.adjusted.value, 1)
    if is_marked(country.explained):
        yield f"{name}: {country.country}'s Δ of {before} points is {after} between names that are equally rare."
    else:
        yield f"{name}: that rarity explains a part of {country.country}'s Δ of {before} points is not shown."


def draw_rarity_chart(chart_id: str, entry: ClassifierMeasures, names: str, valence: Valence) -> Chart | None:
    """Both deltas of every country."""
    rarity = entry.rarity
    if rarity is None:
        return None
    ranked = sorted(rarity.countries, key=lambda country: -(country.unadjusted.value or 0))
    rows = [row for country in ranked for row in _chart_rows(country)]
    counts = {kind: sum(row["marked"] for row in rows if row["delta"] == kind) for kind in (AS_MEASURED, RARITY_FIXED)}
    extremes = (ranked[0], ranked[-1])
    return Chart(
        chart_id,
        f"{entry.model.short_name}: {_title_rarity([country.unadjusted for country in ranked], counts)}",
        f"Circle: Δ against the mean of countries, in points (-100 to +100); square: what remains if all {names} were "
        f"equally rare ({describe_covariates(rarity)}); line: 95 % interval; clear: adjusted p < 0.05. Rarity in a "
        "model's training data may itself follow from where its texts come from.",
        f"Clear as measured (adjusted p < 0.05): {counts[AS_MEASURED]} of {len(ranked)} countries; with rarity held "
        f"fixed: {counts[RARITY_FIXED]}. "
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
        return "country or rarity? Too little data to tell"
    if not any(counts.values()):
        return "no country stands out, whether or not rarity is held fixed"
    return (
        f"{counts[AS_MEASURED]} of {len(estimates)} countries stand out as measured, {counts[RARITY_FIXED]} with "
        "rarity held fixed"
    )


def _chart_rows(country: CountryRarity) -> Iterator[Row]:
    for kind, estimate in ((AS_MEASURED, country.unadjusted), (RARITY_FIXED, country.adjusted)):
        yield {"country": country.country, "delta": kind, **vars(estimate), "marked": is_marked(estimate)}
