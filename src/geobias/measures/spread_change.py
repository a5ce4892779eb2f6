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

from geobias.measures.estimates import CONFIDENCE_LEVEL, RESAMPLES, Estimate, monte_carlo_p_value
from geobias.measures.uncertainty import ROUNDING

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
