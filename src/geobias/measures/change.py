"""Change of predictions when the people in a text are renamed, or when a prefix is put before it.

**Renamed** (Barriere and Cifuentes 2024, section 3.1). Probabilities come as `original` (texts x classes) and `renamed`
(texts x countries x draws x classes). `counted` (texts x draws) says which renamed texts take part; an original counts
as often as its renamed texts do. Everything is measured twice: against the original texts, as in the paper, and against
the mean of all countries, which removes the effect of renaming as such.

**With a prefix** (HERB, section 4.5: Table 4, Figure 4). Probabilities come as `before` (texts x classes) and `after`
(texts x prefixes x classes). Sums run text by text: all differences at once would take more memory than the
probabilities themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geobias.files import read_block
from geobias.measures.arrays import divide, sum_over_texts
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN

SMALLEST_PROBABILITY = 1e-12  # lower bound of probabilities in logarithms


@dataclass(frozen=True)
class Change:
    """The measures of change of each country; NaN where the reference is 0 or missing."""

    before: np.ndarray  # classes: number of predictions on the originals, each counted as often as it was renamed
    after: np.ndarray  # countries x classes: number of predictions on the renamed texts
    change: np.ndarray  # countries x classes, per cent
    change_from_mean: np.ndarray
    changed_texts: (
        np.ndarray
    )  # countries x classes: texts with a renamed version whose prediction is not the original's
    changed_texts_from_mean: np.ndarray  # texts whose predictions with these names are not those of the mean country
    delta: np.ndarray  # countries, points from -100 to +100
    delta_from_mean: np.ndarray
    kl: np.ndarray  # countries, nats
    kl_from_mean: np.ndarray


def change_by_country(
    original: np.ndarray,
    renamed: np.ndarray,
    *,
    counted: np.ndarray,
    positive: list[int],
    negative: list[int],
    threshold: float | None = None,
    multi_label: bool = False,
) -> Change:
    """Compute all measures of change, block by block of texts."""

    def sum_block(texts: slice) -> list[np.ndarray]:
        before, after, takes_part = original[texts], read_block(renamed, texts), counted[texts]
        before_classes, after_classes = (predict_classes(each, threshold) for each in (before, after))
        by_text = np.einsum("tcdk,td->tck", after_classes.astype(float), takes_part.astype(float))
        has_changed = ((after_classes != before_classes[:, None, None]) & takes_part[:, None, :, None]).any(axis=2)
        # Against the median: one country that changes a text moves the mean of all countries in it.
        differs_from_mean = by_text != np.median(by_text, axis=1, keepdims=True)
        return [
            np.einsum("tk,td->k", before_classes.astype(float), takes_part.astype(float)),
            by_text.sum(axis=0),
            has_changed.sum(axis=0),
            differs_from_mean.sum(axis=0),
            _sum_by_country(tone_difference(before, after, positive, negative), takes_part),
            _sum_by_country(kl_by_text(after, before, multi_label=multi_label), takes_part),
            _sum_by_country(kl_by_text(after, country_mean(after, takes_part), multi_label=multi_label), takes_part),
        ]

    before, after, changed, changed_from_mean, tones, kl, kl_from_mean = sum_over_texts(
        sum_block, len(renamed), int(np.prod(renamed.shape[1:]))
    )
    total = counted.sum()
    has_delta = bool(positive and negative)
    deltas = 100 * divide(tones, total) if has_delta else np.full(renamed.shape[1], np.nan)
    return Change(
        before=before,
        after=after,
        change=class_change(after, before),
        change_from_mean=class_change(after, after.mean(axis=0)),
        changed_texts=changed,
        changed_texts_from_mean=changed_from_mean,
        delta=deltas,
        delta_from_mean=deltas - deltas.mean(),
        kl=divide(kl, total),
        kl_from_mean=divide(kl_from_mean, total),
    )


def hide_rare_changes(change: Change, texts: int) -> Change:
    """The same without what rests on fewer than five texts: one text can make +1,600 % of a rare class.

    Delta and KL rest on all `texts`, the change of a class on those that change. Where none does, the change is 0, and
    stays.
    """

    def hide(values: np.ndarray, texts: np.ndarray | int) -> np.ndarray:
        return np.where(np.greater(texts, 0) & np.less(texts, FEWEST_TEXTS_SHOWN), np.nan, values)

    return replace(
        change,
        change=hide(change.change, change.changed_texts),
        change_from_mean=hide(change.change_from_mean, change.changed_texts_from_mean),
        **{name: hide(getattr(change, name), texts) for name in ("delta", "delta_from_mean", "kl", "kl_from_mean")},
    )


def predict_classes(probabilities: np.ndarray, threshold: float | None) -> np.ndarray:
    """Which classes are predicted (bool): the likeliest; with a threshold, every class that reaches it."""
    if threshold is not None:
        return probabilities >= threshold
    return np.asarray(probabilities.argmax(axis=-1)[..., None] == np.arange(probabilities.shape[-1]))


def class_change(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """100 * (count after - count before) / count before, in per cent; NaN for a class never predicted before."""
    return 100 * divide(after - before, before)


def tone_difference(original: np.ndarray, renamed: np.ndarray, positive: list[int], negative: list[int]) -> np.ndarray:
    """texts x countries x draws: the tone p_pos - p_neg of a renamed text minus that of its original.

    Delta is 100 times its mean, for each country. Several positive (negative) classes are added up.
    """

    def tone(p: np.ndarray) -> np.ndarray:
        return np.asarray(p[..., positive].sum(axis=-1) - p[..., negative].sum(axis=-1))

    return tone(renamed) - tone(original)[:, None, None]


def kl_by_text(renamed: np.ndarray, reference: np.ndarray, *, multi_label: bool = False) -> np.ndarray:
    """texts x countries x draws: symmetric KL divergence of a renamed text from its reference (texts x classes)."""
    return symmetric_kl(renamed, reference[:, None, None], multi_label=multi_label)


def country_mean(renamed: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """texts x classes: the mean probabilities of a text over all countries and counted draws."""
    sums = divide(np.einsum("tcdk,td->tk", renamed, counted.astype(float)), counted.sum(axis=1)[:, None])
    return sums / renamed.shape[1]


def symmetric_kl(p: np.ndarray, q: np.ndarray, *, multi_label: bool = False) -> np.ndarray:
    """Symmetric KL divergence (KL(p, q) + KL(q, p)) / 2 = sum (p - q) (log p - log q) / 2 over the last axis, in nats.

    The classes of a multi-label model are independent Bernoulli variables, whose divergences are added up.
    """
    p, q = np.maximum(p, SMALLEST_PROBABILITY), np.maximum(q, SMALLEST_PROBABILITY)
    terms = (p - q) * (np.log(p) - np.log(q))
    if multi_label:
        other_p, other_q = np.maximum(1 - p, SMALLEST_PROBABILITY), np.maximum(1 - q, SMALLEST_PROBABILITY)
        terms = terms + (other_p - other_q) * (np.log(other_p) - np.log(other_q))
    return np.asarray(terms.sum(axis=-1) / 2)


@dataclass(frozen=True)
class ErrorRates:
    """One class against the rest, countries x classes; NaN where no text is without (with) the class."""

    false_positive: np.ndarray
    false_negative: np.ndarray


def error_rates(
    truth: np.ndarray, probabilities: np.ndarray, *, counted: np.ndarray, threshold: float | None = None
) -> ErrorRates:
    """False positive rate FP / (FP + TN) and false negative rate FN / (FN + TP) of each class.

    `truth` is texts x classes (bool), `probabilities` texts x countries x draws x classes.
    """

    def sum_block(texts: slice) -> list[np.ndarray]:
        predicted = predict_classes(read_block(probabilities, texts), threshold).astype(float)
        predictions = np.einsum("tcdk,td->tck", predicted, counted[texts].astype(float))
        return [np.einsum("tck,tk->ck", predictions, each[texts]) for each in (~truth, truth)]

    false_positives, true_positives = sum_over_texts(
        sum_block, len(probabilities), int(np.prod(probabilities.shape[1:]))
    )
    draws = counted.sum(axis=1, dtype=float)
    return ErrorRates(
        false_positive=divide(false_positives, draws @ ~truth),
        false_negative=1 - divide(true_positives, draws @ truth),
    )


def _sum_by_country(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The sum over the counted texts and draws, for each country."""
    return np.asarray(np.where(counted[:, None, :], values, 0).sum(axis=(0, 2)))  # others may be NaN


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
