"""Cells of ratios: how many times as often, of which only those that are clear are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from geobias.report.colours import DARK_TEXT, LIGHT_TEXT, NEUTRAL_SCHEME, SCHEME_STEPS
from geobias.report.page.blocks import Row
from geobias.report.page.charts import (
    LEAST_MARKED,
    LEGEND,
    NARROW,
    ROW,
    WIDE,
    bare_spec,
    keep_order,
    list_tooltips,
    make_row_axis,
)

# Strong colours of the scheme: on a light and on a dark page they stand out alike.
LOWER, HIGHER = SCHEME_STEPS[NEUTRAL_SCHEME][1], SCHEME_STEPS[NEUTRAL_SCHEME][-2]


def ratio_heat(
    rows: Sequence[Row], *, across: str, down: str, columns: Sequence[str], order: Sequence[str]
) -> dict[str, Any]:
    """Cells coloured by the logarithm of `value`, with `text` in them; cells that are not `marked` are empty.

    Below 1 is purple and above 1 green: neither is better.
    """
    marked = [row for row in rows if row["marked"]]
    reach = max((abs(math.log(row["value"])) for row in marked), default=0) or 1
    cells = [row | {"shade": _shade(row, reach)} for row in rows]
    quiet: dict[str, Any] = {"domain": False, "ticks": False}
    cell = f"width / {len(columns)}"
    is_narrow = f"{cell} < {WIDE}"
    angle, align, limit = (
        {"expr": f"{is_narrow} ? {narrow} : {wide}"} for narrow, wide in ((-90, 0), ("'left'", "'center'"), (110, cell))
    )
    legend = alt.Legend(
        orient="bottom",
        title=None,
        gradientLength=220,
        values=[-1, 0, 1],
        labelExpr="datum.value < 0 ? 'less often' : datum.value > 0 ? 'more often' : 'average'",
        labelLimit=LEGEND,
    )
    empty: Any = {"expr": "empty"}
    scale = alt.Scale(domain=[-1, 0, 1], range=[LOWER, empty, HIGHER], interpolate="rgb")
    axis = alt.Axis(orient="top", labelAngle=angle, labelAlign=align, labelLimit=limit, **quiet)
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X(f"{across}:N", title=None, scale=keep_order(columns), axis=axis),
        y=alt.Y(f"{down}:N", title=None, scale=keep_order(order), axis=make_row_axis(**quiet)),
        tooltip=list_tooltips([down, across], ".3~r"),
    )
    light, dark = (f"contrast('{text}', scale('fill', datum.shade))" for text in (LIGHT_TEXT, DARK_TEXT))
    paint: Any = {"expr": f"{light} > {dark} ? '{LIGHT_TEXT}' : '{DARK_TEXT}'"}
    shown = {"expr": f"{cell} < {NARROW} ? 0 : 1"}
    layers = [
        base.mark_rect(cornerRadius=2, stroke=None).encode(fill=alt.Fill("shade:Q", scale=scale, legend=legend)),
        base.transform_filter("datum.marked")
        .mark_text(fontSize=11, opacity=shown, color=paint, fontWeight="bold")
        .encode(text="text:N"),
    ]
    return bare_spec(alt.layer(*layers).properties(width="container", height=ROW * len(order)))


def _shade(row: Row, reach: float) -> float:
    """From -1 to 1; a cell that is not marked is 0, whatever its value."""
    if not row["marked"]:
        return 0
    size = math.log(row["value"])
    return math.copysign(LEAST_MARKED + (1 - LEAST_MARKED) * abs(size) / reach, size)
