"""Figures: one Altair specification becomes an SVG, a PNG and a page of its own that needs no network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from geobias.files import write_whole, writing
from geobias.report.colours import BORDER, CONTINENT_COLOURS, HATCH, INK, LAND, SOFT_INK, map_scheme
from geobias.report.hatching import hatch
from geobias.world.shapes import Country, load_countries, load_shapes, load_topology

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
MAP_WIDTH, MAP_HEIGHT, SIDE_WIDTH = 800, 350, 250
LESS_THAN = "\ue0ff\ue0fe"  # stands for "<" where the library copies texts into a script
SMALL = 0.7  # square degrees: below, a shape is hardly a dot at this size, and a circle stands for it
CIRCLE = 26  # square pixels
FENCE = 1.5  # interquartile ranges beyond the quartiles: Tukey's bound of what is no outlier


def save_chart(chart: Any, stem: Path) -> list[Path]:
    """Write `stem`.svg, .png (twice the size, for print) and .html; all are made before the first is written."""
    import vl_convert

    spec = chart.to_dict()
    spec["usermeta"] = {
        "embedOptions": {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}
    }
    contents = {
        "svg": vl_convert.vegalite_to_svg(spec).encode(),
        "png": vl_convert.vegalite_to_png(spec, scale=2),
        "html": _page(spec).encode(),
    }
    paths = []
    for kind, content in contents.items():
        paths.append(stem.with_name(f"{stem.name}.{kind}"))
        with writing(paths[-1]):
            stem.parent.mkdir(parents=True, exist_ok=True)
            write_whole(paths[-1], content)
    return paths


def _page(spec: dict[str, Any]) -> str:
    """The chart as a page without a network. A "<" in a name or a text would end the page's script: it is spelt out."""
    import vl_convert

    escaped = json.loads(json.dumps(spec).replace("<", LESS_THAN))
    return str(vl_convert.vegalite_to_html(escaped, bundle=True)).replace(LESS_THAN, "\\u003c")


def world_map(
    values: Mapping[str, float],
    names: Mapping[str, str],
    *,
    title: str,
    subtitle: str | Sequence[str],
    legend: str,
    centre: float | None = None,
    own_values: Mapping[str, float] | None = None,
) -> Any:
    """A world map of one number for each country (by ISO code), and beside it how the numbers spread by continent.

    Colours run from dark to light; with `centre` from blue (below it) to orange (above). `own_values` holds what was
    measured for continents themselves, by code, marked among their countries. Countries without a number are hatched.
    """
    low, high = _range(list(values.values()), centre)
    scale = alt.Scale(scheme=map_scheme(centre), domain=[low, high], clamp=True)
    colour = alt.Color("value:Q", title=legend, scale=scale, legend=_bar())
    tooltips = [alt.Tooltip("name:N"), alt.Tooltip("value:Q", title=legend, format=".4~g")]
    axis = alt.Axis(title=legend, tickCount=4, format=".3~g", titleLimit=SIDE_WIDTH + 80)
    ends = [
        min([low, *(own_values or {}).values()]),
        max([high, *(own_values or {}).values()]),
    ]  # a continent's mark is never moved
    across = alt.X("value:Q", axis=axis, scale=alt.Scale(domain=ends, clamp=True, nice=False))
    layered = _map(values, names, colour, tooltips)
    spread = _by_continent(values, names, colour, across, tooltips, own_values or {})
    beyond = sum(not low <= value <= high for value in values.values())
    lines = [*([subtitle] if isinstance(subtitle, str) else subtitle), note(values)]
    if beyond:
        lines[-1] += f" Outliers, drawn at the end of the scale: {beyond}."
    return framed(alt.hconcat(layered, spread, spacing=28), title, lines)


def continent_map(names: Mapping[str, str], colour: alt.Color) -> Any:
    """The countries in the colours of their continents."""
    known = load_countries()
    return _map(
        {code: known[code].continent_name for code in names},
        names,
        colour,
        [alt.Tooltip("name:N"), alt.Tooltip("value:N", title="continent")],
    )


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


def note(values: Mapping[str, Any]) -> str:
    sentences = (
        f"Hatched, or an empty circle: no data ({len(without_data(values))}). "
        "Circles: countries too small for the map, or without a shape."
    )
    missing = unmapped(values)
    return f"{sentences} Not on the map: {len(missing)}." if missing else sentences


def _range(values: Sequence[float], centre: float | None) -> tuple[float, float]:
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


def _bar() -> alt.Legend:
    return alt.Legend(orient="top", gradientLength=260, gradientThickness=10, titleLimit=700, format=".3~g", offset=4)


def _map(
    values: Mapping[str, Any], names: Mapping[str, str], colour: alt.Color, tooltips: Sequence[alt.Tooltip]
) -> Any:
    """Shapes with a value in its colour, the others hatched, and circles for what is too small to be seen."""
    border: dict[str, Any] = {"stroke": BORDER, "strokeWidth": 0.4}
    shape = alt.Chart().transform_calculate(name="datum.properties.name", value="datum.properties.value")
    dot = alt.Chart(alt.InlineData(values=_dots(values, names))).encode(longitude="x:Q", latitude="y:Q")
    known, unknown = "datum.value !== null", "datum.value === null"
    layers = [
        shape.transform_filter(unknown).mark_geoshape(fill=LAND, **border).encode(tooltip="name:N"),
        alt.Chart(_hatching(values)).mark_geoshape(filled=False, stroke=HATCH, strokeWidth=0.6, tooltip=False),
        shape.transform_filter(known).mark_geoshape(**border).encode(color=colour, tooltip=tooltips),
        dot.transform_filter(unknown)
        .mark_circle(size=CIRCLE, fill=LAND, stroke=HATCH, strokeWidth=0.8, opacity=1)
        .encode(tooltip="name:N"),
        dot.transform_filter(known)
        .mark_circle(size=CIRCLE, stroke=INK, strokeWidth=0.4, opacity=1)
        .encode(color=colour, tooltip=tooltips),
    ]
    layered = alt.layer(*layers, data=_features(values, names)).project("equalEarth")
    return layered.properties(width=MAP_WIDTH, height=MAP_HEIGHT)


def _features(values: Mapping[str, Any], names: Mapping[str, str]) -> alt.InlineData:
    """The shapes as TopoJSON, each with its name and value; as text, which Altair need not walk through."""
    geometries = []
    for shape in load_shapes():
        code = shape.code or ""
        about = {"name": names.get(code, shape.name), "value": values.get(code)}
        geometries.append(shape.geometry | {"properties": about})
    topology = {key: load_topology()[key] for key in ("type", "arcs", "transform")}
    topology["objects"] = {"countries": {"type": "GeometryCollection", "geometries": geometries}}
    return alt.InlineData(values=_text(topology), format=alt.TopoDataFormat(type="topojson", feature="countries"))


def _hatching(values: Mapping[str, Any]) -> alt.InlineData:
    """The hatch lines of all shapes without a value, as one GeoJSON feature."""
    empty = [shape for shape in load_shapes() if shape.code not in values]
    lines = [piece.round(2).tolist() for shape in empty for piece in hatch(shape.rings)]
    feature = {"type": "Feature", "properties": {}, "geometry": {"type": "MultiLineString", "coordinates": lines}}
    return alt.InlineData(values=_text([feature]), format=alt.JsonDataFormat(type="json"))


def _text(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _dots(values: Mapping[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"name": names.get(code, country.name), "value": values.get(code), "x": country.point[0], "y": country.point[1]}
        for code, country in load_countries().items()
        if country.area < SMALL and country.point is not None
    ]


def _by_continent(
    values: Mapping[str, float],
    names: Mapping[str, str],
    colour: alt.Color,
    across: alt.X,
    tooltips: Sequence[alt.Tooltip],
    own_values: Mapping[str, float],
) -> Any:
    """A tick for each country in the row of its continent, the row's median, and the value of the continent itself."""
    known = load_countries()
    rows = [
        {"name": names.get(code, known[code].name), "continent": known[code].continent_name, "value": value}
        for code, value in values.items()
    ]
    continent_names = {country.continent: country.continent_name for country in known.values()}
    marks = [
        {"name": continent_names[code], "continent": continent_names[code], "value": value}
        for code, value in own_values.items()
    ]
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
    return (
        chart.properties(
            title=alt.TitleParams(title, subtitle=list(lines), anchor="start", fontSize=18, offset=14),
            padding=16,
            background="white",
        )
        .configure(font=FONT)
        .configure_title(anchor="start", color=INK, subtitleColor=SOFT_INK, subtitleFontSize=12, subtitlePadding=6)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=SOFT_INK, titleColor=SOFT_INK, titleFontWeight="normal", gridColor="#e6e6e6", labelFontSize=11
        )
        .configure_legend(labelColor=SOFT_INK, titleColor=SOFT_INK, titleFontWeight="normal", labelFontSize=11)
    )
