"""How work reaches a device and comes back: copies that nobody waits for, answers read late, memory that ends."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import numpy as np
import torch

BATCHES_AHEAD = 8  # handed to a GPU before the answers of the first are read
SECONDS_OF_A_TURN = 2e-5  # who hands kernel after kernel to a GPU cannot wait 5 ms each time for threads beside it

Result = TypeVar("Result")
Which = TypeVar("Which")
Answer = Callable[[], np.ndarray]


def sent(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """The array there; to a GPU it is copied while that computes."""
    found = torch.from_numpy(np.ascontiguousarray(array))
    return found.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else found.to(device)


def read_late(begun: Iterable[tuple[Which, Answer]], device: torch.device) -> Iterator[tuple[Which, np.ndarray]]:
    """Answers are read some batches late: a GPU has work while the last ones are kept and the next are made.

    What was begun before a failure is yielded before it rises.
    """
    waiting: deque[tuple[Which, Answer]] = deque()
    ahead = BATCHES_AHEAD if device.type == "cuda" else 0
    failure: BaseException | None = None
    try:
        for batch in begun:
            waiting.append(batch)
            if len(waiting) > ahead:
                some, answer = waiting.popleft()
                yield some, answer()
    except (Exception, KeyboardInterrupt) as error:
        failure = error
    for some, answer in waiting:
        yield some, answer()
    if failure is not None:
        raise failure


def within_memory(compute: Callable[[np.ndarray], Result], some: np.ndarray) -> Result | None:
    """What `compute` gives; None where memory does not suffice. Nothing of the try is left behind."""
    try:
        return compute(some)
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error):
            return None
        raise


class _Turns:
    """How long threads take their turns is a setting of the whole process, and several models may be at work."""

    lock = Lock()
    models = 0
    usual = sys.getswitchinterval()


@contextmanager
def short_turns() -> Iterator[None]:
    """Inside, a thread does not wait long for another."""
    _take_turns(1)
    try:
        yield
    finally:
        _take_turns(-1)


def _take_turns(more: int) -> None:
    with _Turns.lock:
        if not _Turns.models:
            _Turns.usual = sys.getswitchinterval()
        _Turns.models += more
        sys.setswitchinterval(SECONDS_OF_A_TURN if _Turns.models else _Turns.usual)
