"""Sequences of texts that are written out only when looked at: the world is millions of sentences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import prod
from typing import overload

Shape = tuple[int, int, int]


class LazyTexts(Sequence[str]):
    """A block of texts of three dimensions, numbered so that the last one runs fastest."""

    @property
    @abstractmethod
    def shape(self) -> Shape: ...

    @abstractmethod
    def at(self, first: int, second: int, third: int) -> str:
        """The text at these places of the three dimensions."""

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
