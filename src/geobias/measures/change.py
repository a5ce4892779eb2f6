"""How a classifier's answers change when the people in a text are renamed (Barriere and Cifuentes 2024, section 3.1).

Probabilities come as `original` (texts x classes) and `renamed` (texts x countries x draws x classes). `counted`
(texts x draws) says which renamed texts take part; an original counts as often as its renamed texts do.
Everything is told twice: against the original texts, as the paper does, and against the mean of all countries, which
takes away what any renaming does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST_PROBABILITY = 1e-12  # below this a probability is taken as this: the logarithm of nothing would be infinite


@dataclass(frozen=True)
class Change:
    """What the names of each country do; NaN where there is nothing to compare with."""

    before: np.ndarray  # classes: predictions on the originals, each as often as it was renamed (E x count before)
    after: np.ndarray  # countries x classes: predictions on the renamed texts
    change: np.ndarray  # countries x classes, per cent
    change_from_mean: np.ndarray
    delta: np.ndarray  # countries, points of 100
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
    """All the measures of change at once."""
    before = np.einsum("tk,td->k", predict_classes(original, threshold).astype(float), counted.astype(float))
    after = np.einsum("tcdk,td->ck", predict_classes(renamed, threshold).astype(float), counted.astype(float))
    moved = delta(original, renamed, counted=counted, positive=positive, negative=negative)
    from_original = kl_by_text(renamed, original, multi_label=multi_label)
    from_mean = kl_by_text(renamed, country_mean(renamed, counted), multi_label=multi_label)
    return Change(
        before=before,
        after=after,
        change=class_change(after, before),
        change_from_mean=class_change(after, after.mean(axis=0)),
        delta=moved,
        delta_from_mean=moved - moved.mean(),
        kl=_mean_by_country(from_original, counted),
        kl_from_mean=_mean_by_country(from_mean, counted),
    )


def predict_classes(probabilities: np.ndarray, threshold: float | None) -> np.ndarray:
    """Which classes are predicted (bool): the likeliest one; with a threshold every class that reaches it."""
    if threshold is not None:
        return probabilities >= threshold
    likeliest = probabilities.argmax(axis=-1)
    chosen: np.ndarray = likeliest[..., None] == np.arange(probabilities.shape[-1])
    return chosen


def class_change(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """100 * (count after - count before) / count before; NaN for a class that was never predicted before."""
    return 100 * _ratio(after - before, before)


def delta(
    original: np.ndarray, renamed: np.ndarray, *, counted: np.ndarray, positive: list[int], negative: list[int]
) -> np.ndarray:
    """100 * mean(p_pos - p_neg) of the renamed texts minus the same of the originals, for each country.

    Several positive (negative) classes are added up; without any on either side there is no Delta (NaN).
    """
    if not positive or not negative:
        return np.full(renamed.shape[1], np.nan)
    return 100 * _mean_by_country(tone_difference(original, renamed, positive, negative), counted)


def tone_difference(original: np.ndarray, renamed: np.ndarray, positive: list[int], negative: list[int]) -> np.ndarray:
    """texts x countries x draws: p_pos - p_neg of a renamed text minus the same of its original."""

    def tone(p: np.ndarray) -> np.ndarray:
        difference: np.ndarray = p[..., positive].sum(axis=-1) - p[..., negative].sum(axis=-1)
        return difference

    return tone(renamed) - tone(original)[:, None, None]


def kl_by_text(renamed: np.ndarray, reference: np.ndarray, *, multi_label: bool = False) -> np.ndarray:
    """texts x countries x draws: the symmetric KL of a renamed text from its reference (texts x classes).

    Text by text, since the logarithms of all of them at once would take more memory than all the rest.
    """
    found = np.empty(renamed.shape[:-1])
    for i, (versions, one) in enumerate(zip(renamed, reference, strict=True)):
        found[i] = symmetric_kl(versions, one, multi_label=multi_label)
    return found


def country_mean(renamed: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """texts x classes: what a text gets on average over all countries and counted draws."""
    each = _ratio(np.einsum("tcdk,td->tk", renamed, counted.astype(float)), counted.sum(axis=1)[:, None])
    return each / renamed.shape[1]


def symmetric_kl(p: np.ndarray, q: np.ndarray, *, multi_label: bool = False) -> np.ndarray:
    """Half of KL(p to q) + KL(q to p) over the last axis, in nats; the classes of a multi-label model are added up.

    Half of the sum is half of sum (p - q) (log p - log q).
    """
    p, q = np.maximum(p, SMALLEST_PROBABILITY), np.maximum(q, SMALLEST_PROBABILITY)
    terms = (p - q) * (np.log(p) - np.log(q))
    if multi_label:  # each class is a coin of its own: its other side counts too
        other_p, other_q = np.maximum(1 - p, SMALLEST_PROBABILITY), np.maximum(1 - q, SMALLEST_PROBABILITY)
        terms = terms + (other_p - other_q) * (np.log(other_p) - np.log(other_q))
    result: np.ndarray = terms.sum(axis=-1) / 2
    return result


def confusion(original: np.ndarray, renamed: np.ndarray, *, counted: np.ndarray) -> np.ndarray:
    """countries x classes x classes: how often a text of this class (by its original) got that one when renamed."""
    was, became = predict_classes(original, None).astype(float), predict_classes(renamed, None).astype(float)
    return np.einsum("tk,tcdl,td->ckl", was, became, counted.astype(float), optimize=True)


@dataclass(frozen=True)
class ErrorRates:
    """One class against the rest, countries x classes; NaN where no text could be so mistaken."""

    false_positive: np.ndarray
    false_negative: np.ndarray


def error_rates(
    truth: np.ndarray, probabilities: np.ndarray, *, counted: np.ndarray, threshold: float | None = None
) -> ErrorRates:
    """How often a class is predicted where it is not true, and not predicted where it is.

    `truth` is texts x classes (bool), `probabilities` texts x countries x draws x classes.
    """
    weight = counted.astype(float)
    said = np.einsum("tcdk,td->tck", predict_classes(probabilities, threshold).astype(float), weight)
    asked = weight.sum(axis=1)
    return ErrorRates(
        false_positive=_ratio(np.einsum("tck,tk->ck", said, ~truth), asked @ ~truth),
        false_negative=1 - _ratio(np.einsum("tck,tk->ck", said, truth), asked @ truth),
    )


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.asarray(part / np.where(whole == 0, np.nan, whole))


def _mean_by_country(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The mean over the counted texts and draws, for each country."""
    taken = np.where(counted[:, None, :], values, 0)  # a text that is not counted may have no value
    return _ratio(taken.sum(axis=(0, 2)), counted.sum())
