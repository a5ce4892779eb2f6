"""Shares of mentions with one outcome, with their uncertainty over texts and names.

The share of a renamed text is that of its mentions; a country's share is the mean over its renamed texts, so every text
counts alike. Over mentions that have something in common (women's names, say) it is the ratio

    R = sum of w v / sum of w

with v the share of those mentions in a renamed text and w = 1 if there are any. To first order R varies as the mean of
w (v - R) / mean(w).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from geobias.audits.find.design import FindDesign
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.estimates import Estimates
from geobias.measures.uncertainty import TAIL, Family, Uncertainty
from geobias.report.results import Interval, number


class Ratio(NamedTuple):
    """R of some mentions, and the values whose mean varies as R does (texts x countries x draws)."""

    value: float
    linear: np.ndarray
    text_count: int


@dataclass(frozen=True)
class CountryShares:
    """The shares of one outcome by country, and their differences from the mean of countries, with all bounds."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    simultaneous_low: np.ndarray
    simultaneous_high: np.ndarray
    difference: Estimates
    difference_low: np.ndarray  # simultaneous
    difference_high: np.ndarray

    @property
    def gap(self) -> tuple[float, float, float]:
        """The highest minus the lowest share, with bounds that hold if all simultaneous bounds do.

        Differences from the mean sum to 0: the largest is at least 0, the smallest at most 0.
        """
        low, high = self.difference_low, self.difference_high
        if np.isnan(low).any() or np.array_equal(low, high):
            low, high = self.simultaneous_low, self.simultaneous_high
            lowest_gap = max(low.max() - high.min(), 0.0)
        else:
            lowest_gap = max(low.max(), 0.0) - min(high.min(), 0.0)
        return float(np.ptp(self.value)), lowest_gap, min(high.max() - low.min(), 1.0)


class RenamedShares:
    """Which mention of the renamed texts belongs to which text, and which renamed text shows which names."""

    def __init__(self, design: FindDesign) -> None:
        counterfactuals = design.counterfactuals
        self.shape = counterfactuals.shape
        self.first_mentions = design.first_mentions[:-1]
        names = NameUnits(*counterfactuals.name_units())
        self.variance = CrossedVariance(names, self.shape, np.ones(self.shape[::2], dtype=bool))
        unit_country = (names.answer // self.shape[2]) % self.shape[1]
        pairs = np.unique(unit_country * len(names.kind) + names.unit)
        self.name_counts = np.bincount(pairs // len(names.kind), minlength=self.shape[1])

    def average_mentions(self, hits: np.ndarray) -> np.ndarray:
        """texts x countries x draws: the share of each renamed text (`hits`: mentions x countries x draws, bool)."""
        return self._sum_by_text(hits) / self._sum_by_text(np.ones((len(hits), 1, 1)))

    def infer_countries(self, values: np.ndarray) -> CountryShares:
        """Of shares of renamed texts (texts x countries x draws)."""
        countries = self.shape[1]
        means = self.variance.means(values)
        level = self._uncertainty(values, np.eye(countries))
        from_mean = Family([means - means.mean()], [self._uncertainty(values, np.eye(countries) - 1 / countries)])
        difference, half_width = from_mean.estimates(0), from_mean.simultaneous_half_width(0)
        if has_t_interval(level):
            family = Family([means], [level])
            widths = level.half_width(), family.simultaneous_half_width(0)
            (low, high), (all_low, all_high) = (np.clip([means - width, means + width], 0, 1) for width in widths)
        else:
            units = np.minimum(self.shape[0], self.name_counts) if self.variance.is_estimable else np.zeros(countries)
            low, high = exact_interval(means, units, TAIL)
            all_low, all_high = exact_interval(means, units, TAIL / countries)
        bounds = difference.value - half_width, difference.value + half_width
        return CountryShares(means, low, high, all_low, all_high, difference, *bounds)

    def detectable_difference(self, values: np.ndarray, pilot: RenamedShares | None = None) -> float | None:
        """The smallest difference of a country from the mean of countries that is marked with a power of 80 %.

        `values` are shares of these renamed texts, or of those of a pilot.
        """
        variance = (pilot or self).variance
        if self.shape[1] < 2 or not (variance.has_components and self.variance.is_estimable):
            return None
        return self.variance.smallest_effect(variance.variance_components(values)) or None

    def infer_mean(self, values: np.ndarray) -> Interval:
        """The mean of countries."""
        return self.infer_ratio(self.compute_ratio(values, np.ones(self.shape)))

    def level_ratio(self, hits: np.ndarray, is_level: np.ndarray) -> Ratio:
        """The share of hits among the mentions of a level (both mentions x countries x draws, bool)."""
        counts = self._sum_by_text(is_level)
        values = np.divide(self._sum_by_text(hits & is_level), counts, out=np.zeros(counts.shape), where=counts > 0)
        return self.compute_ratio(values, (counts > 0).astype(float))

    def compute_ratio(self, values: np.ndarray, weights: np.ndarray) -> Ratio:
        ratio = float((values * weights).sum() / weights.sum())
        text_count = int(weights.any(axis=(1, 2)).sum())
        return Ratio(ratio, weights * (values - ratio) / weights.mean(), text_count)

    def infer_ratio(self, ratio: Ratio) -> Interval:
        uncertainty = self.mean_uncertainty(ratio.linear)
        return make_interval(ratio.value, uncertainty, ratio.text_count if self.variance.is_estimable else 0)

    def mean_uncertainty(self, linear: np.ndarray) -> Uncertainty:
        """Of the mean over texts, countries and draws."""
        countries = self.shape[1]
        by_country = self._uncertainty(linear, np.full((countries, countries), 1 / countries))
        return Uncertainty(by_country.covariance[:1, :1], by_country.df[:1])

    def _uncertainty(self, values: np.ndarray, coefficients: np.ndarray) -> Uncertainty:
        if not self.variance.is_estimable:
            return Uncertainty.unknown(len(coefficients))
        return self.variance.uncertainty(LinearMeasure(values, coefficients))

    def _sum_by_text(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values.astype(float), self.first_mentions, axis=0)


def infer_over_texts(numerator: np.ndarray, denominator: np.ndarray) -> Interval:
    """The ratio of two sums over texts, with its interval over texts."""
    total = denominator.sum()
    if not total:
        return Interval(None, None, None)
    ratio = float(numerator.sum() / total)
    linear = (numerator - ratio * denominator) / denominator.mean()
    shape = (len(linear), 1, 1)
    no_names = NameUnits(*(np.zeros(0, dtype=int) for _ in range(3)))
    variance = CrossedVariance(no_names, shape, np.ones((len(linear), 1), dtype=bool), names_fixed=True)
    uncertainty = Uncertainty.unknown(1)
    if variance.is_estimable:
        uncertainty = variance.uncertainty(LinearMeasure(linear.reshape(shape), np.eye(1)))
    return make_interval(ratio, uncertainty, int((denominator > 0).sum()) if variance.is_estimable else 0)


def has_t_interval(uncertainty: Uncertainty) -> bool:
    """Whether enough texts differ from each other for Student's t."""
    return uncertainty.is_known and bool(uncertainty.variance.any())


def make_interval(share: float, uncertainty: Uncertainty, units: int) -> Interval:
    """A share with its 95 % interval: Student's t, or the exact one of `units` units where that is unknown."""
    if has_t_interval(uncertainty):
        half_width = float(uncertainty.half_width()[0])
        return Interval(share, max(share - half_width, 0.0), min(share + half_width, 1.0))
    low, high = exact_interval(np.array([share]), np.array([units]), TAIL)
    return Interval(share, number(low[0]), number(high[0]))


def exact_interval(share: np.ndarray, units: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's interval of a share of `units` independent units; NaN where there are none.

    It is for shares near 0 or 1, of which hardly any text differs. A unit whose share lies between 0 and 1 varies less
    than one that has either, so the interval is conservative.
    """
    successes = share * units
    low = stats.beta.ppf(tail, successes, units - successes + 1)
    high = stats.beta.isf(tail, successes + 1, units - successes)
    low, high = np.where(successes > 0, low, 0.0), np.where(successes < units, high, 1.0)
    return np.where(units > 0, low, np.nan), np.where(units > 0, high, np.nan)
