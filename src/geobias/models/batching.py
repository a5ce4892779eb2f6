"""Batches without padding: only sequences of one length go together.

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
