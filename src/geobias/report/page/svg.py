"""Pictures as SVG: marks, text that wraps, scales, and the frame with title, caveat and source that each picture has.

Colours are classes (`page/templates/figure.css`), so that one picture suits light and dark pages and downloads.
Coordinates are pixels at the width that a picture is drawn for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple, Protocol

# The widths of Helvetica and Arial, in thousandths of the size, from the space to the tilde.
LETTERS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, LETTERS.split()), strict=True))
USUAL_WIDTH, BOLD = 580, 1.08  # of other characters; how much wider bold letters are
RATIO_STEPS, MOST_RATIO_TICKS = (1.02, 1.05, 1.1, 1.2, 2, 4, 10, 100, 10_000), 6
PHONE = 480  # a picture that is narrower has smaller text and fewer words
TITLE_LINE, LINE = 1.26, 1.38  # distances of lines, in sizes of the text


class Part(NamedTuple):
    """A piece of a picture: its elements, and how tall it is."""

    svg: str
    height: float


class Picture(Protocol):
    """What can be drawn at any width."""

    def draw(self, width: float) -> Part: ...


def measure_text(text: str, size: float, *, bold: bool = False) -> float:
    """How wide a text is."""
    return sum(WIDTHS.get(letter, USUAL_WIDTH) for letter in text) * size / 1000 * (BOLD if bold else 1)


def wrap_text(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """The text in lines that are no wider, unless a single word is."""
    lines: list[str] = []
    for word in filter(None, text.replace(" %", "\u00a0%").split(" ")):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure_text(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def shorten_text(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, cut where it is too wide."""
    if measure_text(text, size, bold=bold) <= width:
        return text
    while text and measure_text(f"{text}…", size, bold=bold) > width:
        text = text[:-1].rstrip()
    return f"{text}…"


def draw_text(x: float, y: float, text: str, kind: str = "soft", size: float = 13, anchor: str = "start") -> str:
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{_round(x)}" y="{_round(y)}" class="{kind}" font-size="{size:g}"{side}>{escape(text)}</text>'


def draw_paragraph(y: float, text: str, width: float, kind: str, size: float, line: float = LINE) -> Part:
    """Lines of text from `y` down."""
    lines = wrap_text(text, width, size, bold="bold" in kind)
    drawn = (draw_text(0, y + size + k * size * line, each, kind, size) for k, each in enumerate(lines))
    return Part("".join(drawn), len(lines) * size * line)


def draw_line(x: float, y: float, to_x: float, to_y: float, kind: str, width: float = 1, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{_round(x)}" y1="{_round(y)}" x2="{_round(to_x)}" y2="{_round(to_y)}"'
    return f'<line {ends} class="{kind}" stroke-width="{width:g}"{dashed}/>'


def draw_box(x: float, y: float, width: float, height: float, kind: str, radius: float = 0, tip: str = "") -> str:
    place = f'x="{_round(x)}" y="{_round(y)}" width="{_round(max(width, 0))}" height="{_round(height)}"'
    corner = f' rx="{radius:g}"' if radius else ""
    return _with_tip("rect", f'{place} class="{kind}"{corner}', tip)


def draw_mark(x: float, y: float, radius: float, kind: str, tip: str = "", shape: int = 0) -> str:
    """A dot, or another shape: a square, a triangle, a diamond."""
    if shape == 0:
        return _with_tip("circle", f'cx="{_round(x)}" cy="{_round(y)}" r="{radius:g}" class="{kind}"', tip)
    r = radius * 1.1
    corners = (
        [(-r, -r), (r, -r), (r, r), (-r, r)],
        [(0, -1.2 * r), (1.2 * r, r), (-1.2 * r, r)],
        [(0, -1.4 * r), (1.4 * r, 0), (0, 1.4 * r), (-1.4 * r, 0)],
    )[shape - 1]
    points = " ".join(f"{_round(x + dx)},{_round(y + dy)}" for dx, dy in corners)
    return _with_tip("polygon", f'points="{points}" class="{kind}"', tip)


def _with_tip(name: str, attributes: str, tip: str) -> str:
    """An element whose title browsers show on hover."""
    return f"<{name} {attributes}><title>{escape(tip)}</title></{name}>" if tip else f"<{name} {attributes}/>"


def move(part: str, x: float, y: float) -> str:
    return f'<g transform="translate({_round(x)},{_round(y)})">{part}</g>'


def _round(number: float) -> str:
    return f"{round(number, 1):g}"


class Scale:
    """Numbers as places on an axis from `start` to `end`; with `is_ratio` equal ratios are equally far apart."""

    def __init__(self, low: float, high: float, start: float, end: float, *, is_ratio: bool = False) -> None:
        self._form: Callable[[float], float] = math.log if is_ratio else float
        self._low, self._span = self._form(low), (self._form(high) - self._form(low)) or 1.0
        self._start, self._length = start, end - start

    def __call__(self, value: float) -> float:
        return self._start + (self._form(value) - self._low) / self._span * self._length


def place_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten inside the range, about `most` of them."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    power = 10 ** math.floor(math.log10(raw))
    step = next(part * power for part in (1, 2, 2.5, 5, 10) if part * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def place_ratio_ticks(low: float, high: float) -> list[float]:
    """Powers of the smallest step of which six or fewer reach from `low` to `high`; they enclose both, and 1."""
    low, high = min(low, 1), max(high, 1)
    span = math.log(high / low)
    step = next((step for step in RATIO_STEPS if span <= MOST_RATIO_TICKS * math.log(step)), RATIO_STEPS[-1])
    first, last = math.floor(math.log(low, step)), math.ceil(math.log(high, step))
    return [step**power for power in range(first, last + 1)]


def count_places(values: Sequence[float]) -> int:
    """Digits after the point that show two digits of the largest value."""
    largest = max(map(abs, values), default=0)
    return 1 if not largest else min(4, max(1, 1 - math.floor(math.log10(largest))))


def format_ratio(value: float) -> str:
    return f"{value:.2f}×" if 0.1 <= value < 10 else f"{value:.2g}×"


def draw_axis(
    scale: Scale, ticks: Sequence[float], top: float, bottom: float, centre: float, say: Callable[[float], str]
) -> str:
    """A line and a number for each tick, and a darker line at the centre."""
    parts, last = [], -math.inf
    for tick in ticks:
        x = scale(tick)
        parts.append(draw_line(x, top, x, bottom, "grid"))
        half = measure_text(say(tick), 11) / 2
        if x - half > last + 4:
            parts.append(draw_text(x, bottom + 14, say(tick), "soft", 11, "middle"))
            last = x + half
    return "".join([*parts, draw_line(scale(centre), top, scale(centre), bottom, "soft", 1.5)])


def join_parts(draws: Sequence[Callable[[float], Part]]) -> Part:
    """Parts below each other: each is drawn at the height that it is given."""
    svg, y = "", 0.0
    for draw in draws:
        part = draw(y)
        svg, y = svg + part.svg, y + part.height
    return Part(svg, y)


def draw_frame(picture: Picture, width: float, *, title: str, note: str, source: str, claim: str = "") -> Part:
    """The picture below its title, and above its caveat and source, so that a crop or a download stays true.

    `claim` is a sentence that stands above all in a download; the page has it as its headline.
    """
    is_phone = width < PHONE
    sizes = (14.5, 12, 11.5) if is_phone else (16, 12.5, 12)
    inner = width - 4

    def draw_picture(y: float) -> Part:
        part = picture.draw(width)
        return Part(move(part.svg, 0, y + 8), part.height + 14)

    frame = join_parts(
        [
            lambda y: draw_paragraph(y, title, inner, "ink bold", sizes[0], TITLE_LINE),
            draw_picture,
            lambda y: draw_paragraph(y, note, inner, "soft", sizes[1]),
            lambda y: draw_paragraph(y, f"Source: {source}", inner, "soft", sizes[2]),
        ]
    )
    height = frame.height + 6
    if not claim:
        return Part(f'<g class="all">{frame.svg}</g>', height)
    headline = draw_paragraph(0, claim, inner, "ink bold", 19 if is_phone else 25, TITLE_LINE)
    hidden = f'<g class="claim" data-height="{headline.height + 8:.0f}" visibility="hidden">{headline.svg}</g>'
    return Part(f'{hidden}<g class="all">{frame.svg}</g>', height)
