"""Work for a GPU: copies that nobody waits for, batches queued ahead, short waits between threads."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import numpy as np
import torch

BATCHES_AHEAD = 8  # handed to a GPU before the results of the first are read
SWITCH_INTERVAL = 2e-5  # seconds; a thread that starts kernel after kernel cannot wait 5 ms each time for others

Which = TypeVar("Which")
PendingResult = Callable[[], np.ndarray]  # waits for the result of a batch that was started


def copy_to_gpu(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """The array on a GPU, copied while that computes."""
    return torch.from_numpy(np.ascontiguousarray(array)).pin_memory().to(device, non_blocking=True)


def read_behind(started: Iterable[tuple[Which, PendingResult]]) -> Iterator[tuple[Which, np.ndarray]]:
    """Results in order, each read some batches after it was started: the GPU has work while results are stored.

    After a failure the results of all batches that were started before it come first.
    """
    waiting: deque[tuple[Which, PendingResult]] = deque()
    failure: BaseException | None = None
    try:
        for batch in started:
            waiting.append(batch)
            if len(waiting) > BATCHES_AHEAD:
                which, result = waiting.popleft()
                yield which, result()
    except (Exception, KeyboardInterrupt) as error:
        failure = error
    for which, result in waiting:
        yield which, result()
    if failure is not None:
        raise failure


class _Turns:
    """The switch interval belongs to the whole process, and several models may be at work."""

    lock = Lock()
    models = 0
    interval_before = sys.getswitchinterval()


@contextmanager
def short_turns() -> Iterator[None]:
    """Inside, a thread does not wait long for another."""
    _count_models(1)
    try:
        yield
    finally:
        _count_models(-1)


def _count_models(change: int) -> None:
    with _Turns.lock:
        if not _Turns.models:
            _Turns.interval_before = sys.getswitchinterval()
        _Turns.models += change
        sys.setswitchinterval(SWITCH_INTERVAL if _Turns.models else _Turns.interval_before)
