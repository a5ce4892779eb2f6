"""The tokens of many texts in flat arrays, so that NumPy can work on all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np


class Ragged:
    """Rows of different lengths, one after the other in a flat array. Rows of equal length are gathered by index."""

    def __init__(self, numbers: np.ndarray, lengths: np.ndarray) -> None:
        self.numbers, self.lengths = numbers, lengths
        self.starts = np.cumsum(self.lengths) - self.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return these rows, which must have equal length, as a matrix."""
        return self.numbers[self.starts[rows][:, None] + np.arange(self.lengths[rows[0]])]

    def beside(self, numbers: np.ndarray) -> Self:
        """Return other numbers with the same row lengths."""
        other = copy(self)
        other.numbers = numbers
        return other

    @cached_property
    def row(self) -> np.ndarray:
        """The row of each number."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def place(self) -> np.ndarray:
        """The position of each number in its row."""
        return np.arange(len(self.numbers)) - np.repeat(self.starts, self.lengths)

    def count(self, which: np.ndarray) -> np.ndarray:
        """Count the numbers of each row that `which` marks."""
        return np.bincount(self.row[which], minlength=len(self))


class Tokens:
    """Tokenised texts. Arrays are copied when first used: on many cores, copying takes as long as tokenising."""

    def __init__(self, encodings: Sequence[Any]) -> None:
        self._encodings = encodings
        self.ids = Ragged(self._flat("ids"), np.array([len(encoding) for encoding in encodings], dtype=np.int64))

    @cached_property
    def is_text(self) -> np.ndarray:
        """Which tokens are not special tokens that the tokenizer added."""
        return self._flat("special_tokens_mask") == 0

    @cached_property
    def kinds(self) -> Ragged:
        """The token type ids."""
        return self.ids.beside(self._flat("type_ids"))

    @cached_property
    def spans(self) -> np.ndarray:
        """The first character of each token in its text, and the one after its last."""
        return np.fromiter(chain.from_iterable(self._each("offsets")), dtype=np.int64).reshape(-1, 2)

    @cached_property
    def words(self) -> np.ndarray:
        """The word of its text that each token belongs to; -1 for none."""
        return np.fromiter((-1 if word is None else word for word in self._each("word_ids")), dtype=np.int64)

    def inside(self, start: Sequence[int], end: Sequence[int]) -> np.ndarray:
        """Return which tokens overlap the given span of their text; special tokens do not."""
        first, last = self.spans.T
        row = self.ids.row
        return self.is_text & (last > np.array(start)[row]) & (first < np.array(end)[row])

    def _flat(self, what: str) -> np.ndarray:
        return np.fromiter(self._each(what), dtype=np.int64)

    def _each(self, what: str) -> Iterator[Any]:
        """Chain one attribute of all texts. Thousands of lists held at once would keep the garbage collector busy."""
        return chain.from_iterable(getattr(encoding, what) for encoding in self._encodings)
