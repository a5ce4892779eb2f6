"""What a page is made of: sections of blocks, each of which says what it shows and how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Row = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart. `rows` are the numbers behind it, which the page offers as CSV.

    Its `spec` leaves the colours of text and lines to the page, which is light or dark; its width is the page's.
    """

    kind: ClassVar[str] = "chart"
    id: str
    title: str  # says what it shows
    reading: str  # one sentence on how to read it
    alt: str  # for those who cannot see it: what is to be seen
    spec: Mapping[str, Any] = field(repr=False)
    rows: Sequence[Row] = field(repr=False)


@dataclass(frozen=True)
class Choice:
    """Charts of which the reader looks at one at a time."""

    kind: ClassVar[str] = "choice"
    id: str
    label: str
    options: Mapping[str, Chart]


@dataclass(frozen=True)
class Table:
    """Rows as they are, which the page offers as CSV too; numbers are formatted by whoever makes it."""

    kind: ClassVar[str] = "table"
    id: str
    title: str
    reading: str
    rows: Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class WorldMap:
    """The world map with its choosers and the panel of a country, drawn by the page's script from `data`."""

    kind: ClassVar[str] = "world"
    id: str
    title: str
    reading: str
    alt: str
    spec: Mapping[str, Any] = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)


Part = tuple[str, str | None]
"""A piece of a text, and, where it is a name, whose: "was" or "is"."""


@dataclass(frozen=True)
class Example:
    """An original and a renamed text, cut into pieces so that names can be marked, and the scores of both."""

    place: str
    before: Sequence[Part]
    after: Sequence[Part]
    scores: Sequence[Row]  # label, before, after


@dataclass(frozen=True)
class Examples:
    """Real texts: shown after a warning, and hidden by the page's switch."""

    kind: ClassVar[str] = "examples"
    id: str
    title: str
    reading: str
    items: Sequence[Example]


Block = Chart | Choice | Table | WorldMap | Examples


@dataclass(frozen=True)
class Number:
    """One of the numbers that sum a run up, already in words."""

    label: str
    value: str
    interval: str
    note: str


@dataclass(frozen=True)
class Section:
    """One run, or one study of it."""

    id: str
    title: str
    lead: str
    blocks: Sequence[Block]
    numbers: Sequence[Number] = ()
    notes: Sequence[str] = ()  # what was left out, cut, unknown
