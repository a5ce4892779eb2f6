"""Batches without padding: only sequences of one length go together.

A padded row costs work and can change a score in the last digits; equal lengths need neither padding nor mask.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def equal_length_batches(lengths: np.ndarray, token_budget: int) -> Iterator[np.ndarray]:
    """Positions of sequences of one length, at most `token_budget` tokens together (but at least one sequence)."""
    order = np.argsort(lengths, kind="stable")
    boundaries = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, boundaries):
        if len(group):
            size = max(1, token_budget // max(1, int(lengths[group[0]])))
            for start in range(0, len(group), size):
                yield group[start : start + size]
