"""Macro F1, the shift between rare and frequent labels, and a paired bootstrap."""

from __future__ import annotations

import numpy as np

SHIFTS = np.linspace(-3, 3, 61)
RESAMPLES = 2000


def count_cells(labels: np.ndarray, predictions: np.ndarray, width: int) -> np.ndarray:
    """For each text, 1 in the column of its label and prediction."""
    cells = np.zeros((len(labels), width * width), dtype=np.float32)
    cells[np.arange(len(labels)), labels * width + predictions] = 1
    return cells


def f1_of_counts(counts: np.ndarray) -> np.ndarray:
    """Macro F1 in percent of tables of labels by predictions, which are the last axis."""
    width = round(counts.shape[-1] ** 0.5)
    tables = counts.reshape(*counts.shape[:-1], width, width)
    both = np.diagonal(tables, axis1=-2, axis2=-1)
    return 100 * (2 * both / np.maximum(tables.sum(-1) + tables.sum(-2), 1e-9)).mean(-1)


def macro_f1(labels: np.ndarray, predictions: np.ndarray, width: int) -> float:
    return float(f1_of_counts(count_cells(labels, predictions, width).sum(0)))


def shift_direction(labels: np.ndarray, width: int) -> np.ndarray:
    """Return the direction from rare labels to frequent ones, its ends one apart."""
    frequency = np.log(np.maximum(np.bincount(labels[labels >= 0], minlength=width), 1))
    return (frequency - frequency.mean()) / max(np.ptp(frequency), 1e-9)


def best_shift(labels: np.ndarray, logits: np.ndarray) -> tuple[float, float]:
    """Return how far to shift the decisions of the texts that have a label, and macro F1 there.

    Macro F1 is averaged over neighbouring shifts, so that a lucky one is not chosen.
    """
    rows, width = labels >= 0, logits.shape[1]
    direction = shift_direction(labels, width)
    scores = [macro_f1(labels[rows], (logits[rows] + shift * direction).argmax(1), width) for shift in SHIFTS]
    smooth = np.convolve(np.pad(scores, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    best = max(range(len(SHIFTS)), key=lambda i: (smooth[i], -abs(SHIFTS[i])))
    return float(SHIFTS[best]), float(smooth[best])


def bootstrap_difference(
    labels: np.ndarray, ours: np.ndarray, theirs: np.ndarray, width: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """95 % intervals of our macro F1 and of the difference to theirs, from the same resamples of the texts."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(len(labels), np.full(len(labels), 1 / len(labels)), size=RESAMPLES).astype(np.float32)
    scores = [f1_of_counts(counts @ count_cells(labels, each, width)) for each in (ours, theirs)]
    return np.percentile(scores[0], [2.5, 97.5]), np.percentile(scores[0] - scores[1], [2.5, 97.5])


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """95 % interval of a share, in percent."""
    share, z = hits / count, 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return 100 * float(middle - half), 100 * float(middle + half)
