"""Intervals and tests of a names audit, over texts and names: for every measure of every country."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.result import (
    CountryInference,
    EstimatesFromMean,
    FarthestCountries,
    FarthestCountry,
    SmallestEffects,
)
from geobias.measures.change import Change, country_mean, kl_by_text, predict_classes, tone_difference
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure
from geobias.measures.estimates import Estimates
from geobias.measures.uncertainty import Family
from geobias.report.results import number

MEASURES = ("delta", "delta_from_mean", "kl", "kl_from_mean", "change", "change_from_mean")  # fields of `Change`
UNTESTED = ("kl", "kl_from_mean")  # a divergence is above 0 for every country
FEWEST_WITH_CLASS = 5  # texts that some name leads to a class: with fewer, a change in per cent has no interval


@dataclass(frozen=True)
class NamesInference:
    """Estimates for countries (x labels) by measure, those of `Change`; and what is said of all countries together."""

    estimates: dict[str, Estimates]
    worst: FarthestCountries
    any_country_p: float | None
    noise_floor: np.ndarray  # countries: split-half noise of delta, 95th percentile

    def at(self, country: int, labels: Sequence[str]) -> CountryInference:
        """One country by its position."""
        singles: dict[str, Any] = {
            name: {label: estimates.at(country, k) for k, label in enumerate(labels)}
            if estimates.value.ndim == 2
            else estimates.at(country)
            for name, estimates in self.estimates.items()
        }
        from_mean = {name: singles.pop(f"{name}_from_mean") for name in ("delta", "change", "kl")}
        return CountryInference(
            placebo=number(self.noise_floor[country]), **singles, against_mean=EstimatesFromMean(**from_mean)
        )


def infer_changes(
    answers: ClassifierAnswers, original: np.ndarray, change: Change, design: CrossedVariance, codes: Sequence[str]
) -> NamesInference:
    """Attach intervals and p-values to all measures.

    The p-value of a country belongs to its interval; adjusted, it is below 0.05 where the simultaneous interval
    excludes 0. That some country differs has the smallest adjusted p-value.
    """
    values: dict[str, np.ndarray] = {name: getattr(change, name) for name in MEASURES}
    families = _families(answers, original, values, design) if design.is_estimable else {}
    has_delta = not np.isnan(change.delta).all()
    estimates = {name: _estimates(name, value, families.get(name)) for name, value in values.items()}
    smallest_p = estimates["delta_from_mean"].p_adjusted.min() if has_delta and families else None
    noise_floor = np.full(len(change.delta), np.nan)
    if has_delta and design.is_estimable and not design.names_fixed:
        noise_floor = design.noise_floor(delta_values(answers, original))
    return NamesInference(
        estimates,
        FarthestCountries(
            _farthest(families.get("delta_from_mean"), 0, codes),
            {label: _farthest(families.get("change_from_mean"), k, codes) for k, label in enumerate(answers.labels)},
        ),
        None if smallest_p is None else number(smallest_p),
        noise_floor,
    )


def _families(
    answers: ClassifierAnswers, original: np.ndarray, values: dict[str, np.ndarray], design: CrossedVariance
) -> dict[str, Family]:
    """By measure: all countries, and for changes all classes, which are adjusted together.

    Measures are functions of means; a change in per cent is linearised at its value.
    """
    countries, labels = values["change"].shape
    identity, centred = np.eye(countries), _centre(countries)
    deltas = delta_values(answers, original)
    kl = kl_by_text(answers.renamed, original, multi_label=answers.multi_label)
    mean = np.nan_to_num(country_mean(answers.renamed, design.counted))
    kl_from_mean = kl_by_text(answers.renamed, mean, multi_label=answers.multi_label)
    predictions = predict_classes(answers.renamed, answers.threshold).astype(float)
    original_predictions = predict_classes(original, answers.threshold).astype(float)
    measures = {
        "delta": [LinearMeasure(deltas, identity)],
        "delta_from_mean": [LinearMeasure(deltas, centred)],
        "kl": [LinearMeasure(kl, identity)],
        "kl_from_mean": [LinearMeasure(kl_from_mean, identity)],
        "change": [design.linearize_change(predictions[..., k], original_predictions[:, k]) for k in range(labels)],
        "change_from_mean": [design.linearize_change_from_mean(predictions[..., k]) for k in range(labels)],
    }
    texts_with_class = (predictions * design.counted[:, None, :, None]).max(axis=(1, 2)).sum(axis=0)
    is_rare = texts_with_class < FEWEST_WITH_CLASS
    known = values | {name: np.where(is_rare, np.nan, values[name]) for name in ("change", "change_from_mean")}
    return {
        name: Family(
            list(np.reshape(known[name], (countries, -1)).T),
            [design.uncertainty(measure) for measure in measures[name]],
        )
        for name in MEASURES
    }


def find_smallest_effects(answers: ClassifierAnswers, original: np.ndarray, design: CrossedVariance) -> SmallestEffects:
    """The difference from the mean of countries that is detected with 80 % power, given the variances of this run.

    The changes of all classes are tested together, and linearised as if no country differed.
    """
    if not design.is_estimable or design.countries < 2:
        return SmallestEffects(None, dict.fromkeys(answers.labels))
    predictions = predict_classes(answers.renamed, answers.threshold).astype(float)
    changes = [design.linearize_change_from_mean(predictions[..., k]).values for k in range(len(answers.labels))]
    has_test = [design.reacts_enough(LinearMeasure(values, _centre(design.countries))) for values in changes]
    delta = delta_values(answers, original)
    has_delta = answers.positive and answers.negative

    def find_smallest(values: np.ndarray, measures: int = 1) -> float | None:
        if not design.reacts_enough(LinearMeasure(values, _centre(design.countries))):
            return None
        return design.smallest_effect(design.variance_components(values), measures)

    return SmallestEffects(
        delta=find_smallest(delta) if has_delta else None,
        change={
            label: find_smallest(values, sum(has_test)) for label, values in zip(answers.labels, changes, strict=True)
        },
    )


def _centre(countries: int) -> np.ndarray:
    """The coefficients of differences from the mean of countries."""
    return np.eye(countries) - 1 / countries


def delta_values(answers: ClassifierAnswers, original: np.ndarray) -> np.ndarray:
    """texts x countries x draws: what each renamed text contributes to delta."""
    return 100 * tone_difference(original, answers.renamed, answers.positive, answers.negative)


def _estimates(name: str, values: np.ndarray, family: Family | None) -> Estimates:
    """Countries (x labels), with intervals and p-values where they are known."""
    if family is None:
        return Estimates.unknown(values)
    columns = [vars(family.estimates(k)).values() for k in range(len(family.values))]
    stacked = [np.stack(arrays, axis=-1).reshape(values.shape) for arrays in zip(*columns, strict=True)]
    estimates = replace(Estimates(*stacked), value=values)  # of rare classes only the uncertainty is unknown
    if name in UNTESTED:
        return replace(estimates, p=np.full(values.shape, np.nan), p_adjusted=np.full(values.shape, np.nan))
    return estimates


def _farthest(family: Family | None, position: int, codes: Sequence[str]) -> FarthestCountry | None:
    """The country farthest from the mean, with bounds that hold for all countries at once."""
    effect = family.largest_effect(position) if family else None
    return effect and FarthestCountry(effect.value, effect.low, effect.high, codes[effect.position])
