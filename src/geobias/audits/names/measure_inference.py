"""Intervals and tests of a names audit, over texts and names: for every measure of every country."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.records import FarthestCountries, FarthestCountry, SmallestEffects
from geobias.audits.names.result import (
    CountryInference,
    EstimatesFromMean,
)
from geobias.files import read_block
from geobias.measures.change import Change, country_mean, kl_by_text, predict_classes, tone_difference
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, Values
from geobias.measures.estimates import Estimates
from geobias.measures.name_blocks import ValueSums
from geobias.measures.single_names import HalfAsLarge, find_half_as_large
from geobias.measures.uncertainty import Family, Uncertainty
from geobias.report.findings import SUGGESTIVE
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
    sums: AnswerSums | None  # None where nothing can be estimated
    gender_gaps: Estimates | None = None  # countries; None where they cannot be tested

    def list_changed_classes(self) -> list[int]:
        """Classes that are predicted more or less often with the names of some country, if only suggestively."""
        p = np.nan_to_num(self.estimates["change_from_mean"].p_adjusted, nan=1.0)
        return np.flatnonzero((p < SUGGESTIVE).any(axis=0)).tolist()

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
    answers: ClassifierAnswers,
    original: np.ndarray,
    change: Change,
    design: CrossedVariance,
    codes: Sequence[str],
    gender_gaps: tuple[np.ndarray, Uncertainty] | None = None,
) -> NamesInference:
    """Attach intervals and p-values to all measures.

    The p-value of a country belongs to its interval; adjusted, it is below 0.05 where the simultaneous interval
    excludes 0. That some country differs has the smallest adjusted p-value. `gender_gaps` are tested with delta.
    """
    values: dict[str, np.ndarray] = {name: getattr(change, name) for name in MEASURES}
    sums = _sum_answers(answers, original, design) if design.is_estimable else None
    families = _families(answers, original, values, design, sums, gender_gaps) if sums else {}
    has_delta = not np.isnan(change.delta).all()
    estimates = {name: _estimates(name, value, families.get(name)) for name, value in values.items()}
    smallest_p = estimates["delta_from_mean"].p_adjusted.min() if has_delta and families else None
    noise_floor = np.full(len(change.delta), np.nan)
    if has_delta and sums and not design.names_fixed:
        noise_floor = design.noise_floor(sums.delta)
    return NamesInference(
        estimates,
        FarthestCountries(
            _farthest(families.get("delta_from_mean"), 0, codes),
            {label: _farthest(families.get("change_from_mean"), k, codes) for k, label in enumerate(answers.labels)},
        ),
        None if smallest_p is None else number(smallest_p),
        noise_floor,
        sums,
        families["delta_from_mean"].estimates(1) if gender_gaps and families else None,
    )


class AnswerSums(NamedTuple):
    """Sums over the counted answers of what each renamed text contributes to a measure."""

    delta: ValueSums
    kl: ValueSums
    kl_from_mean: ValueSums
    predictions: list[ValueSums]  # of each label, 0 or 1
    texts_with_class: np.ndarray  # labels: texts that some name leads to the class


def _sum_answers(answers: ClassifierAnswers, original: np.ndarray, design: CrossedVariance) -> AnswerSums:
    """Sum all measures together, block by block of texts."""
    texts_with_class = np.zeros(len(answers.labels))

    def compute(texts: slice) -> list[np.ndarray]:
        nonlocal texts_with_class
        before, after, counted = original[texts], read_block(answers.renamed, texts), design.counted[texts]
        mean = np.nan_to_num(country_mean(after, counted))
        predictions = predict_classes(after, answers.threshold)
        texts_with_class = texts_with_class + (predictions & counted[:, None, :, None]).any(axis=(1, 2)).sum(axis=0)
        return [
            100 * tone_difference(before, after, answers.positive, answers.negative),
            kl_by_text(after, before, multi_label=answers.multi_label),
            kl_by_text(after, mean, multi_label=answers.multi_label),
            *np.moveaxis(predictions.astype(float), -1, 0),
        ]

    delta, kl, kl_from_mean, *predictions = design.summarise_columns(compute)
    return AnswerSums(delta, kl, kl_from_mean, predictions, texts_with_class)


def _families(
    answers: ClassifierAnswers,
    original: np.ndarray,
    values: dict[str, np.ndarray],
    design: CrossedVariance,
    sums: AnswerSums,
    gender_gaps: tuple[np.ndarray, Uncertainty] | None,
) -> dict[str, Family]:
    """By measure: all countries, and for changes all classes, which are adjusted together.

    Measures are functions of means; a change in per cent is linearised at its value.
    """
    countries, _ = values["change"].shape
    identity, centred = np.eye(countries), centre(countries)
    original_predictions = predict_classes(original, answers.threshold).astype(float)
    measures = {
        "delta": [LinearMeasure(sums.delta, identity)],
        "delta_from_mean": [LinearMeasure(sums.delta, centred)],
        "kl": [LinearMeasure(sums.kl, identity)],
        "kl_from_mean": [LinearMeasure(sums.kl_from_mean, identity)],
        "change": [
            design.linearize_change(after, before)
            for after, before in zip(sums.predictions, original_predictions.T, strict=True)
        ],
        "change_from_mean": [design.linearize_change_from_mean(after) for after in sums.predictions],
    }
    is_rare = sums.texts_with_class < FEWEST_WITH_CLASS
    are_complements = _has_complement(answers)
    known = values | {name: np.where(is_rare, np.nan, values[name]) for name in ("change", "change_from_mean")}
    tested = {
        name: (
            list(np.reshape(known[name], (countries, -1)).T),
            [design.uncertainty(measure) for measure in measures[name]],
        )
        for name in MEASURES
    }
    if gender_gaps is not None:
        for numbers, column in zip(tested["delta_from_mean"], gender_gaps, strict=True):
            numbers.append(column)
    return {
        name: Family(*numbers, are_complements=are_complements and name.startswith("change"))
        for name, numbers in tested.items()
    }


def _has_complement(answers: ClassifierAnswers) -> bool:
    """Whether each text gets one of two classes: how often it is the one says how often it is the other."""
    return len(answers.labels) == 2 and not answers.multi_label and answers.threshold is None


def find_smallest_effects(
    answers: ClassifierAnswers, design: CrossedVariance, inference: NamesInference
) -> SmallestEffects:
    """The difference from the mean of countries that is detected with 80 % power, given the variances of this run.

    The changes of all classes are tested together, and linearised as if no country differed.
    """
    sums = inference.sums
    if sums is None or design.countries < 2:
        return SmallestEffects(None, dict.fromkeys(answers.labels))
    changes = [design.linearize_change_from_mean(after).values for after in sums.predictions]
    has_test = [design.reacts_enough(LinearMeasure(values, centre(design.countries))) for values in changes]
    tests = 1 if _has_complement(answers) else sum(has_test)
    has_delta = answers.positive and answers.negative

    def find_smallest(values: Values, measures: int = 1) -> float | None:
        if not design.reacts_enough(LinearMeasure(values, centre(design.countries))):
            return None
        return design.smallest_effect(design.variance_components(values), measures)

    def find_half(values: Values) -> HalfAsLarge | None:
        if not design.reacts_enough(LinearMeasure(values, centre(design.countries))):
            return None
        parts = design.variance_parts(design.variance_components(values))
        return find_half_as_large(parts, design.text_count, round(design.total / design.text_count))

    return SmallestEffects(
        half_delta=find_half(sums.delta) if has_delta else None,
        half_change={label: find_half(values) for label, values in zip(answers.labels, changes, strict=True)},
        delta=find_smallest(sums.delta, 1 if inference.gender_gaps is None else 2) if has_delta else None,
        change={label: find_smallest(values, tests) for label, values in zip(answers.labels, changes, strict=True)},
    )


def centre(countries: int) -> np.ndarray:
    """The coefficients of differences from the mean of countries."""
    return np.eye(countries) - 1 / countries


def delta_values(answers: ClassifierAnswers, original: np.ndarray, texts: slice = slice(None)) -> np.ndarray:
    """texts x countries x draws: what each renamed text contributes to delta."""
    return 100 * tone_difference(
        original[texts], read_block(answers.renamed, texts), answers.positive, answers.negative
    )


def _estimates(name: str, values: np.ndarray, family: Family | None) -> Estimates:
    """Countries (x labels), with intervals and p-values where they are known."""
    if family is None:
        return Estimates.unknown(values)
    columns = [vars(family.estimates(k)).values() for k in range(values[0].size)]  # those of others come after them
    stacked = [np.stack(arrays, axis=-1).reshape(values.shape) for arrays in zip(*columns, strict=True)]
    estimates = replace(Estimates(*stacked), value=values)  # of rare classes only the uncertainty is unknown
    if name in UNTESTED:
        return replace(estimates, p=np.full(values.shape, np.nan), p_adjusted=np.full(values.shape, np.nan))
    return estimates


def _farthest(family: Family | None, position: int, codes: Sequence[str]) -> FarthestCountry | None:
    """The country farthest from the mean, with bounds that hold for all countries at once."""
    effect = family.largest_effect(position) if family else None
    return effect and FarthestCountry(effect.value, effect.low, effect.high, codes[effect.position])
