"""Which names the answers to a block of texts show, and the sums over blocks that the variance over names needs.

`crossed_variance.py` has the equations. Every sum is over texts, so blocks of texts are added up one after the other,
and memory does not grow with the number of texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

MOST_SPARSE = 4  # possible codes for each answer, up to which they are ranked without sorting


class Cells(NamedTuple):
    """The names of every country, in the order of countries. A name that two countries show is two cells."""

    country: np.ndarray
    unit: np.ndarray  # number of the name
    kind: np.ndarray  # of the name: male, female, last or city, as a number


@dataclass(frozen=True)
class NameBlock:
    """A block of texts. Entry i says that a counted answer shows a name; an occurrence is a cell in a text."""

    texts: slice
    draws_per_text: np.ndarray  # counted
    answer: np.ndarray  # entries: position in the block, counted flat
    cell: np.ndarray  # entries
    occurrence: np.ndarray  # entries
    occurrence_cell: np.ndarray
    occurrence_text: np.ndarray  # position in the block
    count: np.ndarray  # of entries, by occurrence

    @classmethod
    def from_entries(
        cls, texts: slice, draws_per_text: np.ndarray, answer: np.ndarray, cell: np.ndarray, answers_per_text: int
    ) -> NameBlock:
        size = texts.stop - texts.start
        codes, occurrence = rank_codes(cell * size + answer // answers_per_text, (int(cell.max(initial=-1)) + 1) * size)
        count = np.bincount(occurrence, minlength=len(codes)).astype(float)
        return cls(texts, draws_per_text, answer, cell, occurrence, codes // size, codes % size, count)


class DesignSums(NamedTuple):
    """Sums over all texts that depend on the design alone."""

    moments: np.ndarray  # M: countries x kinds x kinds
    # kinds x countries x countries: sums over names of their counts' products, without pairs of the same text
    overlap: np.ndarray
    cell_count: np.ndarray  # cells: in how many answers the name is shown


def sum_design(blocks: Iterable[NameBlock], cells: Cells, countries: int, kinds: int) -> DesignSums:
    """Add up the design over blocks of texts."""
    moments = np.zeros((countries, kinds, kinds))
    overlap = np.zeros((kinds, countries, countries))
    cell_count = np.zeros(len(cells.kind))
    bounds = list(pairwise(np.searchsorted(cells.country, np.arange(countries + 1))))
    products = [sparse.csc_matrix((stop - start, stop - start)) for start, stop in bounds]  # sum over texts of W
    for block in blocks:
        cell_count += np.bincount(block.occurrence_cell, weights=block.count, minlength=len(cell_count))
        moments -= _sum_squares(block, cells, moments.shape)
        overlap -= _overlap_in_texts(block, cells, overlap.shape)
        by_cell = sparse.csc_matrix(
            (np.ones(len(block.answer)), (block.answer, block.cell)),
            shape=(int(block.answer.max(initial=-1)) + 1, len(cells.kind)),
        )
        draws = np.maximum(block.draws_per_text, 1)
        by_text = sparse.csc_matrix(
            (
                block.count / np.sqrt(draws[block.occurrence_text]),
                (block.occurrence_text, block.occurrence_cell),
            ),
            shape=(len(draws), len(cells.kind)),
        )
        for c, (start, stop) in enumerate(bounds):
            answers, texts = by_cell[:, start:stop], by_text[:, start:stop]
            products[c] = products[c] + answers.T @ answers - texts.T @ texts
    is_kind = np.eye(kinds)[cells.kind]
    for c, (start, stop) in enumerate(bounds):
        moments[c] += is_kind[start:stop].T @ (products[c].multiply(products[c]) @ is_kind[start:stop])
    for kind in range(kinds):
        of_kind = cells.kind == kind
        of_names = sparse.csr_matrix(
            (cell_count[of_kind], (cells.unit[of_kind], cells.country[of_kind])),
            shape=(int(cells.unit.max(initial=-1)) + 1, countries),
        )
        overlap[kind] += (of_names.T @ of_names).toarray()
    return DesignSums(moments, overlap, cell_count)


def _sum_squares(block: NameBlock, cells: Cells, shape: tuple[int, ...]) -> np.ndarray:
    """Sum over texts of W²: pairs of names that stand together in an answer, and all pairs of a text."""
    countries, kinds, _ = shape
    draws = np.maximum(block.draws_per_text, 1).astype(float)
    country, kind = cells.country[block.occurrence_cell], cells.kind[block.occurrence_cell]
    shown = sparse.csr_matrix(
        (np.ones(len(block.answer)), (block.answer, block.occurrence)),
        shape=(int(block.answer.max(initial=-1)) + 1, len(block.count)),  # of a block without counted answers, too
    )
    together = (shown.T @ shown).tocoo()
    first, second = together.row, together.col
    expected = block.count[first] * block.count[second] / draws[block.occurrence_text[first]]
    group = (country[first] * kinds + kind[first]) * kinds + kind[second]
    sums = np.bincount(group, weights=together.data * (together.data - 2 * expected), minlength=countries * kinds**2)
    of_text = (block.occurrence_text * countries + country) * kinds + kind
    squares = np.bincount(of_text, weights=block.count**2, minlength=len(draws) * countries * kinds)
    squares = squares.reshape(-1, countries, kinds)
    return sums.reshape(shape) + np.einsum("tck,tcl,t->ckl", squares, squares, 1 / draws**2)


def _overlap_in_texts(block: NameBlock, cells: Cells, shape: tuple[int, ...]) -> np.ndarray:
    """Sum over texts and names of the products of counts: kinds x countries x countries."""
    overlap = np.zeros(shape)
    units = int(cells.unit.max(initial=-1)) + 1
    kind = cells.kind[block.occurrence_cell]
    codes = block.occurrence_text * units + cells.unit[block.occurrence_cell]
    _, text_unit = rank_codes(codes, len(block.draws_per_text) * units)
    for k in range(len(overlap)):
        of_kind = kind == k
        counts = sparse.csr_matrix(
            (block.count[of_kind], (text_unit[of_kind], cells.country[block.occurrence_cell[of_kind]])),
            shape=(len(block.count), shape[1]),
        )
        overlap[k] = (counts.T @ counts).toarray()
    return overlap


@dataclass(frozen=True)
class ValueSums:
    """What the uncertainty of means needs of values (texts x countries x draws), summed over the counted draws.

    Like the values, they can be multiplied by a number, and constants of text and country subtracted.
    """

    text_sums: np.ndarray  # texts x countries
    draws_per_text: np.ndarray
    squares: np.ndarray  # countries: of values minus the mean of their text and country
    name_products: np.ndarray | None  # countries x kinds: Q; None where it is not needed

    __array_ufunc__ = None  # a NumPy number times this is `__rmul__`

    def __rmul__(self, factor: float) -> ValueSums:
        products = None if self.name_products is None else factor**2 * self.name_products
        return ValueSums(factor * self.text_sums, self.draws_per_text, factor**2 * self.squares, products)

    def __sub__(self, constants: np.ndarray) -> ValueSums:
        sums = self.text_sums - self.draws_per_text[:, None] * constants[:, :, 0]
        return ValueSums(sums, self.draws_per_text, self.squares, self.name_products)


class ColumnSums:
    """The sums of one column of values, while blocks of texts are added. Without cells, nothing is summed by name."""

    def __init__(self, shape: tuple[int, int, int], cells: Cells | None, kinds: int) -> None:
        texts, countries, _ = shape
        self.text_sums, self.squares = np.zeros((texts, countries)), np.zeros(countries)
        self.cells, self.products_shape = cells, (countries, kinds)
        if cells is not None:
            self._group = cells.country * kinds + cells.kind
            self._by_cell = np.zeros(len(cells.kind))  # values minus the mean of their text and country
            self._same_text = np.zeros(countries * kinds)  # products of answers to one text that show the same name

    def add(self, block: NameBlock, values: np.ndarray, counted: np.ndarray) -> None:
        """Add the values (texts x countries x draws) of a block of texts."""
        is_counted, draws = counted[:, None, :], np.maximum(block.draws_per_text, 1)
        sums = np.where(is_counted, values, 0).sum(axis=2)
        within = np.where(is_counted, values - (sums / draws[:, None])[:, :, None], 0)
        self.text_sums[block.texts] = sums
        self.squares += (within**2).sum(axis=(0, 2))
        if self.cells is not None:
            weights, cell = within.ravel()[block.answer], block.occurrence_cell
            by_occurrence = np.bincount(block.occurrence, weights=weights, minlength=len(block.count))
            self._by_cell += np.bincount(cell, weights=by_occurrence, minlength=len(self._by_cell))
            self._same_text += self._sum_groups(self._group[cell], by_occurrence**2)

    def finish(self, draws_per_text: np.ndarray) -> ValueSums:
        products = None
        if self.cells is not None:
            products = self._sum_groups(self._group, self._by_cell**2) - self._same_text
            products = products.reshape(self.products_shape)
        return ValueSums(self.text_sums, draws_per_text, self.squares, products)

    def _sum_groups(self, groups: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return np.bincount(groups, weights=numbers, minlength=len(self._same_text))


def rank_codes(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct codes in order, and which of them each is, as `np.unique` gives them; all are below `size`.

    Without sorting where that takes no more memory than a few copies of the codes.
    """
    if size > MOST_SPARSE * len(codes):
        return np.unique(codes, return_inverse=True)
    occurs = np.zeros(size, dtype=bool)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs, dtype=np.int64) - 1)[codes]
