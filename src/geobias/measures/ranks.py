"""How far two ways of scoring agree: about the same regions and words, or about the cells of a table."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr


def rank_agreement(first: np.ndarray, second: np.ndarray) -> float | None:
    """Mean over words of the Spearman correlation over regions: do both put the regions in the same order?

    Rows are regions, columns words. A word on which one side says the same of all regions has no order and
    is left out; None if no word is left.
    """
    if first.shape != second.shape or len(first) < 3:
        return None
    varied = (np.ptp(first, axis=0) > 0) & (np.ptp(second, axis=0) > 0)
    if not varied.any():
        return None
    return float(np.mean([spearmanr(first[:, i], second[:, i]).statistic for i in np.flatnonzero(varied)]))


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's correlation where both are known; None for fewer than three, or where one side has no order."""
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    if len(first) < 3 or not np.ptp(first) or not np.ptp(second):
        return None
    return float(spearmanr(first, second).statistic)
