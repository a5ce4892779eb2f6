"""Change of predictions when the people in a text are renamed (Barriere and Cifuentes 2024, section 3.1).

Probabilities come as `original` (texts x classes) and `renamed` (texts x countries x draws x classes). `counted`
(texts x draws) says which renamed texts take part; an original counts as often as its renamed texts do.
Everything is measured twice: against the original texts, as in the paper, and against the mean of all countries, which
removes the effect of renaming as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST_PROBABILITY = 1e-12  # lower bound of probabilities in logarithms


@dataclass(frozen=True)
class Change:
    """The measures of change of each country; NaN where the reference is 0 or missing."""

    before: np.ndarray  # classes: number of predictions on the originals, each counted as often as it was renamed
    after: np.ndarray  # countries x classes: number of predictions on the renamed texts
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
    """Compute all measures of change."""
    before = np.einsum("tk,td->k", predict_classes(original, threshold).astype(float), counted.astype(float))
    after = np.einsum("tcdk,td->ck", predict_classes(renamed, threshold).astype(float), counted.astype(float))
    deltas = delta(original, renamed, counted=counted, positive=positive, negative=negative)
    from_original = kl_by_text(renamed, original, multi_label=multi_label)
    from_mean = kl_by_text(renamed, country_mean(renamed, counted), multi_label=multi_label)
    return Change(
        before=before,
        after=after,
        change=class_change(after, before),
        change_from_mean=class_change(after, after.mean(axis=0)),
        delta=deltas,
        delta_from_mean=deltas - deltas.mean(),
        kl=_mean_by_country(from_original, counted),
        kl_from_mean=_mean_by_country(from_mean, counted),
    )


def predict_classes(probabilities: np.ndarray, threshold: float | None) -> np.ndarray:
    """Which classes are predicted (bool): the likeliest; with a threshold, every class that reaches it."""
    if threshold is not None:
        return probabilities >= threshold
    likeliest = probabilities.argmax(axis=-1)
    is_likeliest: np.ndarray = likeliest[..., None] == np.arange(probabilities.shape[-1])
    return is_likeliest


def class_change(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """100 * (count after - count before) / count before, in per cent; NaN for a class never predicted before."""
    return 100 * _ratio(after - before, before)


def delta(
    original: np.ndarray, renamed: np.ndarray, *, counted: np.ndarray, positive: list[int], negative: list[int]
) -> np.ndarray:
    """Delta: 100 * mean(p_pos - p_neg) of the renamed texts minus that of the originals, for each country.

    Several positive (negative) classes are added up; NaN without a class on either side.
    """
    if not positive or not negative:
        return np.full(renamed.shape[1], np.nan)
    return 100 * _mean_by_country(tone_difference(original, renamed, positive, negative), counted)


def tone_difference(original: np.ndarray, renamed: np.ndarray, positive: list[int], negative: list[int]) -> np.ndarray:
    """texts x countries x draws: the tone p_pos - p_neg of a renamed text minus that of its original."""

    def tone(p: np.ndarray) -> np.ndarray:
        difference: np.ndarray = p[..., positive].sum(axis=-1) - p[..., negative].sum(axis=-1)
        return difference

    return tone(renamed) - tone(original)[:, None, None]


def kl_by_text(renamed: np.ndarray, reference: np.ndarray, *, multi_label: bool = False) -> np.ndarray:
    """texts x countries x draws: symmetric KL divergence of a renamed text from its reference (texts x classes).

    Text by text: the logarithms of all texts at once would take more memory than everything else.
    """
    divergences = np.empty(renamed.shape[:-1])
    for i, (versions, text_reference) in enumerate(zip(renamed, reference, strict=True)):
        divergences[i] = symmetric_kl(versions, text_reference, multi_label=multi_label)
    return divergences


def country_mean(renamed: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """texts x classes: the mean probabilities of a text over all countries and counted draws."""
    sums = _ratio(np.einsum("tcdk,td->tk", renamed, counted.astype(float)), counted.sum(axis=1)[:, None])
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
    result: np.ndarray = terms.sum(axis=-1) / 2
    return result


def confusion(original: np.ndarray, renamed: np.ndarray, *, counted: np.ndarray) -> np.ndarray:
    """countries x classes x classes: how often texts predicted as the first class became the second when renamed."""
    before, after = predict_classes(original, None).astype(float), predict_classes(renamed, None).astype(float)
    return np.einsum("tk,tcdl,td->ckl", before, after, counted.astype(float), optimize=True)


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
    weight = counted.astype(float)
    predictions = np.einsum("tcdk,td->tck", predict_classes(probabilities, threshold).astype(float), weight)
    draws = weight.sum(axis=1)
    return ErrorRates(
        false_positive=_ratio(np.einsum("tck,tk->ck", predictions, ~truth), draws @ ~truth),
        false_negative=1 - _ratio(np.einsum("tck,tk->ck", predictions, truth), draws @ truth),
    )


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient; NaN where the denominator is 0."""
    return np.asarray(numerator / np.where(denominator == 0, np.nan, denominator))


def _mean_by_country(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The mean over the counted texts and draws, for each country."""
    counted_values = np.where(counted[:, None, :], values, 0)  # others may be NaN
    return _ratio(counted_values.sum(axis=(0, 2)), counted.sum())
