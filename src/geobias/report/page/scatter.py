"""Points of two numbers, each with its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from geobias.report.page.blocks import Row
from geobias.report.page.svg import PHONE, Part, Scale, draw_line, draw_mark, draw_text, measure_text, place_ticks


@dataclass(frozen=True)
class Scatter:
    """A dot with its name for each row, by two numbers; hollow where `is_filled` says so."""

    rows: Sequence[Row] = field(repr=False)
    label: str
    x: str
    y: str
    titles: tuple[str, str]
    is_filled: Callable[[Row], bool] = lambda row: True

    def draw(self, width: float) -> Part:
        height, left = 260.0, 44.0
        known = [row for row in self.rows if row[self.x] is not None and row[self.y] is not None]
        (low, high), (bottom, top) = (_find_reach([row[name] for row in known]) for name in (self.x, self.y))
        across = Scale(low, high, left, width - 12)
        down = Scale(bottom, top, 24 + height, 24)
        parts = [draw_text(0, 12, f"↑ {self.titles[1]}", "soft", 12)]
        for tick in place_ticks(bottom, top, 5):
            parts += [draw_line(left, down(tick), width, down(tick), "grid")]
            parts += [draw_text(left - 6, down(tick) + 4, f"{tick:g}", "soft", 11, "end")]
        ticks = place_ticks(low, high, 4 if width < PHONE else 7)
        parts += [draw_text(across(tick), 42 + height, f"{tick:g}", "soft", 11, "middle") for tick in ticks]
        parts.append(draw_text(width, 60 + height, f"{self.titles[0]} →", "soft", 12, "end"))
        labels: list[tuple[float, float]] = []
        for row in known:
            x, y, name = across(row[self.x]), down(row[self.y]), str(row[self.label])
            tip = f"{name}: {self.titles[0]} {row[self.x]:.3g}, {self.titles[1]} {row[self.y]:.3g}"
            parts.append(draw_mark(x, y, 5, "neutral" if self.is_filled(row) else "open", tip))
            is_left, below = x + 10 + measure_text(name, 12) > width, y + 4
            while any(abs(below - other) < 13 and abs(x - other_x) < 150 for other_x, other in labels):
                below -= 14
            labels.append((x, below))
            parts.append(draw_text(x - 9 if is_left else x + 9, below, name, "ink", 12, "end" if is_left else "start"))
        return Part("".join(parts), 70 + height)


def _find_reach(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    spare = 0.08 * (high - low) or abs(0.1 * high) or 1.0
    return low - spare, high + spare
