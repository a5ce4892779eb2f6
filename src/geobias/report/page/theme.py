"""The charts' colours, light and dark, and the shapes that most of them have: dots with intervals, and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#8a8a86"  # Okabe and Ito's: they stay apart for colour-blind readers
SERIES = [BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", ORANGE, "#B5A900", "#7A7A7A"]
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Liberation Sans, Arial, sans-serif"
DARK_TEXT, LIGHT_TEXT = "#1c1c1a", "#ffffff"  # inside coloured cells, on any page
ROW = 22  # pixels of a line
FULL_COLOUR = 0.62  # of the largest value: beyond, a cell is so dark that its text is light

Row = dict[str, Any]


def _config(ink: str, soft: str, grid: str, empty: str) -> dict[str, Any]:
    quiet = {"labelColor": soft, "titleColor": soft, "titleFontWeight": "normal", "labelFontSize": 12}
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": quiet | {"gridColor": grid, "domainColor": grid, "tickColor": grid, "labelLimit": 190},
        "legend": quiet,
        "title": {"color": ink},
        "text": {"color": ink},
        "rule": {"color": soft},
        "range": {"category": SERIES},
        "geoshape": {"fill": empty, "stroke": grid},
    }


THEMES = {
    "light": _config("#1c1c1a", "#595955", "#e4e4e0", "#ebebe7"),
    "dark": _config("#f2f2ee", "#b4b4ae", "#3a3a38", "#2e2e2c"),
}


def dots(
    rows: Sequence[Row], *, label: str, title: str, order: Sequence[str], colour: str | None = None, floor: bool = False
) -> dict[str, Any]:
    """A line for each of `label`: a dot at `value`, its interval from `low` to `high`, the dot filled where `marked`.

    With `colour`, every line has a dot for each of its values. With `floor`, a grey band says what chance alone does,
    by the number `floor` of each row.
    """
    chart = alt.Chart(alt.InlineData(values=list(rows)))
    down = alt.Y(f"{label}:N", title=None, sort=list(order))
    base = chart.encode(y=down)
    paint: Any = alt.value(BLUE)
    filled: Any = alt.condition("datum.marked", alt.value(BLUE), alt.value("transparent"))
    if colour:
        legend = alt.Legend(orient="top", labelLimit=260, title=None, columns=1)
        paint = alt.Color(f"{colour}:N", legend=legend)
        filled = alt.condition("datum.marked", alt.Fill(f"{colour}:N", legend=None), alt.value("transparent"))
        base = base.encode(yOffset=f"{colour}:N")
    layers: list[Any] = []
    if floor:
        band = chart.transform_calculate(below="-datum.floor").encode(y=down)
        layers.append(band.mark_bar(height=14, color=GREY, opacity=0.28).encode(x="below:Q", x2="floor:Q"))
    layers.append(alt.Chart(alt.InlineData(values=[{}])).mark_rule(strokeDash=[3, 3]).encode(x=alt.datum(0)))
    if any(row["low"] is not None for row in rows):
        layers.append(base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q", color=paint))
    layers.append(
        base.mark_point(size=75, opacity=1, strokeWidth=2).encode(
            x=alt.X("value:Q", title=title), color=paint, fill=filled, tooltip=_tooltip([label, colour], ".3~g")
        )
    )
    lines = len({(row[label], row[colour] if colour else None) for row in rows})
    return bare_spec(alt.layer(*layers).properties(width="container", height=max(60, ROW * lines)))


def heat(
    rows: Sequence[Row], *, across: str, down: str, title: str, columns: Sequence[str], order: Sequence[str]
) -> dict[str, Any]:
    """Cells coloured by `value` around 0, with `text` in them; the colours end at the largest value."""
    reach = max((abs(row["value"]) for row in rows if row["value"] is not None), default=0) or 1
    quiet: dict[str, Any] = {"domain": False, "ticks": False}
    axis = alt.Axis(orient="top", labelAngle=0 if len(columns) < 6 else -40, **quiet)
    base = alt.Chart(alt.InlineData(values=list(rows))).encode(
        x=alt.X(f"{across}:N", title=None, sort=list(columns), axis=axis),
        y=alt.Y(f"{down}:N", title=None, sort=list(order), axis=alt.Axis(**quiet)),
    )
    scale = alt.Scale(scheme="blueorange", domain=[-reach, reach], domainMid=0)
    legend = alt.Legend(orient="bottom", gradientLength=220, titleLimit=400, format=".2~g")
    cells = base.mark_rect(cornerRadius=2).encode(
        color=alt.condition(
            "datum.value === null", alt.value(GREY), alt.Color("value:Q", title=title, scale=scale, legend=legend)
        ),
        tooltip=_tooltip([down, across], "+.3~g"),
    )
    dark = f"datum.value !== null && abs(datum.value) > {FULL_COLOUR * reach}"
    words = base.mark_text(fontSize=11).encode(
        text="text:N", color=alt.condition(dark, alt.value(LIGHT_TEXT), alt.value(DARK_TEXT))
    )
    return bare_spec(alt.layer(cells, words).properties(width="container", height=alt.Step(ROW + 2)))


def _tooltip(names: Sequence[str | None], digits: str) -> list[alt.Tooltip]:
    return [
        *(alt.Tooltip(f"{name}:N") for name in names if name),
        alt.Tooltip("value:Q", format=digits),
        alt.Tooltip("low:Q", title="95 % from", format=digits),
        alt.Tooltip("high:Q", title="to", format=digits),
        alt.Tooltip("p_adjusted:Q", title="adjusted p", format=".2~g"),
    ]


def bare_spec(chart: Any) -> dict[str, Any]:
    """Without the library's own look: the page has one, light and dark."""
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)
    return spec
