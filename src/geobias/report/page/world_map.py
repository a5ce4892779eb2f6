"""The world map of a page: one specification and one set of shapes, whatever is shown on it."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from geobias.report.figures import CIRCLE, SMALL
from geobias.world.shapes import load_countries, load_shapes, load_topology

CHOSEN = "#D55E00"


def map_spec() -> dict[str, Any]:
    """Shapes and circles; the page's script brings their values, colours and size."""
    legend = alt.Legend(orient="top", gradientLength=220, format=".3~r", padding=10)
    colour = alt.Color("value:Q", scale=alt.Scale(domain=[0, 1]), legend=legend)
    tooltip = [alt.Tooltip("name:N"), alt.Tooltip("text:N", title="value")]
    shape = alt.Chart(alt.NamedData(name="shapes"))
    dot = alt.Chart(alt.NamedData(name="dots")).encode(longitude="x:Q", latitude="y:Q")
    known, unknown = "datum.value !== null", "datum.value === null"
    border = alt.condition("datum.code === chosen", alt.value(CHOSEN), alt.value("#8888"))
    width = alt.condition("datum.code === chosen", alt.value(2.5), alt.value(0.4))
    layers = [
        shape.transform_filter(unknown).mark_geoshape(strokeWidth=0.4).encode(tooltip=tooltip),
        shape.transform_filter(known)
        .mark_geoshape(cursor="pointer")
        .encode(color=colour, stroke=border, strokeWidth=width, tooltip=tooltip),
        dot.transform_filter(known)
        .mark_circle(size=CIRCLE, opacity=1, cursor="pointer")
        .encode(color=colour, stroke=border, strokeWidth=width, tooltip=tooltip),
    ]
    spec: dict[str, Any] = alt.layer(*layers).project("equalEarth").to_dict()
    spec.pop("config", None)
    return spec


def shared_shapes() -> dict[str, Any]:
    """The shapes as TopoJSON with codes and names, and points for countries that are too small or have no shape."""
    geometries = [
        shape.geometry | {"properties": {"code": shape.code, "name": shape.name}, "id": shape.code or shape.name}
        for shape in load_shapes()
    ]
    topology = {key: load_topology()[key] for key in ("type", "arcs", "transform")}
    topology["objects"] = {"countries": {"type": "GeometryCollection", "geometries": geometries}}
    dots = [
        {"code": country.code, "name": country.name, "x": round(country.point[0], 3), "y": round(country.point[1], 3)}
        for country in load_countries().values()
        if country.area < SMALL and country.point is not None
    ]
    return {"topology": json.loads(json.dumps(topology)), "dots": dots}
