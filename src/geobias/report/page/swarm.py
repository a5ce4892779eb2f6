"""Every place as a dot on one axis: equal places lie above each other, the farthest have a name and an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from geobias.report.page.blocks import Row
from geobias.report.page.charts import Valence
from geobias.report.page.svg import (
    PHONE,
    Part,
    Scale,
    count_places,
    draw_axis,
    draw_line,
    draw_mark,
    draw_text,
    measure_text,
    place_ticks,
    wrap_text,
)
from geobias.report.tables import signed

MOST_LABELS = 3  # on each side
MOST_ABOVE = 19  # dots above each other: a larger pile of equal values is spread sideways
TALLEST, SMALLEST_RADIUS = 175.0, 1.8  # pixels of all dots, which get smaller where they are piled higher


@dataclass(frozen=True)
class Swarm:
    """Rows with `value`, `low`, `high` and `marked`; distinguishable ones have the colour of their direction.

    With `place`, a column of shares, dots stand there instead of at their value, and the line is at `centre`.
    """

    rows: Sequence[Row] = field(repr=False)
    label: str
    title: str
    valence: Valence
    place: str = "value"
    centre: float = 0.0

    def draw(self, width: float) -> Part:
        is_phone = width < PHONE
        radius = 2.7 if is_phone else 3.7 if width < 800 else 4.6
        right, left = self._choose_labels(1), self._choose_labels(-1)
        named = [*right, *left]
        known = [row[self.place] for row in self.rows] + [self.centre]
        known += [self._find_end(row, end) for row in named for end in ("low", "high")]
        spare = 0.05 * (max(known) - min(known)) or 1.0
        scale = Scale(min(known) - spare, max(known) + spare, 8, width - 8)
        across = [scale(row[self.place]) for row in self.rows]
        places = place_dots(across, radius, 13 if is_phone else MOST_ABOVE)
        while _measure_height(places) > TALLEST and radius > SMALLEST_RADIUS:
            radius *= 0.85
            places = place_dots(across, radius, 3 * MOST_ABOVE)
        lane, size = (20.0, 12.0) if is_phone else (24.0, 13.5)
        is_above = not all(self._fits(row, scale, 1, size, width) for row in right)
        is_above = is_above or not all(self._fits(row, scale, -1, size, width) for row in left)
        lane += size + 2 if is_above else 0  # names of wide intervals stand above them
        lines = wrap_text(self.title, width - 4, 12)
        top = 16.0 * len(lines) + 6
        is_stacked = is_phone or is_above or self._overlaps(scale, right, left, size)
        bottom_of_lanes = top + lane * (len(right) + len(left) if is_stacked else max(len(right), len(left)))
        middle = bottom_of_lanes + max(-min(y for _, y in places) + radius + 12, 26)
        axis = middle + max(y for _, y in places) + radius + 12
        parts = [draw_text(0, 12 + 16 * k, line, "soft", 12) for k, line in enumerate(lines)]
        ticks = place_ticks(min(known) - spare, max(known) + spare, 4 if is_phone else 8)
        has_signs = min(known) < 0 < max(known)
        parts.append(
            draw_axis(
                scale,
                ticks,
                top,
                axis,
                self.centre,
                lambda value: (
                    f"{value:{'+' if value and has_signs else ''}g}".replace("-", "−")
                    if self.place == "value"
                    else f"{100 * value:g} %"
                ),
            )
        )
        centres = {id(row): place for row, place in zip(self.rows, places, strict=True)}
        for row, (x, y) in zip(self.rows, places, strict=True):
            size_of_dot = max(radius, 3.4) if row["marked"] else radius
            parts.append(
                draw_mark(x, middle + y, size_of_dot, self._choose_kind(row), "" if is_phone else self._say(row))
            )
        for side, rows in ((1, right), (-1, left)):
            for k, row in enumerate(rows):
                y = top + lane * (k + (len(right) if is_stacked and side < 0 else 0)) + (lane - 8 if is_above else 12)
                dot = centres[id(row)][0], middle + centres[id(row)][1]
                parts += self._draw_label(row, scale, y, 0 if is_above else side, size, dot, width)
        below, above = f"← {self.valence.below}", f"{self.valence.above} →"
        left_tone, right_tone = (
            self.valence.tone(side) if any(row["marked"] for row in self.rows) else "soft" for side in (-1, 1)
        )
        parts.append(draw_text(0, axis + 34, below, left_tone, 12))
        parts.append(draw_text(width, axis + 34, above, right_tone, 12, "end"))
        return Part("".join(parts), axis + 42)

    def _choose_labels(self, side: int) -> list[Row]:
        """The farthest that are distinguishable; where none is, the farthest of all."""
        rows = [row for row in self.rows if row["marked"]] or list(self.rows)
        most = MOST_LABELS if any(row["marked"] for row in rows) else 1
        rows = sorted(rows, key=lambda row: -side * row["value"])
        return [row for row in rows[:most] if row["value"] * side > 0]

    def _overlaps(self, scale: Scale, right: Sequence[Row], left: Sequence[Row], size: float) -> bool:
        """Whether names of both sides in one lane would cover each other."""
        starts = [scale(self._find_end(row, "low")) for row in right]
        ends = [scale(self._find_end(row, "high")) for row in left]
        inner = [start - 20 - self._measure(row, size) for start, row in zip(starts, right, strict=True)]
        outer = [end + 20 + self._measure(row, size) for end, row in zip(ends, left, strict=True)]
        return any(start < end for start, end in zip(inner, outer, strict=False))

    def _find_end(self, row: Row, end: str) -> float:
        """Where the interval ends; the dot itself where there is none."""
        return float(row[self.place] + (0 if row[end] is None else row[end] - row["value"]))

    def _fits(self, row: Row, scale: Scale, side: int, size: float, width: float) -> bool:
        """Whether the name has space beside its interval, towards the middle."""
        if side > 0:
            return scale(self._find_end(row, "low")) - 7 - self._measure(row, size) >= 0
        return scale(self._find_end(row, "high")) + 7 + self._measure(row, size) <= width

    def _measure(self, row: Row, size: float) -> float:
        return measure_text(self._name(row), size, bold=True)

    def _name(self, row: Row) -> str:
        if self.place != "value":
            return f"{row[self.label]} {100 * row[self.place]:.1f} %"
        places = count_places([each["value"] for each in self.rows])
        return f"{row[self.label]} {signed(row['value'], places).replace('-', '−')}"

    def _draw_label(
        self, row: Row, scale: Scale, y: float, side: int, size: float, dot: tuple[float, float], width: float
    ) -> list[str]:
        """The interval in a lane above the dots, with a thin line to the dot; the name beside it, or above (side 0)."""
        kind = self._choose_kind(row)
        colour = kind if row["marked"] else "mute"
        low, high = (scale(self._find_end(row, end)) for end in ("low", "high"))
        text, base = self._name(row), y + 4.5
        x, anchor = (low - 7, "end") if side > 0 else (high + 7, "start")
        if side == 0:
            x, anchor, base = max(0.0, min(low, width - self._measure(row, size))), "start", y - 7
        return [
            draw_line(low, y, high, y, colour, 2.2),
            draw_line(dot[0], y, *dot, f"{colour} leader", 0.7),
            draw_mark(dot[0], y, 4, kind),
            draw_text(x, base, text, "ink bold halo" if row["marked"] else "soft halo", size, anchor),
        ]

    def _choose_kind(self, row: Row) -> str:
        return self.valence.tone(row["value"]) if row["marked"] else "open"

    def _say(self, row: Row) -> str:
        places = count_places([each["value"] for each in self.rows])
        bounds = "" if row["low"] is None else f" ({signed(row['low'], places)} to {signed(row['high'], places)})"
        test = "distinguishable" if row["marked"] else "not distinguishable"
        return f"{row[self.label]}: {signed(row['value'], places)}{bounds}, {test}".replace("-", "−")


def _measure_height(places: Sequence[tuple[float, float]]) -> float:
    return max(y for _, y in places) - min(y for _, y in places)


def place_dots(across: Sequence[float], radius: float, most: int) -> list[tuple[float, float]]:
    """Where dots of these places on the axis lie so that none covers another: as near to the axis as can be."""
    order = sorted(range(len(across)), key=across.__getitem__)
    shifts, start = [0.0] * len(across), 0
    while start < len(order):
        pile = [k for k in order[start:] if across[k] - across[order[start]] < radius / 2]
        columns = math.ceil(len(pile) / most)
        for position, k in enumerate(pile):
            shifts[k] = (position % columns - (columns - 1) / 2) * (2 * radius + 0.6)
        start += len(pile)
    placed: list[tuple[float, float]] = []
    places = [(0.0, 0.0)] * len(across)
    gap = 2 * radius + 0.6
    for k in sorted(order, key=lambda each: across[each] + shifts[each]):
        x = across[k] + shifts[k]
        near = [(other_x, y) for other_x, y in placed if abs(other_x - x) < gap]
        heights = [0.0]
        for other_x, y in near:
            reach = math.sqrt(gap**2 - (other_x - x) ** 2)
            heights += [y + reach, y - reach]
        free = [
            height
            for height in heights
            if all((other_x - x) ** 2 + (y - height) ** 2 >= gap**2 - 0.1 for other_x, y in near)
        ]
        places[k] = x, min(free, key=lambda height: (abs(height), height), default=0.0)
        placed.append(places[k])
    return places
