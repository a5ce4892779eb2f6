"""The shapes of the countries, and where to put a mark for those too small to have one.

Natural Earth's countries at 1:50 million (public domain), as the TopoJSON file of world-atlas. Its borders are those
of the source, not a statement about sovereignty. Antarctica and the islands around it are left out: the tree of regions
has no people there to ask about.
"""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from geobias.world.countries import ANTARCTIC, load_geonames

WITHOUT_NUMBER = {"Kosovo": "XK"}  # the source has no ISO number for it


@dataclass(frozen=True)
class CountryShape:
    """One shape of the map: its outlines in degrees (longitude, latitude), and the country's code where it has one."""

    code: str | None
    name: str
    geometry: dict[str, Any] = field(repr=False)  # as TopoJSON has it
    rings: list[np.ndarray] = field(repr=False)

    @property
    def area(self) -> float:
        """Roughly, in square degrees at the equator; holes count against it, since they run the other way."""
        return abs(sum(_signed_area(ring) for ring in self.rings))


@dataclass(frozen=True)
class Country:
    """A country of GeoNames: where it lies, and a point that stands for it (its largest city, else its middle)."""

    code: str
    name: str
    continent: str
    continent_name: str
    area: float  # of its shapes; 0 for a country without one
    point: tuple[float, float] | None  # longitude, latitude


@cache
def load_topology() -> dict[str, Any]:
    """The TopoJSON file: arcs that neighbours share, and for each country which arcs are its outline."""
    packed = resources.files("geobias.world").joinpath("data/countries-50m.topo.json.xz").read_bytes()
    return dict(json.loads(lzma.decompress(packed)))


@cache
def load_shapes() -> tuple[CountryShape, ...]:
    """Every shape of the map; those of disputed places (Somaliland, Northern Cyprus, ...) have no code."""
    known = load_geonames().get_countries()
    by_number = {f"{entry['isonumeric']:03d}": code for code, entry in known.items() if entry["isonumeric"]}
    arcs = _decode_arcs(load_topology())
    shapes = []
    for geometry in load_topology()["objects"]["countries"]["geometries"]:
        name = geometry["properties"]["name"]
        code = by_number.get(geometry.get("id", "")) or WITHOUT_NUMBER.get(name)
        if code is None or known[code]["continentcode"] != ANTARCTIC:
            shapes.append(CountryShape(code, name, geometry, _rings(geometry, arcs)))
    return tuple(shapes)


@cache
def load_countries() -> dict[str, Country]:
    """The countries of GeoNames by their ISO codes, Antarctica aside."""
    geonames = load_geonames()
    continents = geonames.get_continents()
    areas: dict[str, float] = defaultdict(float)
    points: dict[str, tuple[float, float]] = {}
    for shape in load_shapes():
        if shape.code is not None:
            areas[shape.code] += shape.area
            middle = max(shape.rings, key=lambda ring: abs(_signed_area(ring))).mean(axis=0)
            points.setdefault(shape.code, (float(middle[0]), float(middle[1])))
    for city in sorted(geonames.get_cities().values(), key=lambda city: city["population"]):  # the largest stays
        points[city["countrycode"]] = (city["longitude"], city["latitude"])
    return {
        code: Country(
            code,
            entry["name"].strip(),
            entry["continentcode"],
            continents[entry["continentcode"]]["name"],
            areas[code],
            points.get(code),
        )
        for code, entry in geonames.get_countries().items()
        if entry["continentcode"] != ANTARCTIC
    }


def _decode_arcs(content: dict[str, Any]) -> list[np.ndarray]:
    """TopoJSON stores each point as its distance from the one before, in whole steps of a grid."""
    scale, start = (np.array(content["transform"][key]) for key in ("scale", "translate"))
    return [np.cumsum(np.array(arc), axis=0) * scale + start for arc in content["arcs"]]


def _rings(geometry: dict[str, Any], arcs: list[np.ndarray]) -> list[np.ndarray]:
    """The closed outlines of a shape: arcs put end to end, those with a negative number (~i) run backwards.

    An outline that crosses 180 degrees goes on beyond it (Russia ends at 190), so that it stays one closed line.
    """
    polygons = [geometry["arcs"]] if geometry["type"] == "Polygon" else geometry["arcs"]
    rings = []
    for outline in (outline for polygon in polygons for outline in polygon):
        parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in outline]
        ring = np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
        ring[:, 0] = np.unwrap(ring[:, 0], period=360)
        rings.append(ring)
    return rings


def _signed_area(ring: np.ndarray) -> float:
    """The area inside a closed line (the shoelace formula), with degrees of longitude as short as they are there."""
    x, y = ring.T
    flat = (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2
    return float(flat * np.cos(np.radians(y.mean())))
