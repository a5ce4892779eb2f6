"""One word for how large a difference is, whatever its unit: evidence says how sure it is, not how large.

| word | share of the scale that moves | ratio, in either direction |
|---|---|---|
| tiny | below 1 % | below 1.1 |
| small | from 1 % | from 1.1 |
| moderate | from 5 % | from 1.5 |
| large | from 15 % | from 3 |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isnan, log
from typing import Final, Literal

SizeWord = Literal["tiny", "small", "moderate", "large"]
WORDS: Final[tuple[SizeWord, ...]] = ("tiny", "small", "moderate", "large")
SHARES: Final = (0.01, 0.05, 0.15)
RATIOS: Final = (1.1, 1.5, 3.0)
ROUNDING: Final = 1e-9  # 0.55 - 0.50 is a little less than 0.05

SCALES: Final[Mapping[str, float]] = {  # how long the scale of a unit is
    "points": 200,  # from -100 to +100
    "percentage points": 100,
    "probability": 1,
    "share of questions": 1,
    "of questions": 1,
    "difference of AUC": 1,
}
ORIGINS: Final[Mapping[str, float]] = {"AUC": 0.5}  # where nothing moves, of scales from 0 to 1
LOG_RATIOS: Final[Mapping[str, Callable[[float], float]]] = {  # units of ratios; those of nats are of odds
    "times": lambda value: _take_log(value),
    "ratio": lambda value: _take_log(value),
    "per cent": lambda value: _take_log(1 + value / 100),  # more or fewer than there were
    "nats": lambda value: value,
    "nats of log-odds": lambda value: value,
}


def grade_size(value: float, unit: str) -> SizeWord | None:
    """The word for a difference in this unit; None if the unit has no scale, as distances have none."""
    if isnan(value):
        return None
    if unit in LOG_RATIOS:
        return WORDS[_count_reached(abs(LOG_RATIOS[unit](value)), tuple(map(log, RATIOS)))]
    if unit in SCALES:
        return WORDS[_count_reached(abs(value) / SCALES[unit], SHARES)]
    if unit in ORIGINS:
        return WORDS[_count_reached(abs(value - ORIGINS[unit]), SHARES)]
    return None


def _count_reached(value: float, limits: tuple[float, ...]) -> int:
    return sum(value >= limit - ROUNDING for limit in limits)


def _take_log(ratio: float) -> float:
    return log(ratio) if ratio > 0 else -inf
