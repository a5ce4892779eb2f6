"""How a mitigation changes a classifier: the spread between countries, flips, accuracy and macro-F1, in pairs.

Both classifiers score the same texts with the same names, so their answers are compared one by one.

**Spread.** Between the mean tones (100 (p_pos - p_neg)) of countries, with intervals over texts (`uncertainty.py`).
Names are fixed here: both classifiers are tested with the same ones, and a mitigation should remove what single names
do as well.

**Noise floor.** The spread that equal countries would show, since each has other names: the square root of
tr Σ / (C - 1) with Σ over texts and names (`crossed_variance.py`). A spread that does not exceed it may come from
single names rather than from countries.

**Standardised spread.** The spread divided by the standard deviation over texts of the tone. A classifier whose
probabilities only shrink towards each other has a smaller spread, but the same standardised spread, and flips as often.
The noise of the names that a text happens to show is subtracted from the variance over texts. Where that leaves nothing
for either classifier, since all texts have the same tone apart from names, the standard deviation over the names of a
country takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from geobias.measures.arrays import divide
from geobias.measures.crossed_variance import CrossedVariance
from geobias.measures.estimates import (
    CONFIDENCE_LEVEL,
    QUANTILES,
    RESAMPLES,
    Estimate,
    bootstrap_estimates,
    bootstrap_p_values,
    draw_counts,
    small_sample_factor,
)
from geobias.measures.uncertainty import ROUNDING, SMALLEST_VARIANCE, draw_normal, measure_spread_change


class Spread(NamedTuple):
    """The spread between countries in points, with its interval and its noise floor; NaN where they are unknown."""

    value: float
    low: float
    high: float
    noise: float
    exceeds_noise: bool


class SpreadRatio(NamedTuple):
    """The spread after mitigation divided by the spread before; NaN where there is none before."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SpreadComparison:
    """The spreads of two classifiers, and how they differ."""

    before: Spread
    after: Spread
    ratio: SpreadRatio
    standardised_ratio: SpreadRatio
    change: Estimate  # of the spread, in points


def compare_spreads(
    before: np.ndarray, after: np.ndarray, design: CrossedVariance, *, seed: int = 0
) -> SpreadComparison:
    """Compare the spreads of tones (texts x countries x draws, in points) of two classifiers."""
    runs = (before, after)
    centred = np.eye(design.countries) - 1 / design.countries
    means = [centred @ design.means(values) for values in runs]
    shrinkage = compute_shrinkage(*map(measure_scales, runs))
    low, high = np.nan, np.nan
    if design.is_estimable:
        covariances = [_text_covariance(values, design, centred) for values in (*runs, after - before)]
        rng = np.random.default_rng(seed)
        comparison = measure_spread_change(means, covariances, rng)
        name_covariances = [centred @ design.name_covariance(values) @ centred.T for values in runs]
        floors = [_find_noise_floor(means[k], covariances[k] + name_covariances[k], rng) for k in range(2)]
        values, plausible, change = comparison.spreads, comparison.plausible, comparison.change
        bounds = np.sqrt(np.quantile(plausible, QUANTILES, axis=0))
        ends = bounds.T.tolist()
        spreads = [Spread(float(values[k]), ends[k][0], ends[k][1], *floors[k]) for k in range(2)]
        if bounds[0, 0] > ROUNDING:  # else the first spread may be 0, and the ratio has no upper bound
            ratios = np.sqrt(plausible[:, 1] / np.maximum(plausible[:, 0], SMALLEST_VARIANCE))
            low, high = np.quantile(ratios, QUANTILES).tolist()
    else:
        sizes = [float(np.sqrt((mean**2).sum() / (design.countries - 1))) for mean in means]
        spreads = [Spread(size, np.nan, np.nan, np.nan, False) for size in sizes]
        change = Estimate(sizes[1] - sizes[0], None, None, None, None)
    ratio = SpreadRatio(divide_or_nan(spreads[1].value, spreads[0].value), low, high)
    standardised = SpreadRatio(*(bound * shrinkage for bound in ratio))
    return SpreadComparison(spreads[0], spreads[1], ratio, standardised, change)


def _text_covariance(values: np.ndarray, design: CrossedVariance, centred: np.ndarray) -> np.ndarray:
    """The covariance matrix of the countries' differences from their mean, over texts; names are fixed."""
    influence = design.text_influence(values) @ centred.T
    return np.asarray(influence.T @ influence)


def _find_noise_floor(mean: np.ndarray, covariance: np.ndarray, rng: np.random.Generator) -> tuple[float, bool]:
    """The spread that equal countries would show by this covariance, and whether theirs is clearly more than that."""
    df = len(mean) - 1
    equal = (draw_normal(covariance, rng) ** 2).sum(axis=1) / df
    exceeds = (mean**2).sum() / df > max(float(np.quantile(equal, CONFIDENCE_LEVEL)), SMALLEST_VARIANCE)
    return float(np.sqrt(np.trace(covariance) / df)), bool(exceeds)


def measure_scales(values: np.ndarray) -> tuple[float, float]:
    """Standard deviations of tones (texts x countries x draws): over texts, and over the names of a country.

    That over texts is without the noise of names, and 0 where it may be nothing else.
    """
    texts, countries, draws = values.shape
    if texts < 2:
        return 0.0, 0.0
    over_names = float(values.var(axis=2, ddof=1).mean()) if draws > 1 else 0.0
    noise = over_names / (countries * draws)
    total = float(values.mean(axis=(1, 2)).var(ddof=1))
    most_noise = noise * stats.chi2.ppf(CONFIDENCE_LEVEL, texts - 1) / (texts - 1)
    return float(np.sqrt(total - noise)) if total > most_noise else 0.0, float(np.sqrt(over_names))


def compute_shrinkage(before: tuple[float, float], after: tuple[float, float]) -> float:
    """By how much the scale shrinks; NaN if all texts have the same tone after, but not before."""
    (texts_before, names_before), (texts_after, names_after) = before, after
    if max(texts_before, texts_after) > ROUNDING:
        return divide_or_nan(texts_before, texts_after)
    return names_before / names_after if names_after > ROUNDING else 1.0


def divide_or_nan(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > ROUNDING else np.nan


def bootstrap_interval(
    statistic: Callable[[np.ndarray], float], units: int, *, seed: int = 0
) -> tuple[float, float, float]:
    """A statistic of the units at given positions, and its 95 % percentile interval over units."""
    positions = np.random.default_rng(seed).integers(units, size=(RESAMPLES, units))
    low, high = np.quantile([statistic(row) for row in positions], QUANTILES).tolist()
    return statistic(np.arange(units)), low, high


def flips_by_text(classes: np.ndarray) -> np.ndarray:
    """texts: the share of renamed versions whose predicted label is not the one that most versions have.

    `classes` is texts x countries x draws x classes (bool); equal rows are equal predictions.
    """
    _, numbers = np.unique(classes.reshape(-1, classes.shape[-1]), axis=0, return_inverse=True)
    numbers = numbers.reshape(len(classes), -1)
    return np.array([1 - np.unique(row, return_counts=True)[1].max() / len(row) for row in numbers])


@dataclass(frozen=True)
class QualityComparison:
    """Accuracy or macro-F1 of the second of two classifiers, in per cent, and the change, with intervals over texts."""

    after: Estimate
    change: Estimate


def compare_quality(
    truth: np.ndarray, before: np.ndarray, after: np.ndarray, *, seed: int = 0
) -> dict[str, QualityComparison]:
    """Accuracy and macro-F1 of two classifiers on the same texts: all arrays are texts x classes (bool)."""
    counts = draw_counts(np.random.default_rng(seed), len(truth)).astype(float)
    weights = np.vstack([np.ones(len(truth)), counts])  # the first row is the sample itself
    comparisons = {}
    for name, measure in (("accuracy", _accuracy), ("macro_f1", _macro_f1)):
        first, second = (100 * measure(truth, classes, weights) for classes in (before, after))
        comparisons[name] = QualityComparison(
            *(_percentile_estimate(values, len(truth)) for values in (second, second - first))
        )
    return comparisons


def _accuracy(truth: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """resamples: the share of texts whose predicted classes are the true ones."""
    return np.asarray(weights @ (truth == classes).all(axis=1) / weights.sum(axis=1))


def _macro_f1(truth: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """resamples: F1 = 2 TP / (2 TP + FP + FN), averaged over the classes that are true or predicted somewhere."""
    occurring = (truth | classes).any(axis=0)
    right = weights @ (truth & classes)[:, occurring]
    total = weights @ (truth.astype(float) + classes)[:, occurring]
    return np.nan_to_num(divide(2 * right, total)).mean(axis=1)


def _percentile_estimate(values: np.ndarray, texts: int) -> Estimate:
    """The first value, with the interval and the p-value from the bootstrap deviations of the others."""
    value, deviations = values[:1], (values[1:, None] - values[0]) * small_sample_factor(texts)
    return bootstrap_estimates(value, deviations, bootstrap_p_values(value, deviations, texts)).at(0)
