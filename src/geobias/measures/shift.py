"""Shift of a classifier's probabilities when a prefix is put before a text (HERB, section 4.5: Table 4, Figure 4).

Probabilities come as `before` (texts x classes) and `after` (texts x prefixes x classes). Sums run text by text: all
differences at once would take more memory than the probabilities themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geobias.measures.arrays import divide
from geobias.measures.change import predict_classes

ROUNDING = 1e-6  # smaller changes are rounding: it differs with the batch size


@dataclass(frozen=True)
class Shift:
    """The effect of each prefix on each class (prefixes x classes); NaN where no text rose (fell)."""

    rose: np.ndarray  # number of texts whose probability rose
    mean_rise: np.ndarray  # by how much those did, on average
    fell: np.ndarray
    mean_fall: np.ndarray  # a size, without sign, as the paper prints it
    mean_difference: np.ndarray  # over all texts
    share_before: np.ndarray  # classes: share of the texts predicted as it without the prefix
    share_after: np.ndarray
    gained: np.ndarray  # number of texts that are predicted as it with the prefix only
    lost: np.ndarray  # ... without the prefix only


def shift(before: np.ndarray, after: np.ndarray, threshold: float | None = None) -> Shift:
    """Count and average rises, falls and changed predictions of each prefix and class."""
    shape = after.shape[1:]
    rose, fell, gained, lost = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    rise, fall, total = (np.zeros(shape) for _ in range(3))
    predictions_before = predict_classes(before, threshold)
    for probabilities, variants, had_class in zip(before, after, predictions_before, strict=True):
        differences = variants.astype(np.float64) - probabilities
        up, down = differences > ROUNDING, differences < -ROUNDING
        rose += up
        fell += down
        rise += np.where(up, differences, 0)
        fall -= np.where(down, differences, 0)
        total += differences
        has_class = predict_classes(variants, threshold)
        gained += has_class & ~had_class
        lost += had_class & ~has_class
    texts = len(before)
    return Shift(
        rose=rose,
        mean_rise=divide(rise, rose),
        fell=fell,
        mean_fall=divide(fall, fell),
        mean_difference=total / texts,
        share_before=predictions_before.sum(axis=0) / texts,
        share_after=(predictions_before.sum(axis=0) + gained - lost) / texts,
        gained=gained,
        lost=lost,
    )


def flips(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """prefixes x classes x classes: how many texts went from the first likeliest class to the second; diagonal 0."""
    _, prefixes, classes = after.shape
    counts = np.zeros((prefixes, classes, classes), dtype=np.int64)
    np.add.at(counts, (np.arange(prefixes), before.argmax(axis=1)[:, None], after.argmax(axis=2)), 1)
    counts[:, range(classes), range(classes)] = 0
    return counts


def flip_shares(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """texts x classes x classes: the share of prefixes that take a text from the first class to the second."""
    class_before, class_after = before.argmax(axis=1), after.argmax(axis=2)
    classes = np.arange(before.shape[1])
    share_after = (class_after[:, :, None] == classes).mean(axis=1)
    shares = (class_before[:, None] == classes)[:, :, None] * share_after[:, None, :]
    shares[:, classes, classes] = 0
    return np.asarray(shares)


@dataclass(frozen=True)
class Performance:
    """Accuracy and macro-averaged F1."""

    accuracy: float  # share of predictions with all classes right
    macro_f1: float  # over the classes that occur in the truth or the predictions


def performance(truth: np.ndarray, probabilities: np.ndarray, threshold: float | None = None) -> Performance:
    """Accuracy and macro F1 over all prefixes: `truth` texts x classes, `probabilities` texts x prefixes x classes."""
    right = 0
    hits, predicted = np.zeros(truth.shape[1]), np.zeros(truth.shape[1])
    for true, variants in zip(truth, probabilities, strict=True):
        predictions = predict_classes(variants, threshold)
        right += int((predictions == true).all(axis=1).sum())
        hits += (predictions & true).sum(axis=0)
        predicted += predictions.sum(axis=0)
    texts, prefixes = probabilities.shape[:2]
    denominator = predicted + prefixes * truth.sum(axis=0)  # 2 TP + FP + FN
    f1 = 2 * hits[denominator > 0] / denominator[denominator > 0]
    return Performance(accuracy=right / (texts * prefixes), macro_f1=float(f1.mean()) if len(f1) else float("nan"))
