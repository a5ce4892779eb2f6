"""The bootstrap: units drawn with replacement, and means over texts with their intervals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geobias.measures.estimates import (
    RESAMPLES,
    Estimates,
    LargestEffect,
    benjamini_hochberg,
    bootstrap_estimates,
    bootstrap_p_values,
    largest_effect,
    small_sample_factor,
)

AT_ONCE = 20_000_000  # deviations held at a time


def draw_counts(rng: np.random.Generator, units: int, resamples: int = RESAMPLES) -> np.ndarray:
    """resamples x units: how often each unit is drawn when as many as there are are drawn with replacement."""
    return rng.multinomial(units, np.full(units, 1 / units), size=resamples)


def bootstrap_means(values: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES) -> Estimates:
    """Means over the first axis (texts) with bootstrap intervals and tests against 0; one family of p-values."""
    if len(values) < 2:
        return Estimates.unknown(values.mean(axis=0))
    flat = values.reshape(len(values), -1)
    parts = [
        bootstrap_estimates(mean, deviations, bootstrap_p_values(mean, deviations, len(flat)))
        for mean, deviations in _mean_deviations(flat, seed, resamples)
    ]
    shape = values.shape[1:]
    mean, low, high, p = (
        np.concatenate([getattr(part, name) for part in parts]).reshape(shape) for name in ("value", "low", "high", "p")
    )
    return Estimates(mean, low, high, p, benjamini_hochberg(p))


def largest_mean(values: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES) -> LargestEffect:
    """The column mean (texts x columns) farthest from 0, with simultaneous bounds; NaN bounds for a single text."""
    means = values.mean(axis=0)
    if len(values) < 2:
        position = int(np.abs(means).argmax())
        return LargestEffect(float(np.abs(means[position])), np.nan, np.nan, position)
    deviations = np.hstack([deviations for _, deviations in _mean_deviations(values, seed, resamples)])
    return largest_effect(means, deviations, len(values))


def _mean_deviations(flat: np.ndarray, seed: int, resamples: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For a block of columns at a time: their means, and the bootstrap deviations of these (resamples x columns)."""
    texts = len(flat)
    weights = draw_counts(np.random.default_rng(seed), texts, resamples) - 1.0
    weights *= small_sample_factor(texts) / texts
    step = max(1, AT_ONCE // resamples)
    for start in range(0, flat.shape[1], step):
        columns = flat[:, start : start + step].astype(np.float64)
        means = columns.mean(axis=0)
        yield means, weights @ (columns - means)
