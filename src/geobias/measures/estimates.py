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

CONFIDENCE_LEVEL = 0.95
RESAMPLES = 2000
SIGNIFICANT = 0.05
NORMAL_QUANTILE = float(stats.norm.ppf((1 + CONFIDENCE_LEVEL) / 2))


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


def bootstrap_estimates(value: np.ndarray, deviations: np.ndarray, p: np.ndarray) -> Estimates:
    """Estimates with intervals from resampled deviations (resamples x value's shape).

    The p-values are one family and corrected together.
    """
    low, high = value + np.quantile(deviations, [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2], axis=0)
    p = np.where(np.isnan(value), np.nan, p)
    low, high = (np.where(np.isnan(value), np.nan, bound) for bound in (low, high))
    return Estimates(value, low, high, p, benjamini_hochberg(p))


def bootstrap_p_values(value: np.ndarray, deviations: np.ndarray, drawn: np.ndarray | int) -> np.ndarray:
    """p-values of a true value of 0: how often is a deviation at least as far from 0 as the value is?

    `drawn` says how many things were resampled, and that deviations were made wider for it (`few_drawn`). Where
    an interval ends that is enough; farther out few things matter more, and of thousands of places one that stands
    out must be told from chance with more than 2,000 resamples can count. So p is also Student's, and alone where no
    deviation reaches as far; it is never below that of as many coins that all fall on one side.
    """
    freedom = np.maximum(drawn, 2) - 1
    counted, spread = monte_carlo_p_value(np.abs(value), np.abs(deviations)), deviations.std(axis=0)
    reach = np.divide(np.abs(value), spread, out=np.full(value.shape, np.inf), where=spread != 0)
    reach[(value == 0) & (spread == 0)] = 0
    student = 2 * stats.t.sf(reach * t_to_normal_ratio(freedom), freedom)
    found = np.where(counted > 1 / (1 + len(deviations)), np.maximum(counted, student), student)
    return np.asarray(np.maximum(found, 0.5**freedom))


def small_sample_factor(count: np.ndarray | int) -> np.ndarray:
    """How much wider intervals must be because only so many texts were drawn.

    Resampling n of them shows a variance too small by (n - 1) / n, and knows it no better than Student's t does.
    """
    return bessel_factor(count) * t_to_normal_ratio(np.maximum(count, 2) - 1)


def bessel_factor(count: np.ndarray | int) -> np.ndarray:
    """What resampling `count` things makes of a standard error, turned round."""
    n = np.maximum(count, 2)
    return np.asarray(np.sqrt(n / (n - 1)))


def t_to_normal_ratio(freedom: np.ndarray | float) -> np.ndarray:
    """How much wider than normal 95 % of Student's t with so many degrees of freedom are."""
    return _t_equivalent(NORMAL_QUANTILE, freedom) / NORMAL_QUANTILE


def _t_equivalent(reach: float, freedom: np.ndarray | float) -> np.ndarray:
    """As many standard errors as Student's t needs, where the normal distribution needs `reach`."""
    return np.asarray(stats.t.ppf(stats.norm.cdf(reach), freedom))


def monte_carlo_p_value(observed: np.ndarray, resampled: np.ndarray) -> np.ndarray:
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
    largest = float(np.quantile(in_errors.max(axis=tuple(range(1, deviations.ndim))), CONFIDENCE_LEVEL))
    freedom = max(drawn, 2) - 1
    wider = _t_equivalent(largest, freedom) / max(largest, NORMAL_QUANTILE) / t_to_normal_ratio(freedom)
    reach = spread * largest * np.maximum(wider, 1)
    return value - reach, value + reach
