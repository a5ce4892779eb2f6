"""How strong associations are as a whole: against invented places, and against permuted words."""

from __future__ import annotations

import numpy as np
from scipy import stats

from geobias.measures.association import SMALLEST_SPREAD
from geobias.measures.estimates import (
    Estimates,
    benjamini_hochberg,
    satterthwaite_df,
    t_quantile,
)


def compare_strength_with_invented(value: np.ndarray, invented: np.ndarray) -> Estimates:
    """How distinct each region is: its root mean square association, divided by invented places' geometric mean.

    One-sided p: is it larger than that of another invented place (Student's t on the log scale, n - 1 degrees of
    freedom)? Adjusted for all regions (Benjamini-Hochberg). There is no interval: words are the subject, not a sample.
    """
    real, placebo = (
        np.log(np.maximum(np.sqrt((each**2).mean(axis=-1)), SMALLEST_SPREAD)) for each in (value, invented)
    )
    places, missing = len(invented), np.full(len(value), np.nan)
    error = placebo.std(ddof=1) * np.sqrt(1 + 1 / places)
    difference = real - placebo.mean()
    p = stats.t.sf(difference / max(error, SMALLEST_SPREAD), places - 1)
    return Estimates(np.exp(difference), missing, missing, p, benjamini_hochberg(p))


def compare_size_with_invented(value: np.ndarray, invented: np.ndarray) -> Estimates:
    """The root mean square association of regions, divided by that of invented places: a single ratio.

    Training alone moves it, so that models cannot be compared by it. Centring n regions takes 1/n of their variance
    away, which is put back. The 95 % interval is a jackknife's of the log ratio, over words, regions and invented
    places. p is of the hypothesis that the ratio is 1.
    """
    regions, places = len(value), len(invented)
    correction = 0.5 * np.log((1 - 1 / places) / (1 - 1 / regions))

    def log_ratio(real: np.ndarray, placebo: np.ndarray) -> np.ndarray:
        return np.asarray(0.5 * np.log(real / placebo))

    real, placebo = value**2, invented**2
    if placebo.sum() == 0 or real.sum() == 0:
        return Estimates.unknown(np.array(np.nan if placebo.sum() == 0 else 0.0))
    centre = log_ratio(real.mean(), placebo.mean()) + correction
    resampled = [
        log_ratio(_leave_one_out(real, axis=0), _leave_one_out(placebo, axis=0)),
        log_ratio(_leave_one_out(real, axis=1), placebo.mean()),
        log_ratio(real.mean(), _leave_one_out(placebo, axis=1)),
    ]
    counts = [len(values) for values in resampled]
    variances = [(len(values) - 1) * values.var() for values in resampled]
    variance = np.array(sum(variances))
    squares_over_df = np.array(sum(v**2 / (n - 1) for v, n in zip(variances, counts, strict=True)))
    df = satterthwaite_df(variance, squares_over_df, counts[0] - 1.0)
    half_width = t_quantile(df) * np.sqrt(variance)
    p = np.asarray(2 * stats.t.sf(np.abs(centre) / np.sqrt(variance), df)) if variance > 0 else np.array(np.nan)
    return Estimates(np.exp(centre), np.exp(centre - half_width), np.exp(centre + half_width), p, p)


def compare_with_permuted_words(value: np.ndarray, groups: list[np.ndarray]) -> float | None:
    """How far apart the regions of one group lie, divided by what their words permuted at random would give.

    The root mean square distance between pairs. Associations of a region sum to 0 over words, so permuting the words of
    each region independently gives squared distances of |a|² + |b|² on average. Below 1: regions of a group share
    associations. None where no group has a pair.
    """
    observed = expected = 0.0
    for rows in groups:
        members, count = value[rows], len(rows)
        if count > 1:
            norms = (members**2).sum()
            # The sum over pairs of |a - b|² is n sum |a|² - |sum a|²; that of |a|² + |b|² is (n - 1) sum |a|².
            observed += (count * norms - (members.sum(axis=0) ** 2).sum()) / (count * (count - 1))
            expected += norms / count
    return float(np.sqrt(observed / expected)) if expected > 0 else None


def _leave_one_out(values: np.ndarray, axis: int) -> np.ndarray:
    """The means without each column (axis 0: summed over rows) or without each row (axis 1)."""
    sums = values.sum(axis=axis)
    return np.asarray((sums.sum() - sums) / (len(sums) - 1) / values.shape[axis])
