"""The charts of the page: dots with intervals, lines, and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from geobias.report.colours import DARK_TEXT, DIVERGING_SCHEME, GREY, LIGHT_TEXT

ROW = 22  # pixels of a line
NARROW = 34  # pixels of a cell in which no number has room
TICK = 90  # pixels of an axis for each of its labels

Row = dict[str, Any]


def dots(
    rows: Sequence[Row], *, label: str, title: str, order: Sequence[str], colour: str | None = None, floor: bool = False
) -> dict[str, Any]:
    """A line for each of `label`: a dot at `value`, its interval from `low` to `high`, the dot filled where `marked`.

    With `colour`, every line has a dot for each of its values. With `floor`, a grey band says what chance alone does,
    by the number `floor` of each row.
    """
    chart = alt.Chart(alt.InlineData(values=list(rows)))
    down = alt.Y(f"{label}:N", title=None, scale=_in_order(order))
    base = chart.encode(y=down)
    paint: Any = alt.value({"expr": "blue"})  # the theme's
    filled: Any = alt.condition("datum.marked", alt.value({"expr": "blue"}), alt.value("transparent"))
    if colour:
        kinds = _in_order([row[colour] for row in rows])
        legend = alt.Legend(orient="top", labelLimit=260, title=None, columns=1)
        paint = alt.Color(f"{colour}:N", legend=legend, scale=kinds)
        fill = alt.Fill(f"{colour}:N", legend=legend, scale=kinds)
        filled = alt.condition("datum.marked", fill, alt.value("transparent"))
        base = base.encode(yOffset=alt.YOffset(f"{colour}:N", scale=kinds))
    axis = alt.Axis(format="~f", tickCount={"expr": f"ceil(width / {TICK})"})
    layers: list[Any] = []
    if floor:
        band = chart.transform_calculate(below="-datum.floor").encode(y=down)
        layers.append(band.mark_bar(height=14, color=GREY, opacity=0.28).encode(x="below:Q", x2="floor:Q"))
    layers.append(alt.Chart(alt.InlineData(values=[{}])).mark_rule(strokeDash=[3, 3]).encode(x=alt.datum(0)))
    if any(row.get("low") is not None for row in rows):
        layers.append(
            base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title, axis=axis), x2="high:Q", color=paint)
        )
    layers.append(
        base.mark_point(size=75, opacity=1, strokeWidth=2).encode(
            x=alt.X("value:Q", title=title, axis=axis),
            color=paint,
            fill=filled,
            tooltip=_tooltip([label, colour], ".3~r"),
        )
    )
    lines = len({(row[label], row[colour] if colour else None) for row in rows})
    return bare_spec(alt.layer(*layers).properties(width="container", height=max(60, ROW * lines)))


def lines(rows: Sequence[Row], *, across: str, label: str, title: str, band: str) -> dict[str, Any]:
    """`value` of each of `label` against the whole numbers of `across`; the one named `band` with its interval."""
    legend = alt.Legend(
        orient="top", title=None, columns=4, labelLimit=150, symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1
    )
    x = alt.X(
        f"{across}:Q",
        scale=alt.Scale(domain=[0, max(row[across] for row in rows)], nice=False),
        axis=alt.Axis(format="d", tickMinStep=1, grid=False, tickCount={"expr": f"ceil(width / {TICK / 2})"}),
    )
    near = alt.Scale(zero=False)
    colour = alt.Color(f"{label}:N", scale=_in_order([row[label] for row in rows]), legend=legend)
    tooltip = [alt.Tooltip(f"{across}:Q"), *_tooltip([label], ".3~r")[:-1]]
    banded = [row for row in rows if row[label] == band]

    def chart(shown_rows: Sequence[Row]) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=list(shown_rows))).encode(x=x, color=colour)

    layers = []
    if known := [row for row in banded if row["low"] is not None]:
        shade = chart(known).mark_area(opacity=0.16)
        layers.append(shade.encode(y=alt.Y("low:Q", title=title, scale=near), y2="high:Q"))
    for series, width in (([row for row in rows if row[label] != band], 1.5), (banded, 3.5)):
        line = chart(series).mark_line(strokeWidth=width, point={"size": 30})
        layers.append(line.encode(y=alt.Y("value:Q", title=title, scale=near), tooltip=tooltip))
    return bare_spec(alt.layer(*layers).properties(width="container", height=320))


def heat(
    rows: Sequence[Row], *, across: str, down: str, title: str, columns: Sequence[str], order: Sequence[str]
) -> dict[str, Any]:
    """Cells coloured by `value` around 0, with `text` in them; the colours end at the largest value."""
    reach = max((abs(row["value"]) for row in rows if row["value"] is not None), default=0) or 1
    quiet: dict[str, Any] = {"domain": False, "ticks": False}
    cell = f"width / {len(columns)}"
    level = len(columns) < 6
    limit: Any = {"expr": cell} if level else 110
    axis = alt.Axis(orient="top", labelAngle=0 if level else -40, labelLimit=limit, **quiet)
    base = alt.Chart(alt.InlineData(values=list(rows))).encode(
        x=alt.X(f"{across}:N", title=None, scale=_in_order(columns), axis=axis),
        y=alt.Y(f"{down}:N", title=None, scale=_in_order(order), axis=alt.Axis(**quiet)),
        tooltip=_tooltip([down, across], "+.3~r"),  # of the numbers too: they lie on the cells
    )
    scale = alt.Scale(scheme=DIVERGING_SCHEME, domain=[-reach, reach], domainMid=0)
    legend = alt.Legend(orient="bottom", gradientLength=220, titleLimit=400, format=".2~r")
    cells = base.mark_rect(cornerRadius=2).encode(
        color=alt.condition(
            "datum.value === null", alt.value(GREY), alt.Color("value:Q", title=title, scale=scale, legend=legend)
        ),
    )
    light, dark = (f"contrast('{text}', scale('color', datum.value))" for text in (LIGHT_TEXT, DARK_TEXT))
    on_dark = f"datum.value !== null && {light} > {dark}"
    words = base.mark_text(fontSize=11, opacity={"expr": f"{cell} < {NARROW} ? 0 : 1"}).encode(
        text="text:N", color=alt.condition(on_dark, alt.value(LIGHT_TEXT), alt.value(DARK_TEXT))
    )
    return bare_spec(alt.layer(cells, words).properties(width="container", height=(ROW + 2) * len(order)))


def _tooltip(names: Sequence[str | None], digits: str) -> list[alt.Tooltip]:
    return [
        *(alt.Tooltip(f"{name}:N") for name in names if name),
        alt.Tooltip("value:Q", format=digits),
        alt.Tooltip("low:Q", title="95 % from", format=digits),
        alt.Tooltip("high:Q", title="to", format=digits),
        alt.Tooltip("p_adjusted:Q", title="adjusted p", format=".2~g"),
    ]


def _in_order(values: Sequence[str]) -> alt.Scale:
    """Each once, as they stand. Vega-Lite's `sort` would write them into code, where not every text can stand."""
    return alt.Scale(domain=list(dict.fromkeys(values)))


def bare_spec(chart: Any) -> dict[str, Any]:
    """Without the library's own look: the page has one, light and dark."""
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)
    return spec
