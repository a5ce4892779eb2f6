"""What a page is made of: sections of blocks, each of which says what it shows and how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from geobias.measures.estimates import Estimate
from geobias.report.page.svg import Picture

Row = dict[str, Any]


@dataclass(frozen=True)
class Titled:
    """A block with a heading."""

    id: str
    title: str  # says what it shows
    reading: str  # one sentence on how to read it


@dataclass(frozen=True)
class Chart(Titled):
    """A picture. `rows` are the numbers behind it, which the page offers as CSV."""

    kind: ClassVar[str] = "chart"
    alt: str  # for those who cannot see it: what is to be seen
    picture: Picture = field(repr=False)
    rows: Sequence[Row] = field(repr=False)
    has_texts: bool = False  # it shows words that may offend: the page's switch hides it


@dataclass(frozen=True)
class Remark(Titled):
    """A sentence where there is nothing to draw."""

    kind: ClassVar[str] = "remark"


@dataclass(frozen=True)
class Table(Titled):
    """Rows as they are, which the page offers as CSV too; numbers are formatted by whoever makes it."""

    kind: ClassVar[str] = "table"
    rows: Sequence[Mapping[str, str]]
    text_columns: Sequence[str] = ()  # with words that may offend: the page's switch hides them


@dataclass(frozen=True)
class Choice:
    """Charts or tables of which the reader looks at one at a time.

    Where the options are models of the page, one control switches all such choices of the page.
    """

    kind: ClassVar[str] = "choice"
    id: str
    label: str
    options: Mapping[str, Chart | Table]


@dataclass(frozen=True)
class MapMeasure:
    """A number for each country of a map, by ISO code, with its interval and its test.

    Countries whose adjusted p-value is below 0.05 have a colour, the others none.
    """

    title: str
    legend: str  # the unit of the colours
    reading: str
    estimates: Mapping[str, Estimate] = field(repr=False)
    baseline: str  # what the test compares a country with, such as "the mean of countries"
    centre: float | None = None  # where colours diverge
    tone: int = 0  # 1 where a higher value is better for the person, -1 where it is worse
    is_ratio: bool = False  # colours follow the logarithm of the value
    model: str | None = None  # whose numbers they are: shown where the reader chooses the model


@dataclass(frozen=True)
class WorldMap:
    """A world map for each measure."""

    kind: ClassVar[str] = "world"
    id: str
    title: str
    alt: str
    measures: Sequence[MapMeasure]
    names: Mapping[str, str] = field(repr=False)  # of the countries, by ISO code
    caution: str = ""  # why the map may mislead


Part = tuple[str, str | None]
"""A piece of a text, and, where it is a name, whose: "was" or "is"."""


@dataclass(frozen=True)
class Example:
    """A text before and after a change, cut into pieces so that names can be marked, and the scores of both."""

    place: str
    before: Sequence[Part]
    after: Sequence[Part]
    scores: Sequence[Row]  # label, before, after
    reference: str = "original"  # what the changed text is compared with


Block = Chart | Choice | Remark | Table | WorldMap


@dataclass(frozen=True)
class CardText:
    """What a card says and shows of an answer besides its finding."""

    question: str
    """In everyday words."""
    blocks: Sequence[str] = ()
    """The ids of the blocks whose pictures it shows; by default the first one of its model."""


@dataclass(frozen=True)
class Section:
    """One run, or one study of it."""

    id: str
    title: str
    lead: str
    blocks: Sequence[Block]
    notes: Sequence[str] = ()  # what was left out, cut, unknown
    cards: Mapping[str, CardText] = field(default_factory=dict)
    """By measure of an answer; "" is for all others."""
