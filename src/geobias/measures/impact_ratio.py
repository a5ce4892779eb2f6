"""How unequal countries are: the impact ratio, and the spread between countries with its noise floor.

**Impact ratio.** The selection rate r_c is the mean probability of the favourable answer. The impact ratio of a country
is r_c / max_j r_j = exp(min_j (log r_c - log r_j)). The minimum is monotone in its arguments, so simultaneous intervals
of all pairwise differences of log r (max-T) bound it from both sides, for all countries at once and whichever country
is the best.

**Spread.** The standard deviation of the countries' true preferences, by the method of moments: the variance of the
estimates minus their mean error variance. Its interval holds the values under which the observed variance is within the
central 95 % of simulated ones; its p-value is that of no spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from geobias.measures.decisions import CountryMeans
from geobias.measures.estimates import CONFIDENCE_LEVEL, RESAMPLES, TAIL, monte_carlo_p_value
from geobias.measures.uncertainty import Uncertainty

SMALLEST_RATE = 1e-6  # lower selection rates count as this one: 0 has no logarithm
BISECTIONS = 14  # for the ends of the interval of a spread


@dataclass(frozen=True)
class ImpactRatios:
    """Selection rates of countries against the best-treated one, with bounds that hold for all of them at once."""

    rate: np.ndarray
    ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def worst(self) -> tuple[float, float, float, int]:
        """The smallest ratio, its bounds, and its position."""
        position = int(self.ratio.argmin())
        return float(self.ratio[position]), float(self.low.min()), float(self.high.min()), position


def measure_impact_ratios(rates: CountryMeans, *, seed: int = 0) -> ImpactRatios:
    """Impact ratios from selection rates (means of probabilities)."""
    rate = np.maximum(rates.means, SMALLEST_RATE)
    logarithms = CountryMeans(
        np.log(rate),
        rates.influence / rate,
        rates.df,
        None if rates.name_covariance is None else rates.name_covariance / np.outer(rate, rate),
        rates.name_df,
    )
    value, uncertainty = logarithms.against_mean()
    differences = value[:, None] - value[None, :]
    half_width = _pairwise_half_width(uncertainty, seed=seed)
    low, high = (np.minimum(differences + side * half_width, 0).min(axis=1) for side in (-1, 1))
    return ImpactRatios(rates.means, np.exp(differences.min(axis=1)), np.exp(low), np.exp(high))


def _pairwise_half_width(uncertainty: Uncertainty, *, seed: int) -> np.ndarray:
    """countries x countries: half the width of intervals of all pairwise differences that cover at once (max-T)."""
    covariance, spread = uncertainty.covariance, np.sqrt(uncertainty.variance)
    variance = np.maximum(uncertainty.variance[:, None] + uncertainty.variance[None, :] - 2 * covariance, 0)
    size = len(spread)
    if size < 2:
        return np.zeros((size, size))
    variance = np.maximum(variance, variance.sum() / (size * (size - 1)))  # as in `Uncertainty`
    np.fill_diagonal(variance, 0)
    error = np.sqrt(variance)
    deviations = uncertainty.draw(np.random.default_rng(seed), RESAMPLES) * spread
    largest = np.zeros(RESAMPLES)
    for c in range(size - 1):
        gap = np.abs(deviations[:, c + 1 :] - deviations[:, c, None])
        scaled = np.divide(gap, error[c, c + 1 :], out=np.zeros_like(gap), where=error[c, c + 1 :] > 0)
        largest = np.maximum(largest, scaled.max(axis=1))
    tail = special.ndtr(-np.quantile(largest, CONFIDENCE_LEVEL))
    df = np.minimum.outer(uncertainty.df, uncertainty.df)
    return np.asarray(-special.stdtrit(df, min(tail, TAIL)) * error)


@dataclass(frozen=True)
class Spread:
    """How far countries differ from each other: the standard deviation of their true values."""

    value: float
    low: float
    high: float
    p: float
    noise: float
    """The standard deviation that chance alone gives to estimates of countries that do not differ."""


def measure_spread(value: np.ndarray, uncertainty: Uncertainty, *, seed: int = 0) -> Spread:
    """The spread of values against their mean, with its noise floor."""
    size = len(value)
    observed = float((value**2).sum() / (size - 1))
    noise = float(uncertainty.variance.sum() / (size - 1))
    rng = np.random.default_rng(seed)
    errors = uncertainty.draw(rng, RESAMPLES) * np.sqrt(uncertainty.variance)
    # The variances are estimates themselves: their error widens the distribution as it makes normal ones Student's.
    df = float(uncertainty.mean_variance_df)
    errors *= np.sqrt(df / rng.chisquare(df, RESAMPLES))[:, None]
    effects = rng.standard_normal((RESAMPLES, size))
    effects -= effects.mean(axis=1, keepdims=True)
    squares = [(part**2).sum(axis=1) for part in (errors, effects)]
    products = 2 * (errors * effects).sum(axis=1)

    def simulate(spread: float) -> np.ndarray:
        return np.asarray((squares[0] + spread * products + spread**2 * squares[1]) / (size - 1))

    p = float(monte_carlo_p_value(np.array(observed), simulate(0.0))) if observed > 0 else 1.0
    most = 6 * float(np.sqrt(observed))
    low = _bisect(most, lambda spread: np.quantile(simulate(spread), 1 - TAIL) < observed)
    high = _bisect(most, lambda spread: np.quantile(simulate(spread), TAIL) <= observed)
    return Spread(float(np.sqrt(max(observed - noise, 0))), low, high, p, float(np.sqrt(noise)))


def _bisect(most: float, is_below: Callable[[float], bool]) -> float:
    """The value from 0 to `most` up to which a condition holds; 0 where it never does."""
    low, high = 0.0, most
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low if low > 0 and is_below(low) else 0.0
