"""A threaded map.

NumPy's matrix products use as many threads as there are cores; several products at once would oversubscribe them. So
within a map each product has one thread, and a map inside a map is a loop.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")
_thread_state = threading.local()


def map_threaded(work: Callable[[Item], Result], items: Iterable[Item], *, most: int | None = None) -> list[Result]:
    """Map in as many threads as there are cores, or at most `most`."""
    listed = list(items)
    threads = min(os.cpu_count() or 1, most or len(listed), len(listed))
    if threads < 2 or getattr(_thread_state, "inside", False):
        return [work(item) for item in listed]
    with threadpool_limits(1), ThreadPoolExecutor(threads, initializer=_mark_thread) as pool:
        return list(pool.map(work, listed))


def _mark_thread() -> None:
    _thread_state.inside = True
