"""How the spread between countries changes from one run to another, whose answers are paired.

Let m_c be the mean of country c minus the mean of countries, with the covariance matrix Σ. The variance between C
countries without noise is

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
from scipy import optimize, stats

from geobias.measures.estimates import CONFIDENCE_LEVEL, RESAMPLES, Estimate, monte_carlo_p_value
from geobias.measures.uncertainty import ROUNDING, Uncertainty

QUANTILES = ((1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2)
SMALLEST_VARIANCE = ROUNDING**2


@dataclass(frozen=True)
class SpreadChange:
    """The spreads of two runs, values that are as plausible, and the second minus the first."""

    spreads: np.ndarray
    """first and second."""
    plausible: np.ndarray
    """resamples x (first, second): variances."""
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
