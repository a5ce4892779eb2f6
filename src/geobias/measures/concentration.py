"""Whether a mean over texts rests on a few of them, so that its interval, by Student's t, is too short on one side.

With d_t the influence of text t on a mean and s² = sum of d_t², the skewness of the mean is sum of d_t³ / s³. To first
order (Hall 1992, Edgeworth) the share of intervals that miss on the long side is 2.5 % + 8.5 % * |skewness|.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from geobias.measures.arrays import divide

MOST_SKEWED: Final = 0.25  # twice as many miss on this side as should; chance gives it in 3 % at 20 texts


def skewness_of_mean(influence: np.ndarray) -> np.ndarray:
    """Of means with this influence of every text (texts x means); 0 where no text has any."""
    centred = influence - influence.mean(axis=0)
    return np.nan_to_num(divide((centred**3).sum(axis=0), (centred**2).sum(axis=0) ** 1.5))


def count_texts_of_half(contributions: np.ndarray) -> int:
    """How many texts, those that contribute most first, make up half of the sum."""
    total = contributions.sum()
    ordered = np.sort(contributions * np.sign(total))[::-1]
    return int(np.searchsorted(np.cumsum(ordered), abs(total) / 2) + 1) if total else 0
