"""Batches of sequences of equal, or nearly equal, length, prepared by a thread while the model computes.

Padding costs work and can change a score in the last digits; equal lengths need neither padding nor mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from geobias.texts.lazy_texts import select_texts

SHARE_TEXTS = 32768  # tokenised together,
SHARE_CHARACTERS = 2**23  # or fewer, if they are long: a token takes some hundred bytes until it is read

Prepared = TypeVar("Prepared")


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
