"""Which neighbouring texts begin alike: what they share need be read only once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Runs = tuple[np.ndarray, np.ndarray, np.ndarray]  # first text, the one after the last, tokens shared


def alike(rows: Sequence[np.ndarray], budget: int) -> Runs:
    """Runs of consecutive rows, so chosen that few tokens remain to be read, and in each run no more than `budget`.

    A run of n rows that share p tokens saves (n - 1) p of them. The next row joins if that saves no less, though it
    may shorten what all share; the words of one region stay together, and the next region begins a new run.
    """
    start, stop, shared = [], [], []
    at = 0
    while at < len(rows):
        begun, common, members = at, len(rows[at]), 1
        tokens = len(rows[at])
        while at + 1 < len(rows):
            with_next = _shared(rows[at], rows[at + 1], common)
            if with_next == 0 or members * with_next < (members - 1) * common:
                break
            if tokens + len(rows[at + 1]) - members * with_next > budget:
                break
            at, common, members = at + 1, with_next, members + 1
            tokens += len(rows[at])
        at += 1
        start.append(begun)
        stop.append(at)
        shared.append(common if members > 1 else 0)
    return np.array(start, dtype=np.int64), np.array(stop, dtype=np.int64), np.array(shared, dtype=np.int64)


def _shared(row: np.ndarray, other: np.ndarray, most: int) -> int:
    """How many first tokens the two have in common, of at most so many."""
    length = min(len(row), len(other), most)
    differs = row[:length] != other[:length]
    return int(np.argmax(differs)) if differs.any() else length
