"""How a classifier's answers shift when a prefix is put before a text (HERB, section 4.5: Table 4, Figure 4).

Probabilities come as `before` (texts x classes) and `after` (texts x prefixes x classes). Everything is summed up text
by text, since all differences at once would take more memory than the probabilities themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geobias.measures.change import predict_classes

ROUNDING = 1e-6  # a probability that moved by no more has not moved: batches of other sizes round otherwise


@dataclass(frozen=True)
class Shift:
    """What each prefix does to each class (prefixes x classes); NaN where no text moved that way."""

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
    """Rises, falls and predictions, prefix by prefix."""
    shape = after.shape[1:]
    rose, fell, gained, lost = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    rise, fall, total = (np.zeros(shape) for _ in range(3))
    was = predict_classes(before, threshold)
    for one, variants, was_so in zip(before, after, was, strict=True):
        moved = variants.astype(np.float64) - one
        up, down = moved > ROUNDING, moved < -ROUNDING
        rose += up
        fell += down
        rise += np.where(up, moved, 0)
        fall -= np.where(down, moved, 0)
        total += moved
        is_so = predict_classes(variants, threshold)
        gained += is_so & ~was_so
        lost += was_so & ~is_so
    texts = len(before)
    return Shift(
        rose=rose,
        mean_rise=_mean(rise, rose),
        fell=fell,
        mean_fall=_mean(fall, fell),
        mean_difference=total / texts,
        share_before=was.sum(axis=0) / texts,
        share_after=(was.sum(axis=0) + gained - lost) / texts,
        gained=gained,
        lost=lost,
    )


def flips(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """prefixes x classes x classes: how many texts went from this likeliest class to that one; no text stays."""
    count = before.shape[1]
    found = np.zeros((after.shape[1], count, count), dtype=np.int64)
    each = np.arange(after.shape[1])
    for was, variants in zip(before.argmax(axis=1), after, strict=True):
        found[each, was, variants.argmax(axis=1)] += 1
    found[:, np.arange(count), np.arange(count)] = 0
    return found


def flip_shares(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """texts x classes x classes: of each text, the share of its prefixes that take it from this class to that one."""
    was, now = before.argmax(axis=1), after.argmax(axis=2)
    classes = np.arange(before.shape[1])
    there = (now[:, :, None] == classes).mean(axis=1)
    found = (was[:, None] == classes)[:, :, None] * there[:, None, :]
    found[:, classes, classes] = 0
    return np.asarray(found)


@dataclass(frozen=True)
class Performance:
    """How good a classifier is."""

    accuracy: float  # share of the answers that are wholly right
    macro_f1: float  # mean of F1 over the classes that occur, be it in truth or in predictions


def performance(truth: np.ndarray, probabilities: np.ndarray, threshold: float | None = None) -> Performance:
    """All prefixes together: `truth` is texts x classes (bool), `probabilities` texts x prefixes x classes."""
    right = 0
    hits, said = np.zeros(truth.shape[1]), np.zeros(truth.shape[1])
    for true, variants in zip(truth, probabilities, strict=True):
        answers = predict_classes(variants, threshold)
        right += int((answers == true).all(axis=1).sum())
        hits += (answers & true).sum(axis=0)
        said += answers.sum(axis=0)
    texts, prefixes = probabilities.shape[:2]
    either = said + prefixes * truth.sum(axis=0)  # 2 TP + FP + FN
    f1 = 2 * hits[either > 0] / either[either > 0]
    return Performance(accuracy=right / (texts * prefixes), macro_f1=float(f1.mean()) if len(f1) else float("nan"))


def _mean(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.asarray(total / np.where(count == 0, np.nan, count))
