"""The world map: colour only where a country is distinguishable, names over water, and the verdict on it where none is.

Outlines are written once for all maps of a page (`draw_outlines`), and every map refers to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np

from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import MapMeasure, Row
from geobias.report.page.charts import Valence
from geobias.report.page.svg import (
    PHONE,
    Part,
    count_places,
    draw_box,
    draw_line,
    draw_mark,
    draw_text,
    format_ratio,
    measure_text,
    wrap_text,
)
from geobias.report.tables import is_marked, signed
from geobias.world.countries import UN_STATES, CountryShape, load_countries, load_shapes

WIDTH, HEIGHT = 1000, 490  # of the outlines
SMALLEST_ISLAND = 1.2  # square pixels
EQUAL_EARTH = (1.340264, -0.081106, 0.000893, 0.003796)  # Šavrič, Patterson and Jenny (2018)
COARSE = 4  # pixels of a cell of the land on which names should not stand
MOST_LABELS, STEPS = 5, 3
DISTANCES, ANGLES = (26, 40, 60, 85, 115, 150, 190), 24  # of a name from its country
Point = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class MapPicture:
    """One measure on the world map."""

    measure: MapMeasure
    names: Mapping[str, str] = field(repr=False)
    """Of the countries by code."""

    def draw(self, width: float) -> Part:
        measure, scale, is_phone = self.measure, width / WIDTH, width < PHONE
        marked = {code: each for code, each in measure.estimates.items() if is_marked(each)}
        limits = choose_limits([self._move(each) for each in marked.values()])
        kinds = {code: self._choose_kind(each, limits) for code, each in marked.items()}
        parts, drawn = [f'<g transform="scale({scale:.4f})">'], set[str]()
        for shape, _ in list_outlines():
            code = shape.code or ""
            kind = kinds.get(code, "land" if code in measure.estimates else "empty")
            drawn.add(code)
            tip = f"<title>{self._describe(code)}</title>" if code in measure.estimates and not is_phone else ""
            parts.append(f'<use href="#{name_outline(shape)}" class="{kind}">{tip}</use>')
        parts.append("</g>")
        for code in measure.estimates.keys() - drawn:
            country = load_countries().get(code)
            if country and country.point and (code in kinds or not is_phone):
                x, y = (scale * each for each in place_point(country.point))
                parts.append(draw_mark(x, y, 2 if is_phone else 2.8, kinds.get(code, "land"), self._describe(code)))
        parts += self._draw_labels(sorted(marked, key=self._rank)[:MOST_LABELS], scale, 11 if is_phone else 13)
        bottom = list_size()[1] * scale
        if not marked:
            parts.append(_draw_plate(self._say_nothing(), width, 0.45 * bottom, 13 if is_phone else 19))
        legend = self._draw_legend(limits, width, bottom + 12)
        return Part("".join([*parts, legend.svg]), bottom + 12 + legend.height)

    def _say_nothing(self) -> str:
        has_test = any(each.p_adjusted is not None for each in self.measure.estimates.values())
        return "No country stands out" if has_test else "Not tested"

    def _rank(self, code: str) -> tuple[bool, float]:
        return code not in UN_STATES, -abs(self._move(self.measure.estimates[code]))

    def _move(self, estimate: Estimate) -> float:
        """How far the value is from the centre; of ratios in logarithms."""
        value, centre = estimate.value or 0.0, self.measure.centre or 0.0
        return math.log(value / (centre or 1)) if self.measure.is_ratio and value > 0 else value - centre

    def _choose_kind(self, estimate: Estimate, limits: Sequence[float]) -> str:
        tone = Valence(self.measure.tone, "", "").tone(self._move(estimate)) if self.measure.centre is not None else ""
        return f"{tone or 'neutral'}-{1 + sum(abs(self._move(estimate)) > limit for limit in limits)}"

    def _describe(self, code: str) -> str:
        estimate = self.measure.estimates[code]
        test = "differs" if is_marked(estimate) else "not distinguishable" if estimate.p_adjusted is not None else ""
        bounds = (
            "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.3g} to {estimate.high:.3g})"
        )
        name = self.names.get(code, code).replace("&", "and").replace("<", "")
        value = "no data" if estimate.value is None else f"{estimate.value:.3g}{bounds}"
        return f"{name}: {value}{f', {test} from {self.measure.baseline}' if test else ''}"

    def _say_value(self, code: str) -> str:
        value = self.measure.estimates[code].value or 0.0
        if self.measure.is_ratio:
            return format_ratio(value)
        return signed(value, count_places([value])).replace("-", "−")

    def _draw_labels(self, codes: Sequence[str], scale: float, size: float) -> list[str]:
        points = [(code, load_countries()[code].point) for code in codes if code in load_countries()]
        places = {code: place_point(point) for code, point in points if point is not None}
        texts = {code: f"{self.names.get(code, code)} {self._say_value(code)}" for code in places}
        widths = [measure_text(text, size, bold=True) / scale for text in texts.values()]
        spots = place_labels(list(places.values()), widths, 1.5 * size / scale)
        parts = []
        for (code, point), length, spot in zip(places.items(), widths, spots, strict=True):
            if spot is None:
                continue
            (x, y), (left, base) = (scale * each for each in point), (scale * each for each in spot)
            end = min(max(x, left), left + length * scale)
            parts.append(draw_line(x, y, end, base + 3 if base < y else base - size, "ink", 0.9))
            parts.append(draw_text(left, base, texts[code], "ink bold halo", size))
        return parts

    def _draw_legend(self, limits: Sequence[float], width: float, y: float) -> Part:
        """The steps of both directions, and what has no colour."""
        keys: list[tuple[str, str]] = []
        measure = self.measure
        words = {"worse": "worse for the person", "better": "better", "neutral": "differs"}
        tones = ("neutral",) if measure.centre is None or not measure.tone else ("worse", "better")
        bounds = [math.exp(limit) if measure.is_ratio else limit for limit in limits]
        for tone in tones if limits else ():
            says = [f"up to {bounds[0]:.2g}", f"to {bounds[1]:.2g}", f"more than that ({measure.legend})"]
            says[0] = f"{words[tone]}, {'times ' if measure.is_ratio else 'by '}{says[0]}"
            keys += [(f"{tone}-{k + 1}", text) for k, text in enumerate(says)]
        keys.append(("land", f"grey: not distinguishable from {measure.baseline}; outline: no data"))
        parts, x, line = list[str](), 0.0, 0.0
        for kind, text in keys:
            first, *others = wrap_text(text, width - 24, 12)
            needed = measure_text(first, 12) + 34
            if x and x + needed > width:
                x, line = 0.0, line + 19
            parts += [draw_box(x, y + line, 16, 13, kind, 2), draw_text(x + 21, y + line + 11, first, "soft", 12)]
            for each in others:
                line += 16
                parts.append(draw_text(x + 21, y + line + 11, each, "soft", 12))
            x += needed
        return Part("".join(parts), line + 24)


def list_map_rows(measure: MapMeasure, names: Mapping[str, str]) -> list[Row]:
    """The numbers of a map, for its CSV file."""
    return [
        {"code": code, "country": names.get(code, code), **vars(estimate)}
        for code, estimate in measure.estimates.items()
    ]


def choose_limits(moves: Sequence[float]) -> list[float]:
    """Two round numbers that cut the largest move into three steps; none where nothing moves."""
    largest = max(map(abs, moves), default=0.0)
    if not largest:
        return []
    rounds = [part * 10.0**power for power in range(-6, 6) for part in (1, 2, 2.5, 5)]
    step = max((number for number in rounds if 2 * number < largest), default=largest / 3)
    return [step, 2 * step]


def _draw_plate(text: str, width: float, y: float, size: float) -> str:
    half = measure_text(text, size, bold=True) / 2 + 13
    plate = draw_box(width / 2 - half, y, 2 * half, 2 * size, "plate", 6)
    return plate + draw_text(width / 2, y + 1.35 * size, text, "ink bold", size, "middle")


def name_outline(shape: CountryShape) -> str:
    """The id of an outline on a page."""
    return f"shape-{shape.code or ''.join(filter(str.isalnum, shape.name))}"


def draw_outlines() -> str:
    """Every outline once, to be put into a page or a file with maps."""
    paths = "".join(f'<path id="{name_outline(shape)}" d="{path}"/>' for shape, path in list_outlines())
    return f"<defs>{paths}</defs>"


@cache
def _project_world() -> tuple[list[tuple[CountryShape, list[np.ndarray]]], np.ndarray, float, Point]:
    """The rings of all shapes, and how points are moved and scaled onto the map."""
    rings = [(shape, [project(ring) for ring in shape.rings]) for shape in load_shapes()]
    points = np.concatenate([ring for _, outlines in rings for ring in outlines])
    first, last = points.min(axis=0), points.max(axis=0)
    scale = float(min(np.array([WIDTH, HEIGHT]) / (last - first)))
    size = (last - first) * scale
    moved = [(shape, [(ring - first) * scale for ring in outlines]) for shape, outlines in rings]
    return moved, first, scale, (float(size[0]), float(size[1]))


def list_size() -> Point:
    """The width and height of the drawn world."""
    return _project_world()[3]


def place_point(point: Point) -> Point:
    """Longitude and latitude as pixels of the map."""
    _, first, scale, _ = _project_world()
    x, y = (project(np.array([point]))[0] - first) * scale
    return float(x), float(y)


@cache
def list_outlines() -> list[tuple[CountryShape, str]]:
    """The outlines of all countries on the Equal Earth projection, in whole pixels, as paths of an SVG."""
    paths: dict[str, tuple[CountryShape, str]] = {}
    for shape, rings in _project_world()[0]:  # a few countries have two shapes
        first, path = paths.get(name_outline(shape), (shape, ""))
        paths[name_outline(shape)] = first, path + "".join(_draw_ring(ring.round().astype(int)) for ring in rings)
    return list(paths.values())


def project(ring: np.ndarray) -> np.ndarray:
    """Longitudes and latitudes in degrees as points of the Equal Earth projection, y downwards."""
    longitude, latitude = np.radians(ring).T
    a1, a2, a3, a4 = EQUAL_EARTH
    theta = np.arcsin(np.sqrt(3) / 2 * np.sin(latitude))
    slope = 9 * a4 * theta**8 + 7 * a3 * theta**6 + 3 * a2 * theta**2 + a1
    x = 2 * np.sqrt(3) * longitude * np.cos(theta) / (3 * slope)
    y = a4 * theta**9 + a3 * theta**7 + a2 * theta**3 + a1 * theta
    return np.column_stack([x, -y])


def _draw_ring(ring: np.ndarray) -> str:
    """A closed line of steps from pixel to pixel; empty for an island that is too small to be seen."""
    moves = np.diff(ring, axis=0)
    moves = moves[(moves != 0).any(axis=1)]
    x, y = ring.T
    if abs((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) / 2 < SMALLEST_ISLAND:
        return ""
    steps = " ".join(f"{dx} {dy}" for dx, dy in moves[:-1]).replace(" -", "-")
    return f"M{x[0]} {y[0]}l{steps}z"


@cache
def find_land() -> np.ndarray:
    """A coarse grid of the map: where land is. A cell is inside if an odd number of borders lies to its left."""
    width, height = (int(each / COARSE) + 1 for each in list_size())
    land = np.zeros((height, width), bool)
    columns = np.arange(width) + 0.5
    for _, rings in _project_world()[0]:
        inside = np.zeros_like(land)
        for ring in rings:
            points = ring / COARSE
            for (x, y), (to_x, to_y) in pairwise(points):
                low, high = sorted((y, to_y))
                for row in range(math.ceil(low - 0.5), math.ceil(high - 0.5)):
                    crossing = x + (row + 0.5 - y) / (to_y - y) * (to_x - x)
                    inside[row] ^= columns > crossing
        land |= inside
    return land


def place_labels(points: Sequence[Point], widths: Sequence[float], height: float) -> list[Point | None]:
    """For each point where its name begins: near it, over water, away from the other names; None without a place."""
    land, size = find_land(), list_size()
    boxes: list[Box] = []
    spots: list[Point | None] = []
    for (x, y), width in zip(points, widths, strict=True):
        best: tuple[float, Point, Box] | None = None
        for distance in DISTANCES:
            for k in range(ANGLES):
                angle = 2 * math.pi * k / ANGLES
                across, base = x + 1.35 * distance * math.cos(angle), y + distance * math.sin(angle)
                left = across - width * (1 - math.cos(angle)) / 2
                box = left - 4, base - 0.75 * height, left + width + 4, base + 0.35 * height
                is_outside = box[0] < 0 or box[1] < 0 or box[2] > size[0] or box[3] > size[1]
                if is_outside or any(_overlap(box, other) for other in boxes):
                    continue
                if any(box[0] < px < box[2] and box[1] < py < box[3] for px, py in points):
                    continue
                cells = land[
                    int(box[1] / COARSE) : int(box[3] / COARSE) + 1, int(box[0] / COARSE) : int(box[2] / COARSE) + 1
                ]
                cost = 2 * float(cells.mean()) + distance / 110
                if best is None or cost < best[0]:
                    best = cost, (left, base), box
        spots.append(best[1] if best else None)
        boxes += [best[2]] if best else []
    return spots


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
