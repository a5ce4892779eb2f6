"""Sequences of texts that are written out only when looked at: the world is millions of sentences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, overload

import numpy as np

BlockShape = tuple[int, int, int]


class LazyTexts(Sequence[str]):
    """A block of texts of three dimensions, numbered so that the last one runs fastest."""

    @property
    @abstractmethod
    def shape(self) -> BlockShape: ...

    @abstractmethod
    def at(self, first: int, second: int, third: int) -> str:
        """The text at these places of the three dimensions."""

    def written(self, first: list[int], second: list[int], third: list[int]) -> Iterator[str]:
        """The texts at these places, one after the other."""
        return map(self.at, first, second, third)

    def distinct(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The positions of the first of equal texts, and which of them each text is; None if only a look can tell."""
        return None

    def __len__(self) -> int:
        return prod(self.shape)

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
    """Some of a block's texts, still not written out."""

    of: Any = field(repr=False)
    positions: np.ndarray = field(repr=False)

    @property
    def coordinates(self) -> tuple[np.ndarray, ...]:
        """Where they stand in the block's three dimensions."""
        return np.unravel_index(self.positions, self.of.shape)

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[str]:
        written: Iterator[str] = self.of.written(*(places.tolist() for places in self.coordinates))
        return written

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self.of[int(i)] for i in self.positions[index]]
        text: str = self.of[int(self.positions[index])]
        return text


def select_texts(texts: Sequence[str], positions: np.ndarray) -> Sequence[str]:
    """The texts at these positions: written out, unless they are of a block."""
    if isinstance(texts, TextSelection):
        return TextSelection(texts.of, texts.positions[positions])
    return TextSelection(texts, positions) if isinstance(texts, LazyTexts) else [texts[int(i)] for i in positions]
