"""The tokens of many texts, one after the other in flat arrays: what is asked of them all is asked at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np


class Ragged:
    """Rows of numbers, each as long as it is, one after the other: batches of one length are looked up, not stacked."""

    def __init__(self, numbers: np.ndarray, lengths: np.ndarray) -> None:
        self.numbers, self.lengths = numbers, lengths
        self.starts = np.cumsum(self.lengths) - self.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def of(self, some: np.ndarray) -> np.ndarray:
        """These rows, which are of one length."""
        return self.numbers[self.starts[some][:, None] + np.arange(self.lengths[some[0]])]

    def beside(self, numbers: np.ndarray) -> Self:
        """Other numbers in the same places."""
        other = copy(self)
        other.numbers = numbers
        return other

    @cached_property
    def row(self) -> np.ndarray:
        """Which row each number stands in."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def place(self) -> np.ndarray:
        """Where each number stands in its row."""
        return np.arange(len(self.numbers)) - np.repeat(self.starts, self.lengths)

    def count(self, which: np.ndarray) -> np.ndarray:
        """How many of each row's numbers are marked in `which`."""
        return np.bincount(self.row[which], minlength=len(self))


class Tokens:
    """Tokenised texts. Only what is looked at is copied: on many cores copying takes as long as tokenising does."""

    def __init__(self, encodings: Sequence[Any]) -> None:
        self._encodings = encodings
        self.ids = Ragged(self._flat("ids"), np.array([len(encoding) for encoding in encodings], dtype=np.int64))

    @cached_property
    def own(self) -> np.ndarray:
        """Which tokens are the texts' own, and not the tokenizer's additions."""
        return self._flat("special_tokens_mask") == 0

    @cached_property
    def kinds(self) -> Ragged:
        """The numbers that some models give to parts of a text."""
        return self.ids.beside(self._flat("type_ids"))

    @cached_property
    def spans(self) -> np.ndarray:
        """From which to which character of its text each token reaches."""
        return np.fromiter(chain.from_iterable(self._each("offsets")), dtype=np.int64).reshape(-1, 2)

    @cached_property
    def words(self) -> np.ndarray:
        """Which word of its text each token belongs to; -1 for those of none."""
        return np.fromiter((-1 if word is None else word for word in self._each("word_ids")), dtype=np.int64)

    def inside(self, start: Sequence[int], end: Sequence[int]) -> np.ndarray:
        """The texts' own tokens that reach between these characters, given for each text."""
        first, last = self.spans.T
        row = self.ids.row
        return self.own & (last > np.array(start)[row]) & (first < np.array(end)[row])

    def _flat(self, what: str) -> np.ndarray:
        return np.fromiter(self._each(what), dtype=np.int64)

    def _each(self, what: str) -> Iterator[Any]:
        """Taken one text after the other: thousands of lists held at once keep the garbage collector busy."""
        return chain.from_iterable(getattr(encoding, what) for encoding in self._encodings)
