"""Sequences of texts that are made on demand: the world is millions of sentences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, overload

import numpy as np

BlockShape = tuple[int, int, int]
TEXTS_AT_ONCE = 2**16  # whose indices are held while they are iterated over


class LazyTexts(Sequence[str]):
    """A block of texts with three dimensions, in C order: the last index changes fastest."""

    @property
    @abstractmethod
    def shape(self) -> BlockShape: ...

    @abstractmethod
    def at(self, first: int, second: int, third: int) -> str:
        """The text at an index of each dimension."""

    def iterate(self, first: list[int], second: list[int], third: list[int]) -> Iterator[str]:
        """Iterate over the texts at these indices."""
        return map(self.at, first, second, third)

    def find_distinct(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Positions of the distinct texts, and for each text which of them it equals; None if it must be compared."""
        return None

    def __len__(self) -> int:
        return prod(self.shape)

    def __iter__(self) -> Iterator[str]:
        """Texts that share their first index are iterated over together."""
        first_count, second_count, third_count = self.shape
        second = np.repeat(np.arange(second_count), third_count).tolist()
        third = list(range(third_count)) * second_count
        for first in range(first_count):
            yield from self.iterate([first] * len(second), second, third)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        _, second_count, third_count = self.shape
        rest, third = divmod(index, third_count)
        return self.at(*divmod(rest, second_count), third)


@dataclass(frozen=True)
class TextSelection(Sequence[str]):
    """Texts at given positions of a block, made on demand."""

    block: Any = field(repr=False)
    positions: np.ndarray = field(repr=False)

    @property
    def coordinates(self) -> tuple[np.ndarray, ...]:
        """Their indices in the block's three dimensions."""
        return np.unravel_index(self.positions, self.block.shape)

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), TEXTS_AT_ONCE):
            share = TextSelection(self.block, self.positions[start : start + TEXTS_AT_ONCE])
            yield from self.block.iterate(*(indices.tolist() for indices in share.coordinates))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self.block[int(i)] for i in self.positions[index]]
        text: str = self.block[int(self.positions[index])]
        return text


def select_texts(texts: Sequence[str], positions: np.ndarray) -> Sequence[str]:
    """The texts at these positions: a `TextSelection` of a block, otherwise a list."""
    if isinstance(texts, TextSelection):
        return TextSelection(texts.block, texts.positions[positions])
    return TextSelection(texts, positions) if isinstance(texts, LazyTexts) else [texts[int(i)] for i in positions]
