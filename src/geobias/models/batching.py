"""What goes through a model together: sequences of one length, or nearly one; and what is made ready meanwhile.

A padded row costs work and can change a score in the last digits; equal lengths need neither padding nor mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from geobias.texts.lazy_texts import select_texts

AT_ONCE = 32768  # texts tokenised together,
CHARACTERS_AT_ONCE = 2**23  # or fewer, if they are long: a token takes some hundred bytes until it is read

Prepared = TypeVar("Prepared")


def prepared_ahead(texts: Sequence[str], prepare: Callable[[list[str]], Prepared]) -> Iterator[tuple[int, Prepared]]:
    """Share by share what `prepare` makes of the texts, and where the share begins; the next one is made meanwhile."""

    def made(start: int) -> tuple[Prepared, int]:
        share: list[str] = []
        size = 0
        for text in select_texts(texts, np.arange(start, min(start + AT_ONCE, len(texts)))):
            share.append(text)
            size += len(text)
            if size >= CHARACTERS_AT_ONCE:
                break
        return prepare(share), start + len(share)

    with ThreadPoolExecutor(1) as beside:
        start, waiting = 0, beside.submit(made, 0) if len(texts) else None
        while waiting is not None:
            ready, after = waiting.result()
            waiting = beside.submit(made, after) if after < len(texts) else None
            yield start, ready
            start = after


def equal_length_batches(lengths: np.ndarray, costs: np.ndarray, budget: Callable[[], int]) -> Iterator[np.ndarray]:
    """Positions of sequences of one length, in their order, at most `budget` of cost together (but at least one).

    The budget is asked for every batch anew: it falls while memory does not suffice.
    """
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        spent = np.cumsum(costs[group])
        start = 0
        while start < len(group):
            before = spent[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(spent, before + budget(), side="right")))
            yield group[start:stop]
            start = stop


def like_length_batches(lengths: np.ndarray, budget: int, *, rows: int) -> Iterator[np.ndarray]:
    """Positions of sequences of nearly one length (a quarter longer at most), for those that may be padded.

    At most `budget` of padded length and so many rows together, but at least one; empty sequences come in none.
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
