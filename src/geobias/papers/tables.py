"""What the tables of both papers share: published numbers, how measured ones join them, and how both are drawn.

A table is a module such as `herb/table_1.py`, with the published numbers beside it in `table_1.csv`. Its function
`measure` returns a `Reproduction`; the parameters of the function are the options of the table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from rich.table import Table

from geobias.checks import split_list
from geobias.errors import InputError
from geobias.measures.ranks import rank_correlation
from geobias.models.scorer import ModelIdentity
from geobias.report.results import SCHEMA_VERSION, package_versions, to_json
from geobias.report.results import number as plain_number
from geobias.report.tables import format_places, titled_table
from geobias.world.regions import Region, load_world

if TYPE_CHECKING:
    import pandas as pd

PAPERS = {"herb": "HERB (Li et al. 2022)", "names": "Barriere and Cifuentes (2024)"}
KEYS = frozenset("model metric descriptions testset country task label".split())  # columns that say what a row is
TOLERANCE = 0.10  # of the published number; or half a unit of its last printed digit, where that is more
RANKS = "rank corr."
RANKS_MEANING = (
    "Rank corr.: Spearman's correlation of measured with published, over the rows of a column, or over the columns "
    "(continents, languages) of a row; +1 is the same order. It is a summary, not a test."
)
FORM_TITLES = {"": "", "balanced": "balanced", "paper": "the paper's form, x 1000"}
Row = tuple[str, ...]
Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class Published:
    """A table as printed."""

    keys: tuple[str, ...]  # what tells rows apart
    columns: tuple[str, ...]
    rows: tuple[Row, ...]  # for each row its keys
    values: np.ndarray = field(repr=False)  # rows x columns
    places: tuple[int, ...]  # digits after the point, by column

    def compare(self, measured: Mapping[Row, np.ndarray], **about: Any) -> Reproduction:
        """The table with a measured row beside each published one; rows of other models follow."""
        return self.compare_forms({"": (self.values, measured)}, **about)

    def compare_forms(
        self, forms: Mapping[str, tuple[np.ndarray, Mapping[Row, np.ndarray]]], **about: Any
    ) -> Reproduction:
        """The same for a table in several forms: for each, the published values and the measured rows."""
        rows = list(dict.fromkeys([*self.rows, *(row for _, measured in forms.values() for row in measured)]))
        unknown = np.full(len(self.columns), np.nan)
        return Reproduction(
            keys=self.keys,
            columns=self.columns,
            places=self.places,
            rows=tuple(rows),
            forms=tuple(
                Form(
                    name,
                    np.vstack([published, *[unknown] * (len(rows) - len(self.rows))]),
                    np.vstack([measured.get(row, unknown) for row in rows]),
                )
                for name, (published, measured) in forms.items()
            ),
            **about,
        )


@dataclass(frozen=True)
class Form:
    """The numbers of a table in one form, rows x columns; NaN where there is none."""

    name: str  # of HERB's scores "balanced" or "paper" (as printed); else empty
    published: np.ndarray
    measured: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A table or a figure of a paper, measured again.

    Attributes
    ----------
    paper, table : str
        Its paper, and its name there, such as "table-5".
    title : str
        What it shows.
    settings : dict
        The options.
    models : list of ModelIdentity
        The models that were measured.
    missing : list of str
        Published models that are not available here.
    notes : list of str
        What the numbers mean, and why some cannot match.
    keys, columns, rows, places : tuple
        Of a table: what tells its rows apart, its columns, the keys of each row, the digits of each column.
    forms : tuple of Form
        Of a table: published and measured numbers.
    taken_for : dict
        For a column whose printed label is likely wrong: what it is taken for.
    ranked : tuple of str
        Columns of one kind, which can be ranked within a row.
    numbers : list of dict
        Of a figure: what it shows, as rows.
    chart : str
        Of a figure: its picture as SVG. Not saved in results.json.

    Notes
    -----
    Returned by `reproduce`. Printing it shows how many numbers agree.

    Examples
    --------
    >>> result = geobias.reproduce("herb", "table-1", model="gpt2")  # doctest: +SKIP
    >>> result.to_frame()[["column", "published", "measured"]]  # doctest: +SKIP
    """

    paper: str = ""
    table: str = ""
    title: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    models: list[ModelIdentity] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    keys: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    places: tuple[int, ...] = ()
    forms: tuple[Form, ...] = field(default=(), repr=False)
    taken_for: dict[str, str] = field(default_factory=dict)
    ranked: tuple[str, ...] = ()
    numbers: list[dict[str, Any]] = field(default_factory=list, repr=False)
    chart: str = field(default="", repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Return every number as a row.

        Returns
        -------
        pandas.DataFrame
            Of a table: what names the row, `column`, `taken_for`, `form`, `published` and `measured`.
        """
        import pandas as pd

        return pd.DataFrame(self.cells())

    def to_dict(self) -> dict[str, Any]:
        """Return the content of results.json.

        Returns
        -------
        dict
            Plain values that `json.dumps` can write.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "audit": "reproduce",
            "paper": self.paper,
            "table": self.table,
            "title": self.title,
            "settings": self.settings,
            "versions": package_versions(),
            "models": [to_json(model) for model in self.models],
            "models_not_available": self.missing,
            "summary": self.summary(),
            "numbers": self.cells(),
            "notes": self.notes,
        }

    def cells(self) -> list[dict[str, Any]]:
        """Every number in each of its forms: a row of the CSV file."""
        return self.numbers or [
            {
                **dict(zip(self.keys, row, strict=True)),
                "column": column,
                "taken_for": self.taken_for.get(column, column),
                "form": form.name,
                "published": plain_number(published),
                "measured": plain_number(measured),
            }
            for form in self.forms
            for row, row_published, row_measured in zip(self.rows, form.published, form.measured, strict=True)
            for column, published, measured in zip(self.columns, row_published, row_measured, strict=True)
        ]

    def count_agreement(self) -> tuple[int, int, int]:
        """Of the printed form: published numbers, those measured too, and those of them that agree."""
        form = self.forms[-1]  # the paper's own form, where there are two
        is_published, both = ~np.isnan(form.published), ~np.isnan(form.published) & ~np.isnan(form.measured)
        tolerance = np.maximum(TOLERANCE * np.abs(form.published), 0.5 * 10.0 ** -np.array(self.places, dtype=float))
        agree = np.abs(form.measured[both] - form.published[both]) <= tolerance[both]
        return int(is_published.sum()), int(both.sum()), int(agree.sum())

    def summary(self) -> str:
        """Return in a sentence how many numbers agree with the published ones.

        Returns
        -------
        str
            The same text that `print(result)` shows.
        """
        name = f"{PAPERS.get(self.paper, 'The paper')}, {self.table.replace('-', ' ')}"
        if not self.forms:
            return f"{name}: {self.title}. {len(self.numbers):,} numbers; the paper prints none of them."
        published, measured, agreeing = self.count_agreement()
        if measured:
            verb = "is" if agreeing == 1 else "are"
            missing = f" {published - measured:,} of {published:,} were not measured." if published > measured else ""
            return (
                f"{name}: {agreeing:,} of {measured:,} measured numbers {verb} within {100 * TOLERANCE:.0f} % of the "
                f"published ones.{missing}"
            )
        own = ", ".join(dict.fromkeys(model.name for model in self.models))
        return f"{name}: none of {published:,} published numbers is of {own}, whose numbers stand below them."

    def __repr__(self) -> str:
        return "\n".join([self.summary(), *self.notes])


@cache
def read_published(paper: str, table: str) -> Published:
    """The numbers of a table as printed, from the CSV file beside its module."""
    file = resources.files("geobias.papers") / paper / f"{table}.csv"
    header, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
    keys = tuple(name for name in header if name in KEYS)
    cells = [row[len(keys) :] for row in rows]
    values = np.array([[float(cell) for cell in row] for row in cells])
    places = tuple(max(len(cell.partition(".")[2]) for cell in column) for column in zip(*cells, strict=True))
    row_keys = tuple(tuple(row[: len(keys)]) for row in rows)
    return Published(keys, tuple(header[len(keys) :]), row_keys, values, places)


def load_each(
    models: Sequence[str], published: Sequence[str], load: Callable[[str], Loaded], missing: list[str]
) -> Iterator[tuple[str, Loaded]]:
    """The models one after the other: the user's, or the published ones, of which those not here join `missing`."""
    loaded = 0
    for name in models or published:
        try:
            model = load(name)
        except InputError:
            if models:
                raise
            missing.append(name)
            continue
        loaded += 1
        yield name, model
    if not loaded:
        raise InputError(
            f"These models are needed and not available here: {', '.join(missing)}. Download them to the Hugging Face "
            "cache, or measure yours: --model MODEL."
        )


def choose_countries(countries: str | Sequence[str], **options: Any) -> list[Region]:
    """The countries that the user names; else all."""
    names = split_list(countries, "--countries") if countries else []
    return [each for each in load_world(cities=0, countries=names, **options).regions if each.level == "country"]


def draw_tables(result: Reproduction, width: int) -> Iterator[Table]:
    """Each form of a table in the paper's layout, measured below published.

    No number is cut: columns that do not fit go into a further table below.
    """
    for form in result.forms:
        title = "; ".join(filter(None, (f"{result.paper} {result.table}: {result.title}", FORM_TITLES[form.name])))
        row_names, *columns = _list_columns(result, form)
        for n, group in enumerate(_groups(columns, width - 2 - _width(row_names))):  # without the table's edges
            part = titled_table(f"{title}; further columns" if n else title)
            part.padding = 0
            for k, column in enumerate([row_names, *group]):
                part.add_column(column[0], no_wrap=True, justify="right" if k else "left")
            for line in list(zip(row_names, *group, strict=True))[1:]:
                part.add_row(*line, style="bold" if line[0].endswith("measured") else None)
            yield part


def _list_columns(result: Reproduction, form: Form) -> Iterator[list[str]]:
    """Names, then every column: its head, one or two lines for each row, and the rank correlation, if there is one."""
    ranked = [result.columns.index(name) for name in result.ranked]
    lines: list[tuple[str, np.ndarray, str]] = []  # the name of a row, its numbers, and their rank correlation
    for row, published, measured in zip(result.rows, form.published, form.measured, strict=True):
        name, is_published = ", ".join(row), not np.isnan(published).all()
        lines += [(name, published, "")] if is_published else []
        if not np.isnan(measured).all():
            rank = _correlate(published[ranked], measured[ranked]) if ranked else ""
            lines.append(("  measured" if is_published else f"{name}, measured", measured, rank))
    ranks = [_correlate(form.published[:, k], form.measured[:, k]) for k in range(len(result.columns))]
    last = [RANKS] if any(ranks) else []
    yield ["", *(name for name, _, _ in lines), *last]
    for k, name in enumerate(result.columns):
        heading = f"{name}\nis {result.taken_for[name]}" if name in result.taken_for else name.replace("_", "\n")
        cells = [format_places(plain_number(values[k]), result.places[k]) for _, values, _ in lines]
        yield [heading, *cells, *(ranks[k] for _ in last)]
    if any(rank for _, _, rank in lines):
        yield [RANKS.replace(" ", "\n"), *(rank for _, _, rank in lines), *("" for _ in last)]


def _correlate(published: np.ndarray, measured: np.ndarray) -> str:
    value = rank_correlation(published, measured)
    return "" if value is None else f"{value:+.2f}"


def _width(column: Sequence[str]) -> int:
    return max(len(line) for cell in column for line in cell.split("\n"))


def _groups(columns: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Columns in as few tables as they fit into."""
    group: list[list[str]] = []
    for column in columns:
        if group and sum(_width(each) + 1 for each in (*group, column)) > room:
            yield group
            group = []
        group.append(column)
    yield group
