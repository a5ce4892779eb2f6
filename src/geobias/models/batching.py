"""The tokens of many texts in flat arrays, and batches of equal, or nearly equal, length.

Flat arrays let NumPy work on all texts at once. Padding costs work and can change a score in the last digits; equal
lengths need neither padding nor mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np

from geobias.texts.templates import select_texts

SHARE_TEXTS = 32768  # tokenised together,
SHARE_CHARACTERS = 2**23  # or fewer, if they are long: a token takes some hundred bytes until it is read

Prepared = TypeVar("Prepared")


def count_added_tokens(tokenizer: Any, names: Sequence[str]) -> np.ndarray:
    """How many tokens each name adds to a text, after a word: many tokenizers write the space into the name's first."""
    before, *after = map(len, tokenizer(["a", *(f"a {name}" for name in names)])["input_ids"])
    return np.array(after, dtype=int) - before


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


def prepared_ahead(texts: Sequence[str], prepare: Callable[[list[str]], Prepared]) -> Iterator[tuple[int, Prepared]]:
    """Yield where each share of the texts begins, and what `prepare` makes of it. A thread prepares the next one."""

    def prepare_share(start: int) -> tuple[Prepared, int]:
        share: list[str] = []
        characters = 0
        for text in select_texts(texts, np.arange(start, min(start + SHARE_TEXTS, len(texts)))):
            share.append(text)
            characters += len(text)
            if characters >= SHARE_CHARACTERS:
                break
        return prepare(share), start + len(share)

    with ThreadPoolExecutor(1) as thread:
        start, pending = 0, thread.submit(prepare_share, 0) if len(texts) else None
        while pending is not None:
            prepared, stop = pending.result()
            pending = thread.submit(prepare_share, stop) if stop < len(texts) else None
            yield start, prepared
            start = stop


def equal_length_batches(lengths: np.ndarray, costs: np.ndarray, budget: Callable[[], int]) -> Iterator[np.ndarray]:
    """Yield positions of sequences of one length, in order, whose costs sum to at most `budget` (at least one).

    The budget is read before every batch: it falls when memory runs out.
    """
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        total_costs = np.cumsum(costs[group])
        start = 0
        while start < len(group):
            before = total_costs[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(total_costs, before + budget(), side="right")))
            yield group[start:stop]
            start = stop


def like_length_batches(lengths: np.ndarray, budget: int, *, rows: int) -> Iterator[np.ndarray]:
    """Yield positions of sequences of nearly one length (at most a quarter longer), to be padded.

    A batch has at most `budget` tokens with padding and at most `rows` rows, but at least one. Empty sequences are
    left out.
    """
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    start = 0
    while start < len(order):
        reach = np.searchsorted(lengths[order], 1.25 * lengths[order[start]] + 1, side="right")
        fits = np.arange(1, reach - start + 1) * lengths[order[start:reach]] <= budget
        stop = start + max(1, min(int(fits.sum()), rows))
        yield order[start:stop]
        start = stop
