"""The world map of the page: what its script draws, and a still picture for readers without JavaScript."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import altair as alt
import numpy as np
from markupsafe import Markup

from geobias.measures.estimates import Estimate
from geobias.report.colours import LAND, ORANGE, PALE, SCHEME_ENDS, SCHEME_STEPS, map_scheme
from geobias.report.figures import CIRCLE, SMALL, colour_range, topology
from geobias.report.page.blocks import MapMeasure, Row, WorldMap
from geobias.report.page.charts import bare_spec
from geobias.report.tables import is_marked
from geobias.world.countries import list_other_names, load_countries, load_shapes

STILL_WIDTH, STILL_HEIGHT = 600, 264
STILL_SMALLEST = 4.0  # square pixels: smaller islands are left out of the still picture
EQUAL_EARTH = (1.340264, -0.081106, 0.000893, 0.003796)  # Šavrič, Patterson and Jenny (2018)
MEASURE_FIELDS = ("title", "legend", "reading", "baseline", "centre", "is_ratio", "model")  # that the script reads


def map_data(block: WorldMap) -> Row:
    """The numbers and names of a map for the page's script."""
    return {
        "spec": map_spec(),
        "caution": block.caution,
        "measures": [
            {
                **{name: getattr(measure, name) for name in MEASURE_FIELDS},
                "scheme": map_scheme(measure.centre, measure.tone),
                "is_reversed": measure.tone > 0,
                "countries": {code: list_numbers(estimate) for code, estimate in measure.estimates.items()},
            }
            for measure in block.measures
        ],
        "countries": {
            code: {**vars(country), "other_names": list_other_names(code)} for code, country in block.countries.items()
        },
        "words": block.words,
    }


def map_spec() -> dict[str, Any]:
    """The world map, whatever is shown on it: the page's script brings the values, colours and size."""
    legend = alt.Legend(orient="top", gradientLength=220, format=".3~r", padding=4, titleLimit=400)
    tooltip = [
        alt.Tooltip("name:N", title="title"),  # vega-tooltip makes it a heading
        alt.Tooltip("text:N", title="value"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("rank:N", title="rank"),
        alt.Tooltip("test:N", title="test"),
    ]
    encoding: dict[str, Any] = {
        "color": alt.Color("value:Q", scale=alt.Scale(domain=[0, 1]), legend=legend),
        "fillOpacity": alt.condition("datum.pale", alt.value(PALE), alt.value(1)),
        "stroke": alt.value("#8888"),
        "strokeWidth": alt.value(0.4),
        "tooltip": tooltip,
    }
    shape = alt.Chart(alt.NamedData(name="shapes"))
    circle = alt.Chart(alt.NamedData(name="dots")).encode(longitude="x:Q", latitude="y:Q")
    known, unknown, selected = "datum.value !== null", "datum.value === null", "datum.code === chosen"
    clickable: dict[str, Any] = {"cursor": "pointer", "aria": False}  # the drawing has its own description
    outline: dict[str, Any] = {"aria": False, "stroke": ORANGE, "strokeWidth": 2.5, "tooltip": None, "fillOpacity": 0}
    layers = [
        shape.transform_filter(unknown).mark_geoshape(strokeWidth=0.4, aria=False).encode(tooltip=tooltip),
        shape.transform_filter(known).mark_geoshape(**clickable).encode(**encoding),
        circle.transform_filter(known).mark_circle(size=CIRCLE, opacity=1, **clickable).encode(**encoding),
        shape.transform_filter(selected).mark_geoshape(**outline),  # above its neighbours
        circle.transform_filter(selected).mark_circle(size=4 * CIRCLE, opacity=1, **outline),
    ]
    return bare_spec(alt.layer(*layers).project("equalEarth"))


def map_shapes() -> dict[str, Any]:
    """The shapes as TopoJSON with codes and names, and points for countries that are too small or have no shape."""
    circles = [
        {"code": country.code, "name": country.name, "x": round(country.point[0], 3), "y": round(country.point[1], 3)}
        for country in load_countries().values()
        if country.area < SMALL and country.point is not None
    ]
    shapes = topology(
        lambda shape: {"properties": {"code": shape.code, "name": shape.name}, "id": shape.code or shape.name}
    )
    return {"topology": shapes, "dots": circles}


def draw_still_map(block: WorldMap) -> Markup:
    """The first measure as a small SVG; nothing where there is none."""
    if not block.measures or not block.measures[0].estimates:
        return Markup("")
    measure = block.measures[0]
    colours = _list_colours(measure)
    shapes = Markup("").join(
        Markup('<path d="{}"{}/>').format(path, colours.get(code or "", "")) for code, path in _project_shapes()
    )
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}" stroke="#8888" stroke-width=".3" fill="{}">{}</svg>'
        '<p class="reading">{}. {} {} Pale: not distinguishable from {}. Grey: no data.</p>'
    ).format(
        STILL_WIDTH,
        STILL_HEIGHT,
        block.alt,
        LAND,
        shapes,
        measure.title,
        measure.reading,
        _describe_colours(measure),
        measure.baseline,
    )


def _describe_colours(measure: MapMeasure) -> str:
    """ "Blue to orange: low to high."."""
    first, last = SCHEME_ENDS[map_scheme(measure.centre, measure.tone)][:: -1 if measure.tone > 0 else 1]
    return f"{first.capitalize()} to {last}: low to high."


def list_numbers(estimate: Estimate) -> list[float | None]:
    """Value, interval and adjusted p-value with four digits: more would only make the page larger."""
    numbers = (estimate.value, estimate.low, estimate.high, estimate.p_adjusted)
    return [None if number is None else float(f"{number:.4g}") for number in numbers]


def _list_colours(measure: MapMeasure) -> dict[str, Markup]:
    """The attributes of a country's shape by code."""
    values = {code: estimate.value for code, estimate in measure.estimates.items() if estimate.value is not None}
    scale = math.log if measure.is_ratio else float
    low, high = colour_range(
        list(map(scale, values.values())), None if measure.centre is None else scale(measure.centre)
    )
    steps = SCHEME_STEPS[map_scheme(measure.centre, measure.tone)][:: -1 if measure.tone > 0 else 1]
    rgb = np.array([[int(step[k : k + 2], 16) for k in (1, 3, 5)] for step in steps])
    has_test = any(estimate.p_adjusted is not None for estimate in measure.estimates.values())
    colours = {}
    for code, value in values.items():
        place = np.clip((scale(value) - low) / (high - low), 0, 1) * (len(steps) - 1)
        mixed = [round(float(np.interp(place, range(len(steps)), channel))) for channel in rgb.T]
        pale = f' fill-opacity="{PALE}"' if has_test and not is_marked(measure.estimates[code]) else ""
        colours[code] = Markup(f' fill="#{mixed[0]:02x}{mixed[1]:02x}{mixed[2]:02x}"{pale}')  # numbers only
    return colours


@cache
def _project_shapes() -> list[tuple[str | None, str]]:
    """The outlines of all shapes on the Equal Earth projection, in whole pixels, as paths of an SVG."""
    rings = [(shape.code, [_project(ring) for ring in shape.rings]) for shape in load_shapes()]
    points = np.concatenate([ring for _, outlines in rings for ring in outlines])
    first, last = points.min(axis=0), points.max(axis=0)
    scale = min(np.array([STILL_WIDTH, STILL_HEIGHT]) / (last - first))
    return [
        (code, "".join(_draw_path(((ring - first) * scale).round().astype(int)) for ring in outlines))
        for code, outlines in rings
    ]


def _project(ring: np.ndarray) -> np.ndarray:
    """Longitudes and latitudes in degrees as points of the Equal Earth projection, y downwards."""
    longitude, latitude = np.radians(ring).T
    a1, a2, a3, a4 = EQUAL_EARTH
    theta = np.arcsin(np.sqrt(3) / 2 * np.sin(latitude))
    slope = 9 * a4 * theta**8 + 7 * a3 * theta**6 + 3 * a2 * theta**2 + a1
    x = 2 * np.sqrt(3) * longitude * np.cos(theta) / (3 * slope)
    y = a4 * theta**9 + a3 * theta**7 + a2 * theta**3 + a1 * theta
    return np.column_stack([x, -y])


def _draw_path(ring: np.ndarray) -> str:
    """A closed line of steps from pixel to pixel; empty for an outline that is too small to be seen."""
    moves = np.diff(ring, axis=0)
    moves = moves[(moves != 0).any(axis=1)]
    x, y = ring.T
    area = abs((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) / 2
    if area < STILL_SMALLEST:
        return ""
    steps = " ".join(f"{dx},{dy}" for dx, dy in moves[:-1])
    return f"M{x[0]},{y[0]}l{steps}z"
