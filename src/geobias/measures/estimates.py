"""Intervals, p-values and adjustments for multiple comparisons, from bootstrap deviations and from permutations.

Over texts and names, `uncertainty.py` makes them from a covariance matrix instead.

| | |
|---|---|
| interval | 95 %, basic form: the value plus the 2.5 % and 97.5 % quantiles of its bootstrap deviations |
| p | Monte Carlo: (1 + resamples at least as extreme) / (1 + resamples), never 0 |
| p_adjusted | Benjamini-Hochberg: false discovery rate of 5 % within a family |

Also the bootstrap of means over texts, and how small a true difference a run would have detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import ndtr

CONFIDENCE_LEVEL = 0.95
RESAMPLES = 2000
SIGNIFICANT = 0.05
FEWEST_TEXTS_SHOWN = 5  # a number that rests on fewer texts is "too few" on pages, in tables and frames
TAIL = (1 - CONFIDENCE_LEVEL) / 2
QUANTILES = (TAIL, (1 + CONFIDENCE_LEVEL) / 2)
NORMAL_QUANTILE = float(stats.norm.ppf((1 + CONFIDENCE_LEVEL) / 2))
POWER, POWER_QUANTILE = 0.8, 0.84  # the second of a normal distribution


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval, its p-value and its adjusted p-value; None where it is not known."""

    value: float | None
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    p: float | None
    p_adjusted: float | None
    """Adjusted for multiple comparisons."""


NO_ESTIMATE = Estimate(None, None, None, None, None)


def find_standing_out(estimates: Sequence[Estimate]) -> list[bool]:
    """Which deviations from a common mean are clear (adjusted p < 0.05) and do not only mirror others.

    Deviations from a mean sum to 0: k groups that lie d_1, ..., d_k from it move the n - k others by
    -(d_1 + ... + d_k) / (n - k) on average. From the largest on, a clear deviation stands out if it differs from what
    those that stand out before it do to the others: by its interval, adjusted for all n groups (Benjamini-Hochberg).
    Of equal deviations the first stands out.
    """
    n = len(estimates)
    value = np.array([each.value or 0.0 for each in estimates])
    half_width = np.array(
        [0.0 if each.low is None or each.high is None else (each.high - each.low) / 2 for each in estimates]
    )
    clear = [k for k, each in enumerate(estimates) if each.p_adjusted is not None and each.p_adjusted < SIGNIFICANT]
    standing_out = np.zeros(n, dtype=bool)
    for k in sorted(clear, key=lambda k: -np.abs(value[k]).round(6)):  # rounding breaks no tie
        distance = np.abs(value + value[standing_out].sum() / (n - standing_out.sum())).round(9)
        ratio = np.divide(distance, half_width, out=np.where(distance > 0, np.inf, 0), where=half_width > 0)
        p = np.where(standing_out, 0, 2 * ndtr(-NORMAL_QUANTILE * ratio))
        ranked = np.sort(p)
        rejected = ranked[ranked <= SIGNIFICANT * np.arange(1, n + 1) / n]
        if not standing_out.any() or (len(rejected) and p[k] <= rejected[-1]):
            standing_out[k] = True
    return [bool(stands_out) for stands_out in standing_out]


@dataclass(frozen=True)
class Estimates:
    """Arrays of one shape: values, bounds and p-values; NaN where they are not known."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    p_adjusted: np.ndarray

    @classmethod
    def unknown(cls, value: np.ndarray) -> Estimates:
        """Values without intervals and p-values."""
        missing = np.full(value.shape, np.nan)
        return cls(value, missing, missing, missing, missing)

    def part(self, index: int) -> Estimates:
        """The estimates at a position of the first axis."""
        return Estimates(*(numbers[index] for numbers in vars(self).values()))

    def at(self, *index: int) -> Estimate:
        """The single estimate at an index."""
        numbers = (float(numbers[index]) for numbers in vars(self).values())
        return Estimate(*(None if np.isnan(number) else number for number in numbers))


class LargestEffect(NamedTuple):
    """The largest absolute value of a family, with simultaneous bounds."""

    value: float
    low: float
    high: float
    position: int


def bootstrap_estimates(value: np.ndarray, deviations: np.ndarray, p: np.ndarray) -> Estimates:
    """Attach intervals from bootstrap deviations (resamples x the value's shape) and adjust p as one family."""
    low, high = value + np.quantile(deviations, QUANTILES, axis=0)
    low, high, p = (np.where(np.isnan(value), np.nan, numbers) for numbers in (low, high, p))
    return Estimates(value, low, high, p, benjamini_hochberg(p))


def bootstrap_p_values(value: np.ndarray, deviations: np.ndarray, units: np.ndarray | int) -> np.ndarray:
    """Two-sided p-values of the hypothesis that the true value is 0, by inverting the bootstrap interval.

    p is the share of deviations at least as far from 0 as the value. `units` is the number of resampled units; the
    deviations already include `small_sample_factor`. That factor is right at the end of the 95 % interval; farther
    out, tails are heavier, and 2,000 resamples cannot count p-values small enough to survive an adjustment over
    thousands of places. So p is at least that of Student's t with units - 1 degrees of freedom, and equal to it where
    no deviation reaches as far. It is never below 0.5 ** (units - 1), the p-value of a sign test.
    """
    df = np.maximum(units, 2) - 1
    counted, spread = monte_carlo_p_value(np.abs(value), np.abs(deviations)), deviations.std(axis=0)
    student = t_test(value * t_to_normal_ratio(df), spread, df)
    p = np.where(counted > 1 / (1 + len(deviations)), np.maximum(counted, student), student)
    return np.asarray(np.maximum(p, 0.5**df))


def small_sample_factor(count: np.ndarray | int) -> np.ndarray:
    """The factor by which bootstrap deviations of `count` units must grow for intervals of nominal coverage.

    sqrt(n / (n - 1)) for the bias of the bootstrap variance, times the ratio of the t to the normal quantile.
    """
    return bessel_factor(count) * t_to_normal_ratio(np.maximum(count, 2) - 1)


def bessel_factor(count: np.ndarray | int) -> np.ndarray:
    """sqrt(n / (n - 1)): Bessel's correction of a bootstrap standard error."""
    n = np.maximum(count, 2)
    return np.asarray(np.sqrt(n / (n - 1)))


def t_to_normal_ratio(df: np.ndarray | float) -> np.ndarray:
    """The 97.5 % quantile of Student's t divided by that of the normal distribution."""
    return t_quantile(df) / NORMAL_QUANTILE


def t_quantile(df: np.ndarray | float) -> np.ndarray:
    """The 97.5 % quantile of Student's t: the half-width of a 95 % interval in standard errors."""
    return np.asarray(stats.t.ppf((1 + CONFIDENCE_LEVEL) / 2, df))


def t_test(value: np.ndarray | float, error: np.ndarray | float, df: np.ndarray | float) -> np.ndarray:
    """Two-sided p-values of Student's t; without any error, 0 for a value that is not 0, and 1 for 0."""
    size = np.abs(value)
    t = np.divide(size, error, out=np.where(size > 0, np.inf, 0.0), where=np.asarray(error) > 0)
    return np.where(np.isnan(value), np.nan, 2 * stats.t.sf(t, df))


def satterthwaite_df(variance: np.ndarray, squares_over_df: np.ndarray, default: float) -> np.ndarray:
    """Degrees of freedom of a sum of variances: (sum v_i)² / sum (v_i² / df_i) (Satterthwaite 1946).

    `variance` is the sum of the v_i, `squares_over_df` the denominator; `default` where that is 0.
    """
    df = np.full(variance.shape, float(default))
    return np.divide(variance**2, squares_over_df, out=df, where=squares_over_df > 0)


def monte_carlo_p_value(observed: np.ndarray, resampled: np.ndarray) -> np.ndarray:
    """(1 + resamples at least as large) / (1 + resamples), along the first axis (Davison and Hinkley 1997, Eq. 4.11).

    A tolerance of 1e-12 keeps rounding from deciding ties.
    """
    threshold = observed - 1e-12 * (1 + np.abs(observed))
    return np.asarray((1 + (resampled >= threshold).sum(axis=0)) / (1 + len(resampled)))


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Adjust the p-values of one family, of any shape (Benjamini and Hochberg 1995); NaN takes no part."""
    adjusted = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known])
    return adjusted


def find_largest(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> LargestEffect:
    """The largest |value| of a family with simultaneous bounds (intervals that all cover at once)."""
    nearest_to_zero = np.where((low > 0) | (high < 0), np.minimum(np.abs(low), np.abs(high)), 0)
    farthest_from_zero = np.maximum(np.abs(low), np.abs(high))
    size, position = np.abs(value), int(np.abs(value).argmax())
    return LargestEffect(float(size[position]), float(nearest_to_zero.max()), float(farthest_from_zero.max()), position)


AT_ONCE = 20_000_000  # deviations held at a time


def draw_counts(rng: np.random.Generator, units: int, resamples: int = RESAMPLES) -> np.ndarray:
    """resamples x units: how often each unit is drawn when as many as there are are drawn with replacement."""
    return rng.multinomial(units, np.full(units, 1 / units), size=resamples)


def bootstrap_means(values: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES) -> Estimates:
    """Means over the first axis (texts) with bootstrap intervals and tests against 0; one family of p-values."""
    if len(values) < 2:
        return Estimates.unknown(values.mean(axis=0))
    texts, flat = len(values), values.reshape(len(values), -1)
    weights = draw_counts(np.random.default_rng(seed), texts, resamples) - 1.0
    weights *= small_sample_factor(texts) / texts
    parts, step = [], max(1, AT_ONCE // resamples)
    for start in range(0, flat.shape[1], step):
        columns = flat[:, start : start + step].astype(np.float64)
        means = columns.mean(axis=0)
        deviations = weights @ (columns - means)
        parts.append(bootstrap_estimates(means, deviations, bootstrap_p_values(means, deviations, texts)))
    mean, low, high, p = (
        np.concatenate([getattr(part, name) for part in parts]).reshape(values.shape[1:])
        for name in ("value", "low", "high", "p")
    )
    return Estimates(mean, low, high, p, benjamini_hochberg(p))


def detectable_effect(estimates: Iterable[Estimate]) -> float | None:
    """The difference that a typical member of a family of tests detects with a power of 80 %.

    (z(1 - 0.05 / 2m) + z(0.8)) standard errors for m tests (Bonferroni, which both max-T and Benjamini-Hochberg are
    close to for a single true effect); the standard error is the median over the family. None without intervals, and
    where they have no width.
    """
    half_widths = [
        (estimate.high - estimate.low) / 2
        for estimate in estimates
        if estimate.low is not None and estimate.high is not None
    ]
    if not half_widths or not np.median(half_widths):
        return None
    quantiles = stats.norm.isf(SIGNIFICANT / 2 / len(half_widths)) + stats.norm.ppf(POWER)
    return float(np.median(half_widths) / NORMAL_QUANTILE * quantiles)
