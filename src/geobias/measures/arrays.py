"""Arrays of NumPy, or of torch on the GPU that this process uses, and a threaded map.

Measures that take long are written for both: they use the functions of `array_namespace` of their input.

NumPy's matrix products use as many threads as there are cores; several products at once would oversubscribe them. So
within a threaded map each product has one thread, and a map inside a map is a loop.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from array_api_compat import array_namespace, device
from threadpoolctl import threadpool_limits

FEWEST_NUMBERS = 2**26  # capacity below which the GPU is not used
COPIES = 12  # of its input that a measure holds at most
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


def compute_on_gpu(measure: Callable[[Any], Result], numbers: np.ndarray) -> Result:
    """Compute a measure on the GPU in use, if there is one with enough free memory; otherwise with NumPy."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or gpu_capacity() < FEWEST_NUMBERS:
        return measure(numbers)
    try:
        return measure(torch.as_tensor(numbers, device="cuda"))
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
    return measure(numbers)


def gpu_capacity() -> int:
    """How many numbers can be measured together in the free memory of the GPU."""
    torch = sys.modules["torch"]
    torch.cuda.empty_cache()
    return int(torch.cuda.mem_get_info()[0]) // (8 * COPIES)


def as_index(positions: np.ndarray, numbers: Any) -> Any:
    """Positions as an index array of the same library and device as the numbers."""
    return array_namespace(numbers).asarray(positions, device=device(numbers))


def divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient; NaN where the denominator is 0."""
    return np.asarray(numerator / np.where(denominator == 0, np.nan, denominator))


def to_numpy(numbers: Any) -> np.ndarray:
    """The numbers as a NumPy array, copied from the GPU if necessary."""
    return np.asarray(numbers if isinstance(numbers, np.ndarray) else numbers.cpu())
