"""Figures: one Altair specification becomes an SVG, a PNG and a page that works offline."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from geobias.files import save_file
from geobias.report.colours import BORDER, CONTINENT_COLOURS, HATCH, INK, LAND, SOFT_INK, map_scheme, quiet_labels
from geobias.world.countries import Country, CountryShape, load_countries, load_shapes, load_topology

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
MAP_WIDTH, MAP_HEIGHT, SIDE_WIDTH = 800, 350, 250
LESS_THAN = "\ue0ff\ue0fe"  # stands for "<" where the library copies texts into a script
SMALL = 0.7  # square degrees: below, a shape is hardly a dot at this size, and a circle stands for it
CIRCLE = 26  # square pixels
FENCE = 1.5  # interquartile ranges beyond the quartiles: Tukey's bound of what is no outlier
HATCH_SPACING = 2.0  # degrees between lines, measured along a parallel
LONGEST_STEP = 3.0  # degrees between the points of a line: between two points a map draws the great circle


def save_chart(chart: Any, stem: Path) -> list[Path]:
    """Write `stem`.svg, .png and .html, a page without a network; all are made before the first is written."""
    import vl_convert

    spec = chart.to_dict()
    spec["usermeta"] = {
        "embedOptions": {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}
    }
    # A "<" in a name or a text would end the page's script: it is spelt out.
    escaped = json.loads(json.dumps(spec).replace("<", LESS_THAN))
    page = vl_convert.vegalite_to_html(escaped, bundle=True).replace(LESS_THAN, "\\u003c")
    return save_images(spec, stem, html=page.encode())


def save_images(spec: dict[str, Any], stem: Path, **more: bytes) -> list[Path]:
    """Write a Vega-Lite chart as `stem`.svg and .png (twice the size, for print), and `more` by file type."""
    import vl_convert

    svg, png = vl_convert.vegalite_to_svg(spec).encode(), vl_convert.vegalite_to_png(spec, scale=2)
    contents = {
        stem.with_name(f"{stem.name}.{kind}"): content for kind, content in [("svg", svg), ("png", png), *more.items()]
    }
    for path, content in contents.items():
        save_file(path, content)
    return list(contents)


def world_map(
    values: Mapping[str, float],
    names: Mapping[str, str],
    *,
    title: str,
    subtitle: str,
    legend: str,
    centre: float | None = None,
    tone: int = 0,
    own_values: Mapping[str, float] | None = None,
) -> Any:
    """A world map of one number for each country (by ISO code), and next to it their distribution by continent.

    Colours run from dark to light; with `centre` they diverge from it, by the `tone` of higher values (`map_scheme`).
    `own_values` holds what was measured for continents themselves, by code, marked among their countries. Countries
    without a number are hatched.
    """
    own_values = own_values or {}
    low, high = colour_range(list(values.values()), centre)
    bar = alt.Legend(orient="top", gradientLength=260, gradientThickness=10, titleLimit=700, format=".3~g", offset=4)
    scale = alt.Scale(scheme=map_scheme(centre, tone), reverse=tone > 0, domain=[low, high], clamp=True)
    colour = alt.Color("value:Q", title=legend, scale=scale, legend=bar)
    tooltips = [alt.Tooltip("name:N"), alt.Tooltip("value:Q", title=legend, format=".4~g")]
    axis = alt.Axis(title=legend, tickCount=4, format=".3~g", titleLimit=SIDE_WIDTH + 80)
    ends = [low, high, *own_values.values()]  # a continent's mark is never moved
    across = alt.X("value:Q", axis=axis, scale=alt.Scale(domain=[min(ends), max(ends)], clamp=True, nice=False))
    spread = _by_continent(values, names, colour, across, tooltips, own_values)
    note = (
        f"Hatched, or an empty circle: no data ({len(without_data(values))}). "
        "Circles: countries too small for the map, or without a shape."
    )
    if missing := unmapped(values):
        note += f" Not on the map: {len(missing)}."
    if beyond := sum(not low <= value <= high for value in values.values()):
        note += f" Outliers, drawn at the end of the scale: {beyond}."
    return framed(alt.hconcat(_map(values, names, colour, tooltips), spread, spacing=28), title, [subtitle, note])


def continent_map(names: Mapping[str, str], colour: alt.Color) -> Any:
    """The countries in the colours of their continents."""
    continents = {code: load_countries()[code].continent_name for code in names}
    return _map(continents, names, colour, [alt.Tooltip("name:N"), alt.Tooltip("value:N", title="continent")])


def continent_colour(**options: Any) -> alt.Color:
    scale = alt.Scale(domain=list(CONTINENT_COLOURS), range=list(CONTINENT_COLOURS.values()))
    return alt.Color("value:N", title=None, scale=scale, **options)


def without_data(values: Mapping[str, Any]) -> list[str]:
    """The names of what the map hatches, or leaves as an empty circle: countries without a number, and other shapes."""
    return [
        *(country.name for code, country in sorted(load_countries().items()) if code not in values and country.point),
        *(shape.name for shape in load_shapes() if shape.code is None),
    ]


def unmapped(values: Mapping[str, Any]) -> list[Country]:
    """The countries with a number that have neither a shape nor a city, so that no map can show them."""
    return [country for code, country in load_countries().items() if code in values and country.point is None]


def colour_range(values: Sequence[float], centre: float | None) -> tuple[float, float]:
    """Where the colours and the axis end: where outliers begin, so that one of them does not make all others alike.

    With a centre the range is as wide on both sides of it.
    """
    first, third = np.percentile(values, [25, 75])
    reach = FENCE * (third - first)
    usual = [value for value in values if first - reach <= value <= third + reach]
    low, high = min(usual), max(usual)
    if low == high:  # half of them or more are the same
        low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    if centre is None:
        return low, high
    wider = max(abs(low - centre), abs(high - centre))
    return centre - wider, centre + wider


def _map(
    values: Mapping[str, Any], names: Mapping[str, str], colour: alt.Color, tooltips: Sequence[alt.Tooltip]
) -> Any:
    """Shapes with a value in its colour, the others hatched, and circles for what is too small to be seen."""

    def describe(place: CountryShape | Country) -> dict[str, Any]:
        return {"name": names.get(place.code or "", place.name), "value": values.get(place.code or "")}

    features = topology(lambda shape: {"properties": describe(shape)})
    circles = [
        {**describe(country), "x": country.point[0], "y": country.point[1]}
        for country in load_countries().values()
        if country.area < SMALL and country.point is not None
    ]
    empty = [shape for shape in load_shapes() if shape.code not in values]
    lines = [piece.round(2).tolist() for shape in empty for piece in hatch(shape.rings)]
    hatching = {"type": "Feature", "properties": {}, "geometry": {"type": "MultiLineString", "coordinates": lines}}
    border: dict[str, Any] = {"stroke": BORDER, "strokeWidth": 0.4}
    shape = alt.Chart().transform_calculate(name="datum.properties.name", value="datum.properties.value")
    circle = alt.Chart(alt.InlineData(values=circles)).encode(longitude="x:Q", latitude="y:Q")
    known, unknown = "datum.value !== null", "datum.value === null"
    layers = [
        shape.transform_filter(unknown).mark_geoshape(fill=LAND, **border).encode(tooltip="name:N"),
        alt.Chart(_inline([hatching], type="json")).mark_geoshape(
            filled=False, stroke=HATCH, strokeWidth=0.6, tooltip=False
        ),
        shape.transform_filter(known).mark_geoshape(**border).encode(color=colour, tooltip=tooltips),
        circle.transform_filter(unknown)
        .mark_circle(size=CIRCLE, fill=LAND, stroke=HATCH, strokeWidth=0.8, opacity=1)
        .encode(tooltip="name:N"),
        circle.transform_filter(known)
        .mark_circle(size=CIRCLE, stroke=INK, strokeWidth=0.4, opacity=1)
        .encode(color=colour, tooltip=tooltips),
    ]
    layered = alt.layer(*layers, data=_inline(features, feature="countries", type="topojson")).project("equalEarth")
    return layered.properties(width=MAP_WIDTH, height=MAP_HEIGHT)


def topology(describe: Callable[[CountryShape], dict[str, Any]]) -> dict[str, Any]:
    """The shapes as TopoJSON, each with its description."""
    geometries = [shape.geometry | describe(shape) for shape in load_shapes()]
    objects = {"countries": {"type": "GeometryCollection", "geometries": geometries}}
    return {key: load_topology()[key] for key in ("type", "arcs", "transform")} | {"objects": objects}


def _inline(content: Any, **form: Any) -> alt.InlineData:
    """Data as text, which Altair need not walk through."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return alt.InlineData(values=text, format=alt.DataFormat(**form))


def hatch(rings: Sequence[np.ndarray], spacing: float = HATCH_SPACING) -> Iterable[np.ndarray]:
    """The pieces of the lines x - y = 0, ±spacing, ±2 spacing, ... that lie inside closed outlines, as points (x, y).

    By the even-odd rule: the pieces inside run from a line's first crossing of an outline to the second, from the third
    to the fourth, and so on, holes included.
    """
    start = np.concatenate([ring[:-1] for ring in rings])
    end = np.concatenate([ring[1:] for ring in rings])
    across_start, across_end = start[:, 0] - start[:, 1], end[:, 0] - end[:, 1]
    lowest, highest = across_start.min(), across_start.max()  # each outline is closed: its ends are its starts
    for line in np.arange(np.ceil(lowest / spacing), np.floor(highest / spacing) + 1) * spacing:
        crossed = (across_start <= line) != (across_end <= line)
        share = (line - across_start[crossed]) / (across_end[crossed] - across_start[crossed])
        height = np.sort(start[crossed, 1] + share * (end[crossed, 1] - start[crossed, 1]))
        for low, high in zip(height[::2], height[1::2], strict=True):
            y = np.linspace(low, high, 2 + int((high - low) / LONGEST_STEP))
            yield np.column_stack([y + line, y])


def _by_continent(
    values: Mapping[str, float],
    names: Mapping[str, str],
    colour: alt.Color,
    across: alt.X,
    tooltips: Sequence[alt.Tooltip],
    own_values: Mapping[str, float],
) -> Any:
    """A tick for each country in the row of its continent, the row's median, and the value of the continent itself."""
    countries = load_countries()
    rows = [
        {"name": names.get(code, countries[code].name), "continent": countries[code].continent_name, "value": value}
        for code, value in values.items()
    ]
    continents = {country.continent: country.continent_name for country in countries.values()}
    marks = [{"name": continents[c], "continent": continents[c], "value": value} for c, value in own_values.items()]
    down = alt.Y("continent:N", title=None, axis=alt.Axis(domain=False, ticks=False, grid=False, labelPadding=10))
    ticks = alt.Chart(alt.InlineData(values=rows)).encode(x=across, y=down)
    layers: list[Any] = [
        ticks.mark_tick(thickness=1.6, height=20).encode(color=colour, tooltip=tooltips),
        ticks.mark_tick(thickness=2.4, height=32, color=INK).encode(x="median(value):Q"),
    ]
    heading = "Tick: a country. Long tick: median."
    if marks:
        point = alt.Chart(alt.InlineData(values=marks)).encode(x=across, y=down, tooltip=tooltips)
        layers.append(point.mark_point(shape="triangle-down", size=70, filled=True, color=INK, opacity=1, yOffset=-20))
        heading += " \u25bc: the continent itself."
    return alt.layer(*layers).properties(
        width=SIDE_WIDTH, height=alt.Step(52), title=alt.TitleParams("By continent", subtitle=heading, fontSize=12)
    )


def framed(chart: Any, title: str, lines: Sequence[str]) -> Any:
    """The look that all figures share: title on the left, quiet axes, one font."""
    heading = alt.TitleParams(title, subtitle=list(lines), anchor="start", fontSize=18, offset=14)
    quiet = quiet_labels(SOFT_INK, 11)
    return (
        chart.properties(title=heading, padding=16, background="white")
        .configure(font=FONT)
        .configure_title(anchor="start", color=INK, subtitleColor=SOFT_INK, subtitleFontSize=12, subtitlePadding=6)
        .configure_view(stroke=None)
        .configure_axis(gridColor="#e6e6e6", **quiet)
        .configure_legend(**quiet)
    )
