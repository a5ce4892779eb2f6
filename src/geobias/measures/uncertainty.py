"""From a covariance matrix to intervals, p-values and simultaneous bounds, by Student's t.

**Spread between countries**, and how it changes from one run to another whose answers are paired. Let m_c be the mean
of country c minus the mean of countries, with the covariance matrix Σ. The variance between C countries without noise
is

    T = sum of m_c² / (C - 1) - tr Σ / (C - 1)

and the spread is the square root of T, 0 where T is below 0. Intervals: T minus quantiles of

    D = (|m + e|² - |m|² - tr Σ) / (C - 1),    e normal with covariance Σ

where e is drawn for both runs together. The covariance between them follows from that of their difference,
Cov(a, b) = (Var(a) + Var(b) - Var(a - b)) / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from geobias.measures.estimates import (
    CONFIDENCE_LEVEL,
    QUANTILES,
    RESAMPLES,
    TAIL,
    Estimate,
    Estimates,
    LargestEffect,
    find_largest,
    monte_carlo_p_value,
    satterthwaite_df,
    t_test,
)

ROUNDING = 1e-9  # points, per cent or shares: a smaller difference is rounding


@dataclass(frozen=True)
class Uncertainty:
    """The covariance matrix of estimates (of countries, say), and the degrees of freedom of their variances.

    A country of which only inconspicuous names were drawn would look too certain, and be marked too often. So no
    interval is narrower than that of the mean variance of all countries (with its own, larger, degrees of freedom).
    """

    covariance: np.ndarray
    df: np.ndarray

    @classmethod
    def unknown(cls, count: int) -> Uncertainty:
        return cls(np.full((count, count), np.nan), np.full(count, np.nan))

    @property
    def is_known(self) -> bool:
        return not np.isnan(self.covariance).any()

    @property
    def variance(self) -> np.ndarray:
        return np.diag(self.covariance)

    @property
    def mean_variance_df(self) -> float:
        """Satterthwaite's degrees of freedom of the mean variance, (tr Σ)² / tr Σ² times those of one variance.

        tr Σ² is that of the true covariance matrix: the estimated one has larger squares, by chance.
        """
        df, trace = float(self.df.mean()), float(self.variance.sum())
        return df * trace**2 / self.squared_norm if trace and df > 1 else df

    @property
    def squared_norm(self) -> float:
        """tr Σ² of the true covariance matrix: the estimated one has larger squares, by chance."""
        df, size = float(self.df.mean()), len(self.df)
        trace, squares = float(self.variance.sum()), float((self.covariance**2).sum())
        if df > 1:
            squares = df**2 / ((df + 2) * (df - 1)) * (squares - trace**2 / df)
        return float(np.clip(squares, trace**2 / size, trace**2))

    def half_width(self, tail: float = TAIL) -> np.ndarray:
        """Half the width of an interval that leaves out `tail` on each side."""
        own = -special.stdtrit(self.df, tail) * np.sqrt(self.variance)
        pooled = -special.stdtrit(self.mean_variance_df, tail) * np.sqrt(self.variance.mean())
        return np.asarray(np.maximum(own, pooled))

    def p_values(self, value: np.ndarray) -> np.ndarray:
        """Two-sided p-values of the hypothesis that the true value is 0; below 0.05 if the interval excludes 0."""
        value = np.where(np.abs(value) < ROUNDING, 0.0, value)
        own = t_test(value, np.sqrt(self.variance), self.df)
        pooled = t_test(value, np.sqrt(self.variance.mean()), self.mean_variance_df)
        return np.asarray(np.maximum(own, pooled))

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """size x estimates: standardised normal deviations with the correlation of the estimates."""
        spread = np.sqrt(np.where(self.variance > 0, self.variance, 1))
        correlation = self.covariance / np.outer(spread, spread)
        np.fill_diagonal(correlation, 1)
        eigenvalues, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0))
        deviations = rng.standard_normal((size, len(spread))) @ root.T
        return np.asarray(deviations / np.sqrt((root**2).sum(axis=1)))


def combine_variances(
    influence: np.ndarray,
    df: np.ndarray,
    name_covariance: np.ndarray | None,
    name_df: np.ndarray,
    default_df: float,
) -> Uncertainty:
    """Of measures with this influence of every text (texts x measures), and what names add; None where they are fixed.

    Degrees of freedom are Satterthwaite's; `default_df` without any variance.
    """
    covariance = influence.T @ influence
    if name_covariance is None:
        return Uncertainty(covariance, df)
    text_variance = np.diag(covariance).copy()
    covariance = covariance + name_covariance
    variance = np.maximum(np.diag(covariance), text_variance)  # names add to the variance
    np.fill_diagonal(covariance, variance)
    squares_over_df = text_variance**2 / df + (variance - text_variance) ** 2 / name_df
    return Uncertainty(covariance, satterthwaite_df(variance, squares_over_df, default_df))


class Family:
    """Estimates that are tested together: max-T over all of them (Westfall and Young 1993).

    The values of each measure come with their uncertainty; measures are taken as independent of each other, which is
    conservative. NaN values take no part. `are_complements`: the measures are shares that sum to 1, one test in two
    wordings, of which the first that is known counts.
    """

    def __init__(
        self,
        values: Sequence[np.ndarray],
        uncertainties: Sequence[Uncertainty],
        *,
        are_complements: bool = False,
        seed: int = 0,
    ) -> None:
        self.values, self.uncertainties = values, uncertainties
        rng = np.random.default_rng(seed)
        self.size, self._largest = 0, np.zeros(RESAMPLES)
        for value, uncertainty in zip(values, uncertainties, strict=True):
            takes_part = ~np.isnan(value)
            if are_complements and self.size:
                break
            if uncertainty.is_known and takes_part.any():
                deviations = np.abs(uncertainty.draw(rng, RESAMPLES)[:, takes_part])
                self._largest = np.maximum(self._largest, deviations.max(axis=1))
                self.size += int(takes_part.sum())

    def estimates(self, position: int) -> Estimates:
        """One measure with its intervals and p-values; the adjusted p-values are those of the whole family."""
        value, uncertainty = self.values[position], self.uncertainties[position]
        half_width, p = uncertainty.half_width(), uncertainty.p_values(value)
        return Estimates(value, value - half_width, value + half_width, p, self.adjust(p))

    def all_estimates(self) -> Estimates:
        """All measures, in rows."""
        columns = zip(*(vars(self.estimates(k)).values() for k in range(len(self.values))), strict=True)
        return Estimates(*map(np.stack, columns))

    def adjust(self, p: np.ndarray) -> np.ndarray:
        """p-values adjusted for the family: the share of draws whose largest deviation is as unlikely."""
        threshold = np.sort(self._largest)
        extreme = len(threshold) - np.searchsorted(threshold, -special.ndtri(p / 2))
        monte_carlo = (1 + extreme) / (1 + len(threshold))
        # Beyond what draws can resolve: Bonferroni's bound.
        return np.where(np.isnan(p), np.nan, np.minimum(np.maximum(monte_carlo, p), np.minimum(p * self.size, 1)))

    def simultaneous_half_width(self, position: int) -> np.ndarray:
        """Half the width of intervals that all cover with 95 % probability."""
        tail = special.ndtr(-np.quantile(self._largest, CONFIDENCE_LEVEL))
        return self.uncertainties[position].half_width(float(tail))

    def largest_effect(self, position: int = 0) -> LargestEffect | None:
        """The largest |value| of a measure, with simultaneous bounds of the largest true one; None if unknown."""
        value = self.values[position]
        if np.isnan(value).all() or not self.uncertainties[position].is_known:
            return None
        half_width = self.simultaneous_half_width(position)
        known = np.flatnonzero(~np.isnan(value))
        largest = find_largest(value[known], (value - half_width)[known], (value + half_width)[known])
        return largest._replace(position=int(known[largest.position]))


SMALLEST_VARIANCE = ROUNDING**2


@dataclass(frozen=True)
class SpreadChange:
    """The spreads of two runs, values that are as plausible, and the second minus the first."""

    spreads: np.ndarray  # first and second
    plausible: np.ndarray  # resamples x (first, second): variances
    change: Estimate


def measure_spread_change(
    means: Sequence[np.ndarray], covariances: Sequence[np.ndarray], rng: np.random.Generator
) -> SpreadChange:
    """Compare two runs by the means of their countries, each minus the mean of countries.

    `covariances` are those of the first run, of the second, and of the second minus the first.
    """
    df = len(means[0]) - 1
    noise = [float(np.trace(covariance)) / df for covariance in covariances[:2]]
    variances = np.array([(mean**2).sum() / df - each for mean, each in zip(means, noise, strict=True)])
    deviations = _draw_deviations(means, covariances, noise, rng)
    plausible, variances = (np.where(each < SMALLEST_VARIANCE, 0, each) for each in (variances - deviations, variances))
    spreads = np.sqrt(variances)
    low, high = np.quantile(np.diff(np.sqrt(plausible), axis=1), QUANTILES).tolist()
    p = float(monte_carlo_p_value(np.abs(np.diff(variances)), np.abs(np.diff(deviations, axis=1)))[0])
    return SpreadChange(spreads, plausible, Estimate(float(spreads[1] - spreads[0]), low, high, p, p))


def measure_spread(means: np.ndarray, uncertainty: Uncertainty) -> Estimate:
    """The spread of one run; its interval has the values that a test of Q = |m|² does not reject.

    With spread s, Q has the mean M = tr Σ + (C - 1) s² and the variance 2 tr Σ² + 4 s² tr Σ, if the countries' effects
    lie in no special direction of Σ. Q / M is taken as F (Satterthwaite): with 2 M² / variance degrees of freedom, and
    those of Σ, of which the part tr Σ / M of M is estimated. p is that of s = 0.
    """
    df, q = len(means) - 1, float((means**2).sum())
    trace, squares, trace_df = float(uncertainty.variance.sum()), uncertainty.squared_norm, float(uncertainty.df.mean())
    if q < SMALLEST_VARIANCE or not trace:
        spread = float(np.sqrt(q / df))
        return Estimate(spread, spread, spread, *(2 * [float(q < SMALLEST_VARIANCE)]))

    def exceed(variance: float) -> float:
        """The probability of a larger Q."""
        mean = trace + df * variance
        numerator = mean**2 / (squares + 2 * variance * trace)
        return float(stats.f.sf(q / mean, numerator, trace_df * (mean / trace) ** 2))

    def find_bound(probability: float) -> float:
        if exceed(0) >= probability:
            return 0.0
        highest = 4 * q / df
        while exceed(highest) < probability:
            highest *= 4
        return float(np.sqrt(optimize.brentq(lambda variance: exceed(variance) - probability, 0, highest)))

    p = exceed(0)
    low, high = map(find_bound, QUANTILES)
    return Estimate(float(np.sqrt(max(q - trace, 0) / df)), low, high, p, p)


def shrink_means(means: np.ndarray, covariance: np.ndarray, spread: float) -> np.ndarray:
    """The best linear predictions of countries whose effects have this spread: means shrunk towards their mean, 0."""
    centred = spread**2 * (np.eye(len(means)) - 1 / len(means))
    return np.asarray(centred @ np.linalg.pinv(centred + covariance, hermitian=True) @ means)


def draw_normal(covariance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """resamples x units: normal deviations with this covariance."""
    eigenvalues, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    return np.asarray(rng.standard_normal((RESAMPLES, len(covariance))) @ root.T)


def _draw_deviations(
    means: Sequence[np.ndarray], covariances: Sequence[np.ndarray], noise: Sequence[float], rng: np.random.Generator
) -> np.ndarray:
    """resamples x (first, second): D, with the correlation of the two."""
    first, second, difference = covariances
    between = (first + second - difference) / 2
    draws = draw_normal(np.block([[first, between], [between.T, second]]), rng)
    countries = len(first)
    return np.stack(
        [
            (2 * draws[:, part] @ means[k] + (draws[:, part] ** 2).sum(axis=1)) / (countries - 1) - noise[k]
            for k, part in enumerate((slice(countries), slice(countries, None)))
        ],
        axis=1,
    )
