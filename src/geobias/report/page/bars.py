""" "Is that much?": a finding next to everyday changes of the same measure, the smallest first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from geobias.report.model_findings import Family
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.svg import (
    PHONE,
    Part,
    Scale,
    count_places,
    draw_box,
    draw_line,
    draw_text,
    measure_text,
    wrap_text,
)


@dataclass(frozen=True)
class Change:
    """One bar."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    tone: str = ""
    """Of the finding."""


@dataclass(frozen=True)
class Bars:
    """A bar for each change, below its words."""

    changes: Sequence[Change] = field(repr=False)
    title: str

    def draw(self, width: float) -> Part:
        size = 12.5 if width < PHONE else 13.5
        ends = [abs(end) for each in self.changes for end in (each.value, each.low, each.high) if end is not None]
        places = count_places(ends)
        scale = Scale(0, max(ends, default=1.0) or 1.0, 0, width - measure_text("−100.00", 13) - 8)
        lines = wrap_text(self.title, width - 4, 12)
        parts = [draw_text(0, 12 + 16 * k, line, "soft", 12) for k, line in enumerate(lines)]
        y = 16.0 * len(lines) + 14
        for each in self.changes:
            for line in wrap_text(each.label, width - 4, size, bold=bool(each.tone)):
                parts.append(draw_text(0, y + 8, line, "ink bold" if each.tone else "soft", size))
                y += 17
            end = scale(abs(each.value))
            parts.append(draw_box(0, y, max(end, 1.5), 13, each.tone or "bar", 2))
            if each.low is not None and each.high is not None:
                bounds = [each.low, each.high] if each.low * each.high > 0 else [0, max(abs(each.low), abs(each.high))]
                low, high = sorted(scale(abs(bound)) for bound in bounds)
                parts.append(draw_line(low, y + 6.5, high, y + 6.5, "ink", 1.6))
                parts += [draw_line(x, y + 2.5, x, y + 10.5, "ink", 1.6) for x in (low, high)]
                end = max(end, high)
            parts.append(
                draw_text(end + 7, y + 11, f"{abs(each.value):.{places}f}", "ink" if each.tone else "soft", 13)
            )
            y += 27
        return Part("".join(parts), y)


MOST_SQUARES = 400  # texts; of more no square could be seen


@dataclass(frozen=True)
class Squares:
    """A square for each text, filled where the prediction changes, below what was done to the texts."""

    rows: Sequence[Row] = field(repr=False)
    texts: int
    tone: str

    def draw(self, width: float) -> Part:
        size = 12.5 if width < PHONE else 13.5
        side = 14.0 if self.texts <= 100 else 8.0
        lines = math.ceil(self.texts / int(width // (side + 3)))
        columns = math.ceil(self.texts / lines)
        parts, y = list[str](), 0.0
        for row in self.rows:
            is_found = bool(row["marked"])
            text = f"{row['what']}: {row['changes']:,} of {self.texts:,}"
            for line in wrap_text(text, width - 4, size, bold=is_found):
                parts.append(draw_text(0, y + 12, line, "ink bold" if is_found else "soft", size))
                y += 17
            for k in range(self.texts):
                down, across = divmod(k, columns)
                kind = (self.tone if is_found else "bar") if k < row["changes"] else "pale"
                parts.append(draw_box(across * (side + 3), y + 4 + down * (side + 3), side, side, kind, 2))
            y += 14 + lines * (side + 3)
        return Part("".join(parts), y)


def make_squares(block_id: str, title: str, changes: Mapping[str, int], texts: int, tone: str) -> Chart | None:
    """How many predictions change; the last of `changes` is the finding. None where no square could be seen."""
    if not 0 < texts <= MOST_SQUARES:
        return None
    rows: list[Row] = [{"what": what, "changes": count, "marked": False} for what, count in changes.items()]
    rows[-1]["marked"] = True
    alt = "; ".join(f"{row['what']}: {row['changes']} of {texts}" for row in rows)
    reading = "One square for each text: filled where the prediction is another than without the sentence."
    return Chart(block_id, title, reading, f"{alt}.", Squares(rows, texts, tone), rows)


def make_scale_chart(
    block_id: str,
    family: Family[Any],
    *,
    title: str,
    found: str,
    changes: Mapping[str, float | None],
    smallest: float | None,
    times: float = 1,
) -> Chart:
    """The largest distinguishable place (else the smallest that would be found) among everyday changes.

    `found` names a place in the words of the bar: "Names from {}". Numbers are multiplied by `times`.
    """
    typical = median(abs(effect.value) for effect in family.effects)
    known = {"A typical country, in either direction": typical, **changes}
    bars = [Change(label, times * value) for label, value in known.items() if value]
    largest = max(family.standing_out, key=lambda effect: abs(effect.value), default=None)
    if largest is not None:
        low, high = (None if each is None else times * each for each in (largest.estimate.low, largest.estimate.high))
        tone = family.valence.tone(largest.value)
        bars.append(Change(found.format(largest.title), times * largest.value, low, high, tone))
    elif smallest:
        bars.append(
            Change("The smallest difference that this run finds in 4 of 5 cases", times * smallest, tone="neutral")
        )
    bars.sort(key=lambda each: abs(each.value))
    return Chart(
        block_id,
        "The same measure, for everyday changes",
        "Bars show size, not direction; line: 95 % interval. All bars: the same model and texts.",
        "; ".join(f"{each.label}: {abs(each.value):.3g}" for each in bars) + ".",
        Bars(bars, title),
        [{"change": each.label, "value": each.value, "low": each.low, "high": each.high} for each in bars],
    )
