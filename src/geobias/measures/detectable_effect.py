"""How small a true difference a run would have detected, from the intervals that it has."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import stats

from geobias.measures.estimates import NORMAL_QUANTILE, SIGNIFICANT, Estimate

POWER = 0.8


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
