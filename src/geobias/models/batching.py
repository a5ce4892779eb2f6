"""What goes through a model together: sequences of one length, or nearly one.

A padded row costs work and can change a score in the last digits; equal lengths need neither padding nor mask.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def equal_length_batches(lengths: np.ndarray, costs: np.ndarray, budget: int) -> Iterator[np.ndarray]:
    """Positions of sequences of one length, in their order, at most `budget` of cost together (but at least one)."""
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        spent = np.cumsum(costs[group])
        start = 0
        while start < len(group):
            before = spent[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(spent, before + budget, side="right")))
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
