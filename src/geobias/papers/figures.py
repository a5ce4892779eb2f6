"""What the figures of papers are made of: countries in colours, a value by continent, and lines with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape

import numpy as np

import geobias
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.framed import draw_file
from geobias.report.page.svg import (
    Part,
    Picture,
    Scale,
    draw_axis,
    draw_line,
    draw_mark,
    draw_text,
    measure_text,
    move,
    place_ticks,
)
from geobias.report.page.world_map import WIDTH, list_outlines, list_size, place_point
from geobias.world.countries import Country, load_countries, load_shapes

# Colours of values from low to high; and around a centre, where orange is worse for the person or neither side is.
VIRIDIS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
BETTER_TO_WORSE = ("#14659f", "#f3f1ec", "#a5330a")
NEITHER = ("#6a3d8a", "#f3f1ec", "#1b7837")
INK = "#15181c"
# Okabe and Ito's colours, which stay apart for colour-blind readers.
CONTINENT_COLOURS = {
    "Africa": "#E69F00",
    "Asia": "#D55E00",
    "Europe": "#0072B2",
    "North America": "#56B4E9",
    "Oceania": "#CC79A7",
    "South America": "#009E73",
}
SMALL = 0.7  # square degrees: below, a shape is hardly a dot at this size, and a circle stands for it
FENCE = 1.5  # interquartile ranges beyond the quartiles: Tukey's bound of what is no outlier
ROW, PIECES = 30, 60  # pixels of a continent's row; pieces of the bar of colours
LINES_HEIGHT = 260.0


def draw_figure(title: str, picture: Picture, lines: Sequence[str], rows: Sequence[Row], model: str) -> str:
    """A file with the picture between its title, and its caveat and source."""
    chart = Chart("figure", title, " ".join(lines), title, picture, rows)
    return draw_file(chart, f"geobias {geobias.__version__}, {model}. Describes a model, not people.")


def paint(name: str, attributes: str, colour: str, tip: str = "") -> str:
    """An element in a colour that is no class of the page; browsers show its title on hover."""
    return f'<{name} {attributes} style="fill:{colour}"><title>{escape(tip)}</title></{name}>'


def paint_circle(x: float, y: float, radius: float, colour: str, tip: str) -> str:
    return paint("circle", f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"', colour, tip)


@dataclass(frozen=True)
class Beside:
    """Pictures next to each other, each with its share of the width."""

    pictures: Sequence[tuple[float, Picture]]
    gap: float = 28

    def draw(self, width: float) -> Part:
        free = width - self.gap * (len(self.pictures) - 1)
        svg, x, height = "", 0.0, 0.0
        for share, picture in self.pictures:
            part = picture.draw(share * free)
            svg, x, height = svg + move(part.svg, x, 0), x + share * free + self.gap, max(height, part.height)
        return Part(svg, height)


@dataclass(frozen=True)
class ColouredWorld:
    """The countries, each in a colour; those without one are outlines and empty circles."""

    colours: Mapping[str, str] = field(repr=False)
    tips: Mapping[str, str] = field(repr=False)

    def draw(self, width: float) -> Part:
        scale = width / WIDTH
        parts = [f'<g transform="scale({scale:.4f})">']
        for shape, path in list_outlines():
            code = shape.code or ""
            attributes, tip = f'd="{path}" class="{"land" if code in self.colours else "empty"}"', self.tips.get(code)
            parts.append(paint("path", attributes, self.colours.get(code, "none"), tip or shape.name))
        parts.append("</g>")
        for code, country in load_countries().items():
            if country.area < SMALL and country.point is not None:
                x, y = (scale * each for each in place_point(country.point))
                tip, colour = self.tips.get(code, country.name), self.colours.get(code)
                parts.append(paint_circle(x, y, 2.9, colour, tip) if colour else draw_mark(x, y, 2.2, "open", tip))
        return Part("".join(parts), list_size()[1] * scale)


@dataclass(frozen=True)
class ValueMap:
    """A number for each country (by ISO code) as its colour, and the distribution of the numbers by continent below.

    Colours run from dark to light; with `centre` they diverge from it, and `tone` says what a higher value is: better
    for the person (1), worse (-1) or neither (0). `own_values` were measured for continents themselves.
    """

    values: Mapping[str, float] = field(repr=False)
    names: Mapping[str, str] = field(repr=False)
    legend: str
    centre: float | None = None
    tone: int = 0
    own_values: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def ends(self) -> tuple[float, float]:
        return find_colour_range(list(self.values.values()), self.centre)

    def choose_colour(self, value: float) -> str:
        low, high = self.ends
        colours = VIRIDIS if self.centre is None else BETTER_TO_WORSE if self.tone else NEITHER
        share = min(max((value - low) / (high - low), 0), 1)
        return mix_colours(colours, 1 - share if self.tone > 0 else share)

    def describe(self) -> str:
        """What a reader must know of the marks."""
        low, high = self.ends
        note = (
            f"Outlines, and empty circles: no data ({len(list_without_data(self.values))}). Circles: countries too "
            "small for the map, or without a shape. Tick: a country; long tick: the median of a continent."
        )
        if self.own_values:
            note += " Triangle: the continent itself."
        if missing := list_unmapped(self.values):
            note += f" Not on the map: {len(missing)}."
        if beyond := sum(not low <= value <= high for value in self.values.values()):
            note += f" Outliers, drawn at the end of the scale: {beyond}."
        return note

    def draw(self, width: float) -> Part:
        colours = {code: self.choose_colour(value) for code, value in self.values.items()}
        world = ColouredWorld(colours, {code: self._describe_country(code) for code in self.values}).draw(width)
        spread = self._draw_continents(width)
        return Part(world.svg + move(spread.svg, 0, world.height + 12), world.height + 12 + spread.height)

    def _describe_country(self, code: str) -> str:
        return f"{self.names.get(code, code)}: {self.values[code]:.4g}"

    def _draw_continents(self, width: float) -> Part:
        """A bar of the colours; then a tick for each country in the row of its continent, and the row's median."""
        countries, (low, high) = load_countries(), self.ends
        names = {country.continent: country.continent_name for country in countries.values()}
        rows = {
            continent: [code for code in self.values if countries[code].continent == continent]
            for continent in sorted(names, key=lambda code: names[code])
            if continent in self.own_values or any(countries[code].continent == continent for code in self.values)
        }
        ends = [low, high, *self.own_values.values()]  # a continent's mark is never moved
        left = max(measure_text(names[continent], 12) for continent in rows) + 14
        across = Scale(min(ends), max(ends), left, width - 14)
        parts, top = [draw_text(0, 12, self.legend, "ink", 12)], 46.0
        piece = (across(high) - across(low)) / PIECES
        for k in range(PIECES):
            place = f'x="{across(low) + k * piece:.1f}" y="22" width="{piece + 0.8:.1f}" height="10"'
            parts.append(paint("rect", place, self.choose_colour(low + (k + 0.5) * (high - low) / PIECES)))
        bottom = top + ROW * len(rows)
        ticks = place_ticks(min(ends), max(ends), 7)
        parts.append(draw_axis(across, ticks, top - 6, bottom, low if self.centre is None else self.centre, say_number))
        for k, (continent, codes) in enumerate(rows.items()):
            y = top + ROW * k
            parts.append(draw_text(left - 14, y + 17, names[continent], "soft", 12, "end"))
            places = {code: across(min(max(self.values[code], low), high)) for code in codes}
            for code, x in places.items():
                place = f'x="{x - 0.8:.1f}" y="{y + 4:.1f}" width="1.6" height="18"'
                parts.append(paint("rect", place, self.choose_colour(self.values[code]), self._describe_country(code)))
            if places:
                middle = float(np.median(list(places.values())))
                parts.append(draw_line(middle, y, middle, y + 26, "ink", 2.4))
            if continent in self.own_values:
                value = self.own_values[continent]
                parts.append(draw_mark(across(value), y + 1, 4.5, "neutral", f"{names[continent]}: {value:.4g}", 2))
        return Part("".join(parts), bottom + 24)


@dataclass(frozen=True)
class Lines:
    """A line for each name: points (x, y) with, where there are bounds (low, high), a band around it."""

    points: Mapping[str, Sequence[tuple[float, float]]] = field(repr=False)
    bounds: Mapping[str, Sequence[tuple[float, float]]] = field(repr=False)
    colours: Mapping[str, str]
    titles: tuple[str, str]
    ticks: tuple[Sequence[float], Sequence[float]] = ((), ())
    """Of both axes; none are chosen by the numbers."""
    is_ratio: bool = False
    """Whether equal ratios are equally far apart, on both axes."""

    def draw(self, width: float) -> Part:
        points = [point for line in self.points.values() for point in line]
        ends = [end for band in self.bounds.values() for pair in band for end in pair]
        left, top = 52.0, 40.0
        heights = [*(y for _, y in points), *ends, *self.ticks[1]]
        first, last = find_ends([*(x for x, _ in points), *self.ticks[0]], is_ratio=self.is_ratio)
        low, high = find_ends(heights, is_ratio=self.is_ratio)
        across = Scale(first, last, left, width - 12, is_ratio=self.is_ratio)
        up = Scale(low, high, top + LINES_HEIGHT, top, is_ratio=self.is_ratio)
        parts = [draw_text(0, 32, f"↑ {self.titles[1]}", "soft", 12)]
        for tick in self.ticks[1] or place_ticks(low, high, 5):
            parts.append(draw_line(left, up(tick), width, up(tick), "grid"))
            parts.append(draw_text(left - 6, up(tick) + 4, say_number(tick), "soft", 11, "end"))
        bottom, key = top + LINES_HEIGHT, 6.0
        ticks = self.ticks[0] or place_ticks(first, last, 7)
        parts += [draw_text(across(tick), bottom + 18, say_number(tick), "soft", 11, "middle") for tick in ticks]
        parts.append(draw_text(width, bottom + 36, f"{self.titles[0]} →", "soft", 12, "end"))
        for name, line in self.points.items():
            colour, places = self.colours.get(name, INK), [(across(x), up(y)) for x, y in line]
            pairs = list(zip([x for x, _ in places], self.bounds.get(name, ()), strict=False))
            edge = [(x, up(each)) for x, (each, _) in pairs] + [(x, up(each)) for x, (_, each) in reversed(pairs)]
            if edge:
                parts.append(f'<path d="{_join(edge)}z" style="fill:{colour};fill-opacity:0.16"/>')
            parts.append(f'<path d="{_join(places)}" style="fill:none;stroke:{colour};stroke-width:2"/>')
            tips = (f"{name}: {x:g}, {y:.4g}" for x, y in line)
            parts += [paint_circle(x, y, 4, colour, tip) for (x, y), tip in zip(places, tips, strict=True)]
            parts += [paint_circle(key, 8, 4.4, colour, name), draw_text(key + 9, 12, name, "soft", 12)]
            key += measure_text(name, 12) + 28
        return Part("".join(parts), bottom + 44)


def _join(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def find_ends(values: Sequence[float], *, is_ratio: bool) -> tuple[float, float]:
    """Where an axis begins and ends: a little beyond its numbers."""
    low, high = min(values), max(values)
    if is_ratio:
        return low / 1.1, high * 1.1
    spare = 0.05 * (high - low) or 1.0
    return low - spare, high + spare


def say_number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def mix_colours(colours: Sequence[str], share: float) -> str:
    """The colour at a share of the way from the first to the last."""
    known = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours])
    places = np.linspace(0, 1, len(colours))
    return "#" + "".join(f"{round(float(np.interp(share, places, part))):02x}" for part in known.T)


def list_without_data(values: Mapping[str, float]) -> list[str]:
    """The names of what the map leaves empty: countries without a number, and other shapes."""
    return [
        *(country.name for code, country in sorted(load_countries().items()) if code not in values and country.point),
        *(shape.name for shape in load_shapes() if shape.code is None),
    ]


def list_unmapped(values: Mapping[str, float]) -> list[Country]:
    """The countries with a number that have neither a shape nor a city, so that no map can show them."""
    return [country for code, country in load_countries().items() if code in values and country.point is None]


def find_colour_range(values: Sequence[float], centre: float | None) -> tuple[float, float]:
    """Where the colours end: where outliers begin, so that one of them does not make all others alike.

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
