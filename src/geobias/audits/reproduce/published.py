"""The tables that the papers print, from `papers/`, and how measured numbers join them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import numpy as np

from geobias.audits.reproduce.result import ReproducedTable, TableForm
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.measures.ranks import rank_correlation
from geobias.report.results import Number, number

PAPERS = {"herb": "HERB (Li et al. 2022)", "names": "Barriere and Cifuentes (2024)"}
TITLES = {
    "herb": {
        "1": "hierarchical bias of language models",
        "2": "flat cluster sparseness",
        "3": "topics left out, ALBERT, C_w",
        "4": "texts whose probability rose and fell, and by how much",
        "4-overall": "accuracy and macro-F1 with every country's prefix",
        "5": "labels that flip after fine-tuning, per cent",
        "6": "topics replaced, ALBERT, C_w",
    },
    "names": {
        "1": "change of Δ (points) and of predicted classes (per cent)",
        "2": "global correlations with perplexity (x 100)",
        "4": "global correlations of sentiment, more languages (x 100)",
        "5": "local correlations with perplexity, pooled (x 100)",
    },
}
KEYS = frozenset("model metric descriptions testset country task label".split())  # columns that say what a row is


@dataclass(frozen=True)
class PublishedTable:
    """A table as printed."""

    paper: str
    number: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # for each row its keys
    values: np.ndarray = field(repr=False)  # rows x columns
    places: tuple[int, ...]  # digits after the point, by column

    @property
    def title(self) -> str:
        return TITLES[self.paper][self.number]


def choose_tables(paper: str, numbers: Sequence[str] = ()) -> tuple[PublishedTable, ...]:
    """The tables with these numbers, in the paper's order; all of them where none is named."""
    if paper not in TITLES:
        raise InputError(f"Unknown paper {paper!r}. {describe_choices(paper, TITLES)}")
    titles = TITLES[paper]
    table_numbers = [name.replace("_", "-") for name in numbers]
    for name in table_numbers:
        if name not in titles:
            raise InputError(f"geobias has no table {name!r} of {paper}. {describe_choices(name, titles)}")
    return tuple(read_published(paper, name) for name in titles if not table_numbers or name in table_numbers)


@cache
def read_published(paper: str, number: str) -> PublishedTable:
    file = resources.files("geobias.audits.reproduce") / "papers" / f"{paper}-{number}.csv"
    header, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
    keys = tuple(name for name in header if name in KEYS)
    cells = [row[len(keys) :] for row in rows]
    values = np.array([[float(cell) for cell in row] for row in cells])
    places = tuple(max(len(cell.partition(".")[2]) for cell in column) for column in zip(*cells, strict=True))
    row_keys = tuple(tuple(row[: len(keys)]) for row in rows)
    return PublishedTable(paper, number, keys, tuple(header[len(keys) :]), row_keys, values, places)


def build_table(
    table: PublishedTable,
    measured: np.ndarray | None = None,
    *,
    forms: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    taken_for: Mapping[str, str] | None = None,
    ranked: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> ReproducedTable:
    """A published table with the measured numbers: an array of rows x columns, NaN where nothing was measured.

    A table in other forms than the printed one has published and measured numbers for each in `forms`.
    """
    if forms is None:
        forms = {"": (table.values, np.full(table.values.shape, np.nan) if measured is None else measured)}
    ranked_columns = [table.columns.index(name) for name in ranked]
    return ReproducedTable(
        table=table.number,
        title=table.title,
        keys=list(table.keys),
        columns=list(table.columns),
        taken_for=dict(taken_for or {}),
        ranked=list(ranked),
        rows=[list(row) for row in table.rows],
        forms=[
            TableForm(
                form=name,
                places=list(table.places),
                published=_nested(published),
                measured=_nested(values),
                rank_correlation_over_rows=list(map(rank_correlation, published.T, values.T)),
                rank_correlation_over_columns=list(
                    map(rank_correlation, published[:, ranked_columns], values[:, ranked_columns])
                ),
            )
            for name, (published, values) in forms.items()
        ],
        notes=list(notes),
    )


def _nested(values: np.ndarray) -> list[list[Number]]:
    return [[number(value) for value in row] for row in values]
