"""Differences of probabilities, in words."""

from __future__ import annotations

from geobias.measures.estimates import Estimate


def say_difference(estimate: Estimate) -> str:
    """The size with its interval, and its direction: "0.18 (0.13 to 0.23) higher"."""
    value = estimate.value or 0.0
    sign, places = (-1 if value < 0 else 1), _decimals(value)
    ends = sorted(sign * end for end in (estimate.low, estimate.high) if end is not None)
    interval = f" (95 % interval {_round(ends[0], places)} to {_round(ends[1], places)})" if len(ends) == 2 else ""
    return f"{abs(value):.{places}f}{interval} {'lower' if value < 0 else 'higher'}"


def say_size(value: float) -> str:
    return f"{value:.{_decimals(value)}f}"


def _round(value: float, places: int) -> str:
    return f"{round(value, places) + 0.0:.{places}f}"  # without a minus before 0.00


def _decimals(value: float) -> int:
    """As many as show two digits of the value; never more than four."""
    return 2 if abs(value) >= 0.095 else 3 if abs(value) >= 0.0095 else 4
