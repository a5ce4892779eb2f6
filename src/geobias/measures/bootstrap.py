"""How sure are means over texts? Only the texts were drawn at random: they are resampled, everything else stays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geobias.measures.estimates import (
    RESAMPLES,
    Estimates,
    benjamini_hochberg,
    bootstrap_estimates,
    bootstrap_p_values,
    max_t_bounds,
    small_sample_factor,
)

AT_ONCE = 20_000_000  # deviations held at a time


def bootstrap_means(differences: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES) -> Estimates:
    """Mean over the first axis (texts) with its interval, and whether it is 0; all p-values are one family."""
    if len(differences) < 2:
        return Estimates.unknown(differences.mean(axis=0))
    flat = differences.reshape(len(differences), -1)
    parts = [
        bootstrap_estimates(value, off, bootstrap_p_values(value, off, len(flat)))
        for value, off in ((some.mean(axis=0), off) for some, off in _mean_deviations(flat, seed, resamples))
    ]
    shape = differences.shape[1:]
    value, low, high, p = (
        np.concatenate([getattr(part, name) for part in parts]).reshape(shape) for name in ("value", "low", "high", "p")
    )
    return Estimates(value, low, high, p, benjamini_hochberg(p))


def largest_mean(
    differences: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float, float, int]:
    """The mean (texts x things) farthest from 0: its size, bounds that hold for all at once, and which it is."""
    value = differences.mean(axis=0)
    which = int(np.abs(value).argmax())
    if len(differences) < 2:
        return float(np.abs(value[which])), np.nan, np.nan, which
    deviations = np.hstack([off for _, off in _mean_deviations(differences, seed, resamples)])
    low, high = max_t_bounds(value, deviations, len(differences))
    certain = np.where((low > 0) | (high < 0), np.minimum(np.abs(low), np.abs(high)), 0)
    bound = np.maximum(np.abs(low), np.abs(high))
    return float(np.abs(value[which])), float(certain.max()), float(bound.max()), which


def _mean_deviations(flat: np.ndarray, seed: int, resamples: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some columns at a time, and resamples x columns: how far off their means would lie with other texts."""
    texts = len(flat)
    drawn = np.random.default_rng(seed).multinomial(texts, np.full(texts, 1 / texts), size=resamples) - 1.0
    drawn *= small_sample_factor(texts) / texts
    step = max(1, AT_ONCE // resamples)
    for start in range(0, flat.shape[1], step):
        some = flat[:, start : start + step].astype(np.float64)
        yield some, drawn @ (some - some.mean(axis=0))
