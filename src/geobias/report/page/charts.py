"""The charts of the page: dots with intervals, lines and cells."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from geobias.report.colours import DARK_TEXT, FADING, GREY, LIGHT_TEXT, LIGHT_TONES, NEUTRAL_SCHEME, SCHEME_STEPS, Tone
from geobias.report.page.blocks import Row

ROW, LINE = 24, 11  # pixels of a row, and of a line of its name where it has two
SERIES_ROW = 17  # pixels of each of several dots of a row
NARROW, WIDE = 34, 90  # pixels of a cell in which no number has room, and in which two words have
TICK = 90  # pixels of an axis for each of its labels
LEGEND = 260  # pixels of a line of a legend
LONGEST_LINE = 40  # characters of an axis title, which then fits a telephone
LONGEST_LABEL = 18  # characters of a row's name on a telephone; longer ones take two lines
PHONE = 420  # pixels of a chart's width, without the names of its rows
RATIO_STEPS, MOST_RATIO_TICKS = (1.02, 1.05, 1.1, 1.2, 2, 4, 10, 100, 10_000), 6
CLEAR, NOT_CLEAR = "clear", "not clear"
LEAST_MARKED, MOST_UNMARKED = 0.45, 0.22  # of the full colour of a cell
PAINTS = [*LIGHT_TONES, *(f"pale_{tone}" for tone in LIGHT_TONES)]  # names of the theme's colours


@dataclass(frozen=True)
class Valence:
    """What a value above and below the centre means, in a word or two, and which of them is better for the person."""

    sign: int
    """1 where a higher value is better for the person, -1 where it is worse, 0 where it is neither."""
    above: str
    below: str

    def tone(self, difference: float) -> Tone:
        """What a difference from the centre means for the person."""
        direction = self.sign * difference
        return "better" if direction > 0 else "worse" if direction < 0 else "neutral"

    def describe(self, difference: float, *, is_marked: bool) -> str:
        """A line of the legend."""
        words = self.above if difference > 0 else self.below
        evidence = CLEAR if is_marked else NOT_CLEAR
        return f"{words}: {evidence}" if self.sign and difference else evidence


NEUTRAL = Valence(0, "higher", "lower")


def dots(
    rows: Sequence[Row],
    *,
    label: str,
    title: str,
    order: Sequence[str],
    colour: str | None = None,
    shape: str | None = None,
    valence: Valence | None = None,
    floor: bool = False,
    centre: float = 0,
    is_ratio: bool = False,
) -> dict[str, Any]:
    """A line for each of `label`: a dot at `value` with its interval from `low` to `high`.

    Where `marked`, the dot is filled and in full colour, elsewhere hollow and pale. Colours mean better or worse by the
    `valence`; with `colour` instead, every line has a dot for each of its values; with `shape` too, told apart by their
    shapes. With `floor`, a grey band says what chance alone does, by the number `floor` of each row. A dashed line
    stands at `centre`; if that is not 0, the axis need not show 0. Ratios have a logarithmic axis around 1.
    """
    centre = 1 if is_ratio else centre
    rows = [row | _paint_row(row, valence or NEUTRAL, centre) for row in rows]
    chart = alt.Chart(alt.InlineData(values=rows))
    down = alt.Y(f"{label}:N", title=None, scale=keep_order(order), axis=make_row_axis())
    base = chart.encode(y=down)
    series = colour or shape
    if series:
        base = base.encode(yOffset=alt.YOffset(f"{series}:N", scale=keep_order([row[series] for row in rows])))
    if colour:
        legend = alt.Legend(orient="top", labelLimit=LEGEND, title=None, columns=1)
        kinds = keep_order([row[colour] for row in rows])
        stroke: Any = alt.Stroke(f"{colour}:N", legend=legend, scale=kinds)
        fill: Any = alt.condition(
            "datum.marked", alt.Fill(f"{colour}:N", legend=legend, scale=kinds), alt.value("transparent")
        )
        base = base.encode(opacity=alt.condition("datum.marked", alt.value(1), alt.value(1 - FADING)))
    else:
        columns = {"expr": f"width < {PHONE} ? 1 : 2"}
        legend = alt.Legend(orient="top", labelLimit=LEGEND, title=None, columns=columns)
        stroke, fill = _tone_encodings(rows, legend if valence else None)
    layers: list[Any] = []
    if floor and any(row["floor"] is not None for row in rows):
        band = chart.transform_calculate(below="-datum.floor").encode(y=down)
        layers.append(band.mark_bar(height=14, color=GREY, opacity=0.28).encode(x="below:Q", x2="floor:Q"))
    layers.append(alt.Chart(alt.InlineData(values=[{}])).mark_rule(strokeDash=[3, 3]).encode(x=alt.datum(centre)))
    heading = [*textwrap.wrap(title, LONGEST_LINE)]
    if valence:
        heading.insert(0, f"← {valence.below}  ·  {valence.above} →")
    axis = alt.Axis(format="~f", tickCount={"expr": f"ceil(width / {TICK})"})
    scale = alt.Scale(zero=False) if centre else alt.Undefined
    if is_ratio:
        reach = [row[field] for row in rows for field in ("low", "value", "high") if row[field] is not None]
        ticks = place_ratio_ticks(min(reach), max(reach))
        axis = alt.Axis(format=".3~r", values=ticks)
        scale = alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False)
    low, value = (alt.X(f"{field}:Q", title=heading, axis=axis, scale=scale) for field in ("low", "value"))
    if any(row.get("low") is not None for row in rows):
        layers.append(base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q", stroke=stroke))
    point = base.mark_point(size=75, strokeWidth=2, opacity=1).encode(x=value, stroke=stroke, fill=fill)
    if shape:
        kinds = keep_order([row[shape] for row in rows])
        soft: Any = {"expr": "soft"}
        legend = alt.Legend(
            orient="top", labelLimit=LEGEND, title=None, columns=1, symbolStrokeColor=soft, symbolFillColor=soft
        )
        point = point.encode(shape=alt.Shape(f"{shape}:N", scale=kinds, legend=legend))
    layers.append(point.encode(tooltip=list_tooltips([label, series], ".3~r")))
    lines = len({(row[label], row[series] if series else None) for row in rows})
    height = max(60, (SERIES_ROW if series else ROW) * lines)
    return bare_spec(alt.layer(*layers).properties(width="container", height=height))


def place_ratio_ticks(low: float, high: float) -> list[float]:
    """Powers of the smallest step of which six or fewer reach from `low` to `high`; they enclose both, and 1."""
    low, high = min(low, 1), max(high, 1)
    span = math.log(high / low)
    step = next((step for step in RATIO_STEPS if span <= MOST_RATIO_TICKS * math.log(step)), RATIO_STEPS[-1])
    first, last = math.floor(math.log(low, step)), math.ceil(math.log(high, step))
    return [step**power for power in range(first, last + 1)]


def _paint_row(row: Row, valence: Valence, centre: float) -> Row:
    """What a dot means, and its colour, which is one of the theme's."""
    difference = (row["value"] or 0) - centre
    tone = valence.tone(difference)
    return {
        "paint": tone if row["marked"] else f"pale_{tone}",
        "meaning": valence.describe(difference, is_marked=row["marked"]),
    }


def _tone_encodings(rows: Sequence[Row], legend: alt.Legend | None) -> tuple[Any, Any]:
    """Stroke and fill by what a value means for the person; the legend has a line for each colour."""
    paints = {row["meaning"]: row["paint"] for row in sorted(rows, key=lambda row: PAINTS.index(row["paint"]))}
    strokes = [{"expr": paint} for paint in paints.values()]
    fills = ["transparent" if paint.startswith("pale") else {"expr": paint} for paint in paints.values()]
    stroke, fill = (
        channel("meaning:N", scale=alt.Scale(domain=list(paints), range=colours), legend=legend)
        for channel, colours in ((alt.Stroke, strokes), (alt.Fill, fills))
    )
    return stroke, fill


def heat(
    rows: Sequence[Row], *, across: str, down: str, columns: Mapping[str, int], order: Sequence[str]
) -> dict[str, Any]:
    """Cells coloured by `value` around 0, with `text` in them.

    `columns` says of each whether more of it is better for the person (1), worse (-1) or neither (0). Cells that are
    `marked` have full colours, the others pale ones; a cell without a value has none.
    """
    reach = max((abs(row["value"]) for row in rows if row["value"] is not None), default=0) or 1
    rows = [row | {"shade": _shade(row, columns[row[across]], reach)} for row in rows]
    quiet: dict[str, Any] = {"domain": False, "ticks": False}
    cell = f"width / {len(columns)}"
    level = len(columns) < 6
    limit: Any = {"expr": cell} if level else 110
    axis = alt.Axis(orient="top", labelAngle=0 if level else -40, labelLimit=limit, **quiet)
    legend = alt.Legend(
        orient="bottom",
        title="for the person",
        gradientLength=220,
        values=[-1, 0, 1],
        labelExpr="datum.value < 0 ? 'worse' : datum.value > 0 ? 'better' : 'as the mean'",
        labelLimit=LEGEND,
    )
    # A class that is neither good nor bad has a size only: it has its own scale, `color` next to `fill`.
    fill = alt.Fill("shade:Q", scale=_theme_scale([-1, 0, 1], ["worse", "empty", "better"]), legend=legend)
    color = alt.Color("shade:Q", scale=_theme_scale([0, 1], ["empty", "neutral"]), legend=None)
    groups = {
        "fill": [row for row in rows if row["shade"] is not None and columns[row[across]]],
        "color": [row for row in rows if row["shade"] is not None and not columns[row[across]]],
        "": [row for row in rows if row["shade"] is None],
    }
    cells, words = [], []
    for channel, group in groups.items():
        if not group:
            continue
        base = alt.Chart(alt.InlineData(values=group)).encode(
            x=alt.X(f"{across}:N", title=None, scale=keep_order(list(columns)), axis=axis),
            y=alt.Y(f"{down}:N", title=None, scale=keep_order(order), axis=make_row_axis(**quiet)),
            tooltip=list_tooltips([down, across], "+.3~r"),  # of the numbers too: they lie on the cells
        )
        if channel:
            cells.append(base.mark_rect(cornerRadius=2).encode(**{channel: fill if channel == "fill" else color}))
            light, dark = (f"contrast('{text}', scale('{channel}', datum.shade))" for text in (LIGHT_TEXT, DARK_TEXT))
            paint: Any = {"expr": f"{light} > {dark} ? '{LIGHT_TEXT}' : '{DARK_TEXT}'"}
        else:
            paint = {"expr": "soft"}
        shown = {"expr": f"{cell} < {NARROW} ? 0 : 1"}
        weight = {"expr": "datum.marked ? 'bold' : 'normal'"}
        mark = base.mark_text(fontSize=11, opacity=shown, color=paint, fontWeight=weight, limit={"expr": cell})
        # Of "never predicted" a narrow cell has room for the first word.
        short = f"{cell} < {WIDE} && indexof(datum.text, 'never') === 0 ? 'never' : datum.text"
        words.append(mark.transform_calculate(words=short).encode(text="words:N"))
    return bare_spec(alt.layer(*cells, *words).properties(width="container", height=ROW * len(order)))


def _shade(row: Row, sign: int, reach: float) -> float | None:
    """From -1 (worse) to 1 (better), or from 0 to 1 where it is neither. What is not marked stays near 0."""
    if row["value"] is None:
        return None
    share = abs(row["value"]) / reach
    size = LEAST_MARKED + (1 - LEAST_MARKED) * share if row["marked"] else MOST_UNMARKED * share
    return size if not sign or row["value"] * sign > 0 else -size


def _theme_scale(domain: Sequence[float], colours: Sequence[str]) -> alt.Scale:
    """Colours of the page's theme, by their names."""
    return alt.Scale(domain=list(domain), range=[{"expr": colour} for colour in colours], interpolate="rgb")


def make_row_axis(**options: Any) -> alt.Axis:
    """The names of rows; on a telephone long ones take two lines."""
    start = f"slice(datum.label, 0, {LONGEST_LABEL})"
    split = f"lastindexof({start}, ' ')"
    lines = f"[slice(datum.label, 0, {split}), slice(datum.label, {split} + 1)]"
    is_long = f"width < {PHONE} && length(datum.label) > {LONGEST_LABEL} && {split} > 0"
    return alt.Axis(
        labelExpr=f"{is_long} ? {lines} : datum.label",
        labelLineHeight=LINE,
        labelOffset={"expr": f"{is_long} ? -{LINE / 2} : 0"},
        **options,
    )


def list_tooltips(names: Sequence[str | None], digits: str) -> list[alt.Tooltip]:
    return [
        *(alt.Tooltip(f"{name}:N") for name in names if name),
        alt.Tooltip("value:Q", format=digits),
        alt.Tooltip("low:Q", title="95 % from", format=digits),
        alt.Tooltip("high:Q", title="to", format=digits),
        alt.Tooltip("p_adjusted:Q", title="adjusted p", format=".2~g"),
    ]


def keep_order(values: Sequence[str]) -> alt.Scale:
    """Each once, as they stand. Vega-Lite's `sort` would write them into code, where not every text can stand."""
    return alt.Scale(domain=list(dict.fromkeys(values)))


def bare_spec(chart: Any) -> dict[str, Any]:
    """Without the library's own look: the page has one, light and dark."""
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)
    return spec


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
    cells = [row | {"shade": _shade_ratio(row, reach)} for row in rows]
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


def _shade_ratio(row: Row, reach: float) -> float:
    """From -1 to 1; a cell that is not marked is 0, whatever its value."""
    if not row["marked"]:
        return 0
    size = math.log(row["value"])
    return math.copysign(LEAST_MARKED + (1 - LEAST_MARKED) * abs(size) / reach, size)
