"""Diagonal lines inside a shape: the charts' way to say "no data", which no colour can be mistaken for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

SPACING = 2.0  # degrees between lines, measured along a parallel
LONGEST_STEP = 3.0  # degrees between the points of a line: between two points a map draws the great circle


def hatch(rings: Sequence[np.ndarray], spacing: float = SPACING) -> Iterable[np.ndarray]:
    """The pieces of the lines x - y = 0, ±spacing, ±2 spacing, ... that lie inside closed outlines, as points (x, y).

    The even-odd rule: walking along a line, each crossing of an outline leads in or out. So the crossings of one line
    are sorted, and the pieces inside run from the first to the second, from the third to the fourth, and so on; a hole
    needs no care of its own.
    """
    start = np.concatenate([ring[:-1] for ring in rings])
    end = np.concatenate([ring[1:] for ring in rings])
    across_start, across_end = start[:, 0] - start[:, 1], end[:, 0] - end[:, 1]
    lowest, highest = min(across_start.min(), across_end.min()), max(across_start.max(), across_end.max())
    for line in np.arange(np.ceil(lowest / spacing), np.floor(highest / spacing) + 1) * spacing:
        crossed = (across_start <= line) != (across_end <= line)
        share = (line - across_start[crossed]) / (across_end[crossed] - across_start[crossed])
        height = np.sort(start[crossed, 1] + share * (end[crossed, 1] - start[crossed, 1]))
        for low, high in zip(height[::2], height[1::2], strict=True):
            y = np.linspace(low, high, 2 + int((high - low) / LONGEST_STEP))
            yield np.column_stack([y + line, y])
