"""The interval chart of the continents, and how a region compares with random sets, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geobias.audits.regions.notes import is_marked_region
from geobias.audits.regions.records import RegionScores
from geobias.report.colours import ORANGE
from geobias.report.page.blocks import Chart, Choice, Row
from geobias.report.page.charts import dots
from geobias.report.tables import listed

PAPER = "paper's form"
READING = {
    "balanced": "Dot: balanced C_w, the mean distance between the model's descriptions of a region's sub-regions. "
    "Line: 95 % interval over words. Orange tick: the mean of random sets of the same size. Filled: differs from "
    "random sets (adjusted p below 0.05).",
    PAPER: "The paper's form divides by the number of pairs a second time: it falls with the square of the number of "
    "sub-regions and mostly shows that number. Do not compare regions by it.",
}
NAMED_IN_ALT = 7  # regions in the description of a chart
PLURALS = {"continent": "continents", "country": "countries", "city": "cities"}


def continent_chart(name: str, regions: Sequence[RegionScores], parts_level: str, caution: str = "") -> Choice:
    """Balanced C_w of the regions below the whole; the paper's form one click away, with the reason.

    The whole itself, the first region, is left out where there are others: it has no random sets of the same size.
    """
    shown = regions[1:] or regions
    parts = plural(parts_level)
    options = {}
    for label, form in (("balanced", "balanced"), (PAPER, "paper")):
        rows = [form_row(region, form) for region in shown]
        ranked = sorted(rows, key=lambda row: -row["value"])
        summary = ", ".join(f"{row['region']} {row['value']:.3g}" for row in ranked[:NAMED_IN_ALT])
        spec = dots(rows, label="region", title=f"C_w, {label}", order=[row["region"] for row in ranked])
        options[label] = Chart(
            f"{name}-continents-{form}",
            _state_result(shown, parts) if form == "balanced" else f"C_w {PAPER}: not comparable between regions",
            f"{READING[label]} {caution}".strip(),
            f"Dots with intervals, from high to low: {summary}.",
            _with_random_sets(spec, rows) if form == "balanced" else spec,
            rows,
        )
    return Choice(f"{name}-form", "Form", options)


def plural(level: str) -> str:
    return PLURALS.get(level, "regions")


def form_row(region: RegionScores, form: str) -> Row:
    estimate, null = region.inference and getattr(region.inference.c_w, form), region.null
    return {
        "region": region.name,
        "sub_regions": region.children,
        "value": getattr(region.c_w, form),
        "low": estimate and estimate.low,
        "high": estimate and estimate.high,
        "p_adjusted": null and null.p_adjusted,
        "marked": form == "balanced" and is_marked_region(region),
        "random_sets": null and null.mean if form == "balanced" else None,
        "ratio_to_random": null and null.ratio,
        "rank": region.rank and region.rank.value,
        "rank_low": region.rank and region.rank.low,
        "rank_high": region.rank and region.rank.high,
    }


def _state_result(regions: Sequence[RegionScores], parts: str) -> str:
    """The title: which regions differ from random sets."""
    higher = [each.name for each in regions if is_marked_region(each) and each.null and each.null.sparser]
    lower = [each.name for each in regions if is_marked_region(each) and each.null and not each.null.sparser]
    tested = [each for each in regions if each.null and each.null.p_adjusted is not None]
    if not tested:
        return f"How differently the model describes the {parts} of each region (not tested)"
    if not higher and not lower:
        return f"In none of {len(tested)} regions do the {parts} differ more or less than random sets of {parts}"
    claims = []
    if lower:
        claims.append(f"more alike than random sets in {listed(lower)}")
    if higher:
        claims.append(f"less alike than random sets in {listed(higher)}")
    return f"The model describes {parts} {', and '.join(claims)}"


def _with_random_sets(spec: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """A tick at the mean of random sets on each line of an interval chart."""
    known = [row for row in rows if row["random_sets"] is not None]
    if not known:
        return spec
    line = next(layer["encoding"]["y"] for layer in spec["layer"] if "y" in layer.get("encoding", {}))
    reference = {
        "data": {"values": known},
        "mark": {"type": "tick", "color": ORANGE, "thickness": 3, "height": 18, "tooltip": None},
        "encoding": {"y": line, "x": {"field": "random_sets", "type": "quantitative"}},
    }
    return {**spec, "layer": [*spec["layer"], reference]}
