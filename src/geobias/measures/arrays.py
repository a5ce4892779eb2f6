"""Arrays of texts that are computed in blocks, and a threaded map.

NumPy's matrix products use as many threads as there are cores; several products at once would oversubscribe them. So
within a threaded map each product has one thread, and a map inside a map is a loop.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

NUMBERS_AT_ONCE = 2**19  # of an array of texts x countries x draws, in measures that sum over blocks of texts

Item = TypeVar("Item")
Result = TypeVar("Result")
_thread_state = threading.local()


@dataclass(frozen=True)
class LazyValues:
    """An array whose first axis is texts, computed for a block of texts when it is needed."""

    compute: Callable[[slice], np.ndarray]

    def __getitem__(self, texts: slice) -> np.ndarray:
        return self.compute(texts)


TextValues: TypeAlias = np.ndarray | LazyValues


def text_blocks(texts: int, numbers_per_text: int) -> list[slice]:
    """Cut texts into blocks: a single one, unless there are many."""
    size = max(1, NUMBERS_AT_ONCE // max(numbers_per_text, 1))
    return [slice(start, min(start + size, texts)) for start in range(0, max(texts, 1), size)]


def sum_over_texts(
    compute: Callable[[slice], Sequence[np.ndarray]], texts: int, numbers_per_text: int
) -> list[np.ndarray]:
    """Add up several sums over texts, which are computed for one block of texts after the other."""
    first, *rest = text_blocks(texts, numbers_per_text)
    totals = list(compute(first))
    for block in rest:
        totals = [total + part for total, part in zip(totals, compute(block), strict=True)]
    return totals


def map_threaded(work: Callable[[Item], Result], items: Iterable[Item], *, most: int | None = None) -> list[Result]:
    """Map in as many threads as there are cores, or at most `most`."""
    items = list(items)
    threads = min(os.cpu_count() or 1, most or len(items), len(items))
    if threads < 2 or getattr(_thread_state, "inside", False):
        return [work(item) for item in items]
    mark_thread = functools.partial(setattr, _thread_state, "inside", True)
    with threadpool_limits(1), ThreadPoolExecutor(threads, initializer=mark_thread) as pool:
        return list(pool.map(work, items))


def divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient; NaN where the denominator is 0."""
    return np.asarray(numerator / np.where(denominator == 0, np.nan, denominator))
