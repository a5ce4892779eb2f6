"""The numbers that the papers print, table by table, from `papers/`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import numpy as np

from geobias.errors import InputError

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
        raise InputError(f"There is no paper {paper!r} here: choose {' or '.join(TITLES)}.")
    titles = TITLES[paper]
    numbers = [number.replace("_", "-") for number in numbers]
    for number in numbers:
        if number not in titles:
            raise InputError(f"There is no table {number!r} of {paper} here: choose of {', '.join(titles)}.")
    return tuple(read_published(paper, number) for number in titles if not numbers or number in numbers)


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
