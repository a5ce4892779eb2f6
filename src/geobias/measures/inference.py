"""What every interval and every test shares: estimates with their bounds, p-values, corrections for looking often.

| | |
|---|---|
| interval | 95 %, from resampled deviations: the estimate plus their 2.5 and 97.5 per cent quantiles |
| p | (1 + resamples at least as extreme) / (1 + resamples): never 0 |
| p_adjusted | Benjamini and Hochberg's: of what is marked, about 5 % are false alarms |
| simultaneous bounds | max-T: wide enough that all of many intervals hold at once in 95 of 100 runs |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95
RESAMPLES = 2000
SIGNIFICANT = 0.05
LEVEL_REACH = float(stats.norm.ppf((1 + LEVEL) / 2))


@dataclass(frozen=True)
class Estimates:
    """Values of one shape with what is known of their uncertainty; NaN where nothing is."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    p_adjusted: np.ndarray

    @classmethod
    def unknown(cls, value: np.ndarray) -> Estimates:
        """Values of whose uncertainty nothing can be said."""
        nothing = np.full(value.shape, np.nan)
        return cls(value, nothing, nothing, nothing, nothing)

    def part(self, index: int) -> Estimates:
        """Those at one position of the first axis."""
        return Estimates(*(getattr(self, name)[index] for name in ("value", "low", "high", "p", "p_adjusted")))

    def at(self, *index: int) -> dict[str, float | None]:
        """One estimate as results.json has it."""
        found = {name: float(getattr(self, name)[index]) for name in ("value", "low", "high", "p", "p_adjusted")}
        return {name: None if np.isnan(number) else number for name, number in found.items()}


def estimates(value: np.ndarray, deviations: np.ndarray, p: np.ndarray | None = None) -> Estimates:
    """Estimates with intervals from resampled deviations (resamples x value's shape).

    Without p-values of another test, the interval is inverted: how often is a deviation at least as far from 0 as
    the value is? All p-values given or made here are one family and corrected together.
    """
    low, high = value + np.quantile(deviations, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    if p is None:
        p = p_value(np.abs(value), np.abs(deviations))
    p = np.where(np.isnan(value), np.nan, p)
    low, high = (np.where(np.isnan(value), np.nan, bound) for bound in (low, high))
    return Estimates(value, low, high, p, benjamini_hochberg(p))


def few_drawn(count: np.ndarray | int) -> np.ndarray:
    """How much wider intervals must be because only so many texts or names were drawn.

    Resampling n of them shows a variance too small by (n - 1) / n, and knows it no better than Student's t does.
    """
    n = np.maximum(count, 2)
    return np.asarray(np.sqrt(n / (n - 1)) * _student(LEVEL_REACH, n) / LEVEL_REACH)


def _student(reach: float, n: np.ndarray | int) -> np.ndarray:
    """As many standard errors as Student's t needs, where the normal distribution needs `reach`."""
    return np.asarray(stats.t.ppf(stats.norm.cdf(reach), n - 1))


def p_value(observed: np.ndarray, resampled: np.ndarray) -> np.ndarray:
    """(1 + resamples at least as large) / (1 + resamples), along the first axis; rounding does not decide."""
    reach = observed - 1e-12 * (1 + np.abs(observed))
    return np.asarray((1 + (resampled >= reach).sum(axis=0)) / (1 + len(resampled)))


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Adjusted p-values of one family, whatever its shape; NaN takes no part."""
    adjusted = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known])
    return adjusted


def max_t_bounds(value: np.ndarray, deviations: np.ndarray, drawn: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that hold for all values at once: the same number of standard errors for each, by the largest of them.

    `drawn` says how many texts the deviations were resampled from: the farther out, the more that matters.
    """
    spread = deviations.std(axis=0, ddof=1)
    in_errors = np.abs(deviations) / np.where(spread == 0, np.inf, spread)
    largest = float(np.quantile(in_errors.max(axis=tuple(range(1, deviations.ndim))), LEVEL))
    n = max(drawn, 2)
    wider = _student(largest, n) / max(largest, LEVEL_REACH) / (_student(LEVEL_REACH, n) / LEVEL_REACH)
    reach = spread * largest * np.maximum(wider, 1)
    return value - reach, value + reach
