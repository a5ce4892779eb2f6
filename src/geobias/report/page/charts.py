"""The charts of the page: dots with intervals, a swarm of dots, cells, and points of two numbers.

Colour is direction (worse or better for the person), shape is certainty (filled, hollow, dashed), length is size. What
is not distinguishable has no colour, and neither has what is neither good nor bad.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from geobias.report.colours import Tone
from geobias.report.page.blocks import Row
from geobias.report.page.svg import (
    PHONE,
    Part,
    Scale,
    count_places,
    draw_axis,
    draw_box,
    draw_line,
    draw_mark,
    draw_text,
    format_ratio,
    measure_text,
    move,
    place_ratio_ticks,
    place_ticks,
    shorten_text,
    wrap_text,
)
from geobias.report.tables import signed

ROW, SERIES_ROW, AXIS = 20, 15, 22  # pixels of a row, of each of several dots of a row, and of the axis
NAMES = 0.42  # of a picture's width, at most, for the names of its rows
MOST_SHAPES = 4  # series told apart by shapes; more become small multiples


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


NEUTRAL = Valence(0, "higher", "lower")


@dataclass(frozen=True)
class DotPlot:
    """A line for each name: a dot at `value` with its interval from `low` to `high`, filled where `marked`."""

    rows: Sequence[Row] = field(repr=False)
    label: str
    """The column with the names."""
    order: Sequence[str] = field(repr=False)
    title: str = ""
    """What the numbers are, with their unit."""
    series: str = ""
    """The column that tells several dots of a line apart: by shape, or in panels."""
    valence: Valence = NEUTRAL
    floor: bool = False
    """Whether a pale bar says what chance alone does, by the number `floor` of each row."""
    tick: str = ""
    """The column with a number to compare the value with."""
    centre: float = 0.0
    is_ratio: bool = False
    reach: tuple[float, float] | None = None
    """Where the axis ends, if not where the numbers do."""

    @cached_property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(row[self.series] for row in self.rows)) if self.series else []

    @cached_property
    def ends(self) -> tuple[float, float]:
        if self.reach:
            return self.reach
        columns = ["value", "low", "high", *([self.tick] if self.tick else [])]
        values = [row[name] for row in self.rows for name in columns if row.get(name) is not None] + [self.centre]
        if self.floor:
            values += [sign * row["floor"] for row in self.rows for sign in (1, -1) if row["floor"] is not None]
        low, high = min(values), max(values)
        if self.is_ratio:
            return low / 1.05, high * 1.05
        spare = 0.04 * (high - low) or 1.0
        return low - spare, high + spare

    def shorten(self, most: int) -> DotPlot:
        """The names that stand out and both ends of the others, at most so many."""
        if self.series or len(self.order) <= most:
            return self
        marked = [row[self.label] for row in self.rows if row["marked"]]
        kept, others = marked[:most], [name for name in self.order if name not in marked]
        half, odd = divmod(most - len(kept), 2)
        kept += others[: half + odd] + (others[-half:] if half else [])
        rows = [row for row in self.rows if row[self.label] in kept]
        return replace(self, rows=rows, order=[name for name in self.order if name in kept], reach=self.ends)

    def draw(self, width: float) -> Part:
        if len(self.kinds) > MOST_SHAPES:
            return self._draw_panels(width)
        is_phone = width < PHONE
        size = 12 if is_phone else 13
        names = min(max(measure_text(name, size, bold=True) for name in self.order) + 10, NAMES * width)
        texts = [self._say(row, with_interval=not is_phone and not self.series) for row in self.rows]
        values = 0 if self.series else max(measure_text(text, 12) for text in texts) + 10
        scale = Scale(*self.ends, names + 6, width - values - 8, is_ratio=self.is_ratio)
        legend = self._draw_legend(width)
        heading = self._draw_heading(scale, names, width, legend.height)
        top = legend.height + heading.height
        of_name = {name: [row for row in self.rows if row[self.label] == name] for name in self.order}
        step = (
            (ROW if len(self.order) < 12 else ROW - 2.0)
            if not self.series
            else 6 + SERIES_ROW * max(1, len(self.kinds))
        )
        body: list[str] = []
        for k, name in enumerate(self.order):
            y = top + k * step
            is_bold = any(row["marked"] for row in of_name[name])
            kind = "ink bold" if is_bold else "soft"
            shown = shorten_text(name, names - 6, size, bold=is_bold)
            body.append(draw_text(names - 4, y + step / 2 + 4.5, shown, kind, size, "end"))
            for row in of_name[name]:
                shift = self.kinds.index(row[self.series]) * SERIES_ROW + 3 if self.series else 0
                height = SERIES_ROW if self.series else step
                body.append(self._draw_row(scale, row, y + shift + height / 2, 4.4 if is_phone else 5))
                if not self.series:
                    text = self._say(row, with_interval=not is_phone)
                    body.append(draw_text(width - values + 4, y + step / 2 + 4, text, kind.removesuffix(" bold"), 12))
        bottom = top + len(self.order) * step + 2
        axis = draw_axis(scale, self._place_ticks(is_phone), top - 4, bottom, self.centre, self.format_tick)
        return Part("".join([legend.svg, axis, heading.svg, *body]), bottom + AXIS)

    def _draw_row(self, scale: Scale, row: Row, y: float, radius: float) -> str:
        tone = self.valence.tone(row["value"] - self.centre) if row["value"] is not None else "neutral"
        parts = []
        if self.floor and row["floor"] is not None:
            low, high = scale(-row["floor"]), scale(row["floor"])
            parts.append(draw_box(low, y - 6, high - low, 12, "pale", 3))
        if row["value"] is None:
            return "".join(parts)
        if row.get("low") is not None and row.get("high") is not None:
            kind = tone if row["marked"] else "mute"
            parts.append(draw_line(scale(row["low"]), y, scale(row["high"]), y, kind, 2))
        if self.tick and row[self.tick] is not None:
            x = scale(row[self.tick])
            parts.append(draw_line(x, y - 7, x, y + 7, "ink", 2))
        shape = self.kinds.index(row[self.series]) if self.series else 0
        parts.append(draw_mark(scale(row["value"]), y, radius, self._choose_kind(row, tone), self.describe(row), shape))
        return "".join(parts)

    def _choose_kind(self, row: Row, tone: str) -> str:
        if row["marked"]:
            return tone
        return "untested" if "p_adjusted" in row and row["p_adjusted"] is None else "open"

    def describe(self, row: Row) -> str:
        """What a dot says when it is pointed at."""
        parts = [row[self.label], row[self.series] if self.series else "", self._say(row, with_interval=True)]
        if row.get("p_adjusted") is not None:
            parts.append("distinguishable" if row["marked"] else "not distinguishable")
        return ", ".join(filter(None, parts))

    def _say(self, row: Row, *, with_interval: bool) -> str:
        say, low, high = self.format_value, row.get("low"), row.get("high")
        if row["value"] is None:
            return "no data"
        has_bounds = with_interval and low is not None and high is not None
        return say(row["value"]) + (f" ({say(low or 0)} to {say(high or 0)})" if has_bounds else "")

    @cached_property
    def format_value(self) -> Callable[[float], str]:
        if self.is_ratio:
            return format_ratio
        values = [row["value"] for row in self.rows if row["value"] is not None]
        places = count_places(values)
        if min(values, default=0) < 0 or (self.valence.sign and not self.centre):
            return lambda value: signed(value, places).replace("-", "−")
        return lambda value: f"{value:.{places}f}"

    def format_tick(self, value: float) -> str:
        if self.is_ratio:
            return f"{value:.3g}×"
        has_signs = any((row["value"] or 0) < 0 for row in self.rows)
        return (f"{value:+g}" if has_signs and value else f"{value:g}").replace("-", "−")

    def _place_ticks(self, is_phone: bool) -> list[float]:
        if not self.is_ratio:
            return place_ticks(*self.ends, 4 if is_phone else 7)
        return [tick for tick in place_ratio_ticks(*self.ends) if self.ends[0] <= tick <= self.ends[1]]

    def _draw_legend(self, width: float) -> Part:
        """The shapes of several series."""
        parts, x, y = list[str](), 6.0, 8.0
        for k, kind in enumerate(self.kinds):
            needed = measure_text(kind, 12) + 32
            if x > 6 and x + needed > width:
                x, y = 6.0, y + 18
            parts += [draw_mark(x, y, 4.4, "neutral", shape=k), draw_text(x + 10, y + 4, kind, "soft", 12)]
            x += needed
        return Part("".join(parts), y + 14 if parts else 0)

    def _draw_heading(self, scale: Scale, names: float, width: float, y: float) -> Part:
        """What the numbers are, and what both directions mean, in their colours."""
        lines = wrap_text(self.title, width - 4, 12)
        parts = [draw_text(0, y + 12 + 16 * k, line, "soft", 12) for k, line in enumerate(lines)]
        top = y + 16 * len(lines)
        if self.valence is NEUTRAL or not self.valence.below:
            return Part("".join(parts), 16 * len(lines) + 8)
        below, above = f"← {self.valence.below}", f"{self.valence.above} →"
        middle = scale(max(self.centre, self.ends[0]))
        has_colour = any(row["marked"] for row in self.rows)
        left, right = (self.valence.tone(side) if has_colour else "soft" for side in (-1, 1))
        if middle - measure_text(below, 12) < 0 or middle + measure_text(above, 12) > width:  # both ends of the line
            parts += [draw_text(0, top + 13, below, left, 12), draw_text(width, top + 13, above, right, 12, "end")]
        else:
            parts += [
                draw_text(middle - 6, top + 13, below, left, 12, "end"),
                draw_text(middle + 6, top + 13, above, right, 12),
            ]
        return Part("".join(parts), 16 * len(lines) + 24)

    def _draw_panels(self, width: float) -> Part:
        """A small picture for each of many series, all with one axis."""
        columns = 1 if width < PHONE else 2
        each = (width - 24 * (columns - 1)) / columns
        svg, y = "", 0.0
        for start in range(0, len(self.kinds), columns):
            tallest = 0.0
            for k, kind in enumerate(self.kinds[start : start + columns]):
                rows = [row for row in self.rows if row[self.series] == kind]
                names = {row[self.label] for row in rows}
                order = [name for name in self.order if name in names]
                panel = replace(self, rows=rows, order=order, series="", title="", reach=self.ends).draw(each)
                heading = draw_text(0, 14, shorten_text(kind, each, 13, bold=True), "ink bold", 13)
                svg += move(heading + move(panel.svg, 0, 20), k * (each + 24), y)
                tallest = max(tallest, panel.height + 30)
            y += tallest
        return Part(svg, y)


def dots(
    rows: Sequence[Row],
    *,
    label: str,
    title: str,
    order: Sequence[str],
    colour: str = "",
    shape: str = "",
    valence: Valence | None = None,
    floor: bool = False,
    tick: str = "",
    centre: float = 0,
    is_ratio: bool = False,
) -> DotPlot:
    """Dots with intervals; those of one `colour` or `shape` are one series. Ratios have a logarithmic axis around 1."""
    centre = 1 if is_ratio else centre
    names, series = list(dict.fromkeys(order)), shape or colour
    return DotPlot(rows, label, names, title, series, valence or NEUTRAL, floor, tick, centre, is_ratio)


@dataclass(frozen=True)
class HeatMap:
    """Cells with `text`; those that are `marked` have the colour of their direction, the others none."""

    rows: Sequence[Row] = field(repr=False)
    across: str
    down: str
    tones: Mapping[str, int]
    """Of each column whether more is better for the person (1), worse (-1) or neither (0)."""
    order: Sequence[str] = field(repr=False)

    def draw(self, width: float) -> Part:
        size = 11 if width < PHONE else 12
        names = min(max(measure_text(name, size) for name in self.order) + 10, 0.36 * width)
        cell = (width - names) / len(self.tones)
        is_level = all(measure_text(name, size) <= cell - 4 for name in self.tones)
        top = 22.0 if is_level else 14 + 0.72 * min(120, max(measure_text(name, size) for name in self.tones))
        parts = []
        for k, name in enumerate(self.tones):
            x = names + cell * (k + (0.5 if is_level else 0.3))
            heading = draw_text(0, 0, shorten_text(name, 120, size), "soft", size, "middle" if is_level else "start")
            turned = "" if is_level else " rotate(-45)"
            parts.append(f'<g transform="translate({x:.0f},{top - 8:.0f}){turned}">{heading}</g>')
        for k, name in enumerate(self.order):
            y = top + ROW * k + 14
            parts.append(draw_text(names - 6, y, shorten_text(name, names - 8, size), "soft", size, "end"))
        columns, lines = list(self.tones), list(self.order)
        for row in self.rows:
            x, y = names + cell * columns.index(row[self.across]), top + ROW * lines.index(row[self.down])
            parts.append(self._draw_cell(row, x, y, cell, size))
        return Part("".join(parts), top + ROW * len(self.order) + 6)

    def _draw_cell(self, row: Row, x: float, y: float, width: float, size: float) -> str:
        tone = Valence(self.tones[row[self.across]], "", "").tone(row["value"] or 0)
        box = draw_box(x + 1, y + 1, width - 2, ROW - 2, f"cell {tone}" if row["marked"] else "cell", 2)
        is_word = not any(letter.isdigit() for letter in row["text"])
        text = row["text"].split()[0] if is_word and row["text"] and width < 90 else row["text"]
        if measure_text(text, size - 1) > width - 3:
            return box
        return box + draw_text(x + width / 2, y + 14, text, "ink bold" if row["marked"] else "soft", size - 1, "middle")


def heat(rows: Sequence[Row], *, across: str, down: str, columns: Mapping[str, int], order: Sequence[str]) -> HeatMap:
    """Cells of differences from 0."""
    return HeatMap(rows, across, down, columns, order)


def ratio_heat(rows: Sequence[Row], *, across: str, down: str, columns: Sequence[str], order: Sequence[str]) -> HeatMap:
    """Cells of ratios: neither more nor less is better, and cells that are not marked are empty."""
    shown = [row if row["marked"] else row | {"text": ""} for row in rows]
    return HeatMap(shown, across, down, dict.fromkeys(columns, 0), order)
