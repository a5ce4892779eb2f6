"""Intervals and tests of a names audit: for every measure of every country, resampled over texts and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.result import (
    CountryInference,
    EstimatesFromMean,
    FarthestCountries,
    FarthestCountry,
    GlobalTest,
)
from geobias.measures.change import Change, country_mean, kl_by_text, predict_classes, tone_difference
from geobias.measures.estimates import (
    Estimates,
    bootstrap_estimates,
    bootstrap_p_values,
    largest_effect,
    monte_carlo_p_value,
)
from geobias.measures.names_bootstrap import LinearMeasure, NamesBootstrap, raise_to_mean_variance
from geobias.report.results import number

FEWEST_WITH_CLASS = 5  # texts that some name leads to a class: with fewer, nothing is known of its uncertainty


@dataclass(frozen=True)
class NamesInference:
    """Estimates for countries (x labels), against the original texts and against the mean of countries."""

    delta: Estimates
    change: Estimates
    kl: Estimates
    delta_from_mean: Estimates
    change_from_mean: Estimates
    kl_from_mean: Estimates
    worst: FarthestCountries
    any_country_differs: GlobalTest
    noise_floor: np.ndarray  # countries: split-half noise of delta, 95th percentile

    def at(self, country: int, labels: Sequence[str]) -> CountryInference:
        """One country by its position."""
        return CountryInference(
            placebo=number(self.noise_floor[country]),
            delta=self.delta.at(country),
            change={label: self.change.at(country, k) for k, label in enumerate(labels)},
            kl=self.kl.at(country),
            against_mean=EstimatesFromMean(
                delta=self.delta_from_mean.at(country),
                change={label: self.change_from_mean.at(country, k) for k, label in enumerate(labels)},
                kl=self.kl_from_mean.at(country),
            ),
        )


def infer_changes(
    answers: ClassifierAnswers, original: np.ndarray, change: Change, bootstrap: NamesBootstrap, codes: Sequence[str]
) -> NamesInference:
    """Resample all measures together, and test those against the mean of countries by permuting names.

    Measures are functions of means and are linearised at their value, so a change in per cent has the interval of its
    linear approximation. A single text tells nothing about other texts: then all intervals are unknown.
    """
    if not bootstrap.is_estimable:
        return _unknown_inference(change, answers.labels)
    countries, labels = change.after.shape
    identity, centred = np.eye(countries), np.eye(countries) - 1 / countries
    predictions = predict_classes(answers.renamed, answers.threshold).astype(float)
    original_predictions = predict_classes(original, answers.threshold).astype(float)
    deltas = 100 * tone_difference(original, answers.renamed, answers.positive, answers.negative)
    kl = kl_by_text(answers.renamed, original, multi_label=answers.multi_label)
    mean = np.nan_to_num(country_mean(answers.renamed, bootstrap.counted))
    kl_from_mean = kl_by_text(answers.renamed, mean, multi_label=answers.multi_label)
    measures: list[LinearMeasure] = [
        [(deltas, identity)],
        [(deltas, centred)],
        [(kl, identity)],
        [(kl_from_mean, identity)],
    ]
    for k in range(labels):
        measures.append([bootstrap.linearize_change(predictions[..., k], original_predictions[:, k])])
        measures.append([bootstrap.linearize_change_from_mean(predictions[..., k])])
    deviations = bootstrap.deviations(measures)
    delta_deviations, delta_from_mean_deviations, kl_deviations, kl_from_mean_deviations = deviations[:4]
    rng = np.random.default_rng(bootstrap.seed + 3)
    change_deviations, change_from_mean_deviations = (
        raise_to_mean_variance(np.stack(deviations[start::2], axis=-1), rng) for start in (4, 5)
    )
    texts_with_class = (predictions.max(axis=(1, 2)) * (bootstrap.draws_per_text > 0)[:, None]).sum(axis=0)
    is_rare = texts_with_class < FEWEST_WITH_CLASS
    known_change = np.where(is_rare, np.nan, change.change)
    known_change_from_mean = np.where(is_rare, np.nan, change.change_from_mean)
    unit_count = bootstrap.unit_count
    if bootstrap.names_fixed:  # names are not permuted: p-values come from the deviations
        p_delta = bootstrap_p_values(change.delta_from_mean, delta_from_mean_deviations, unit_count)
        p_change = bootstrap_p_values(known_change_from_mean, change_from_mean_deviations, unit_count)
        p_any = float(
            monte_carlo_p_value((change.delta_from_mean**2).sum(), (delta_from_mean_deviations**2).sum(axis=1))
        )
        any_country_p = max(p_any, 0.5 ** (unit_count - 1))
    else:
        p_delta, any_country_p = bootstrap.permutation_test(deltas, countries)
        p_change = np.column_stack(
            [bootstrap.permutation_test(predictions[..., k], countries * labels).p for k in range(labels)]
        )
    has_delta = not np.isnan(change.delta).all()
    untested = np.full(countries, np.nan)
    return NamesInference(
        delta=bootstrap_estimates(
            change.delta, delta_deviations, bootstrap_p_values(change.delta, delta_deviations, unit_count)
        ),
        change=_with_values(
            bootstrap_estimates(
                known_change, change_deviations, bootstrap_p_values(known_change, change_deviations, unit_count)
            ),
            change.change,
        ),
        kl=bootstrap_estimates(change.kl, kl_deviations, untested),
        delta_from_mean=bootstrap_estimates(change.delta_from_mean, delta_from_mean_deviations, p_delta),
        change_from_mean=_with_values(
            bootstrap_estimates(known_change_from_mean, change_from_mean_deviations, p_change), change.change_from_mean
        ),
        kl_from_mean=bootstrap_estimates(change.kl_from_mean, kl_from_mean_deviations, untested),
        worst=FarthestCountries(
            delta=_farthest(change.delta_from_mean, delta_from_mean_deviations, bootstrap.text_count, codes)
            if has_delta
            else None,
            change={
                label: None
                if is_rare[k]
                else _farthest(
                    change.change_from_mean[:, k],
                    change_from_mean_deviations[..., k],
                    bootstrap.text_count,
                    codes,
                )
                for k, label in enumerate(answers.labels)
            },
        ),
        any_country_differs=GlobalTest(any_country_p if has_delta else None),
        noise_floor=bootstrap.noise_floor(deltas) if has_delta else untested,
    )


def _with_values(estimates: Estimates, values: np.ndarray) -> Estimates:
    """The same with the values of rare classes, of whose uncertainty nothing is known."""
    return replace(estimates, value=values)


def _unknown_inference(change: Change, labels: Sequence[str]) -> NamesInference:
    return NamesInference(
        delta=Estimates.unknown(change.delta),
        change=Estimates.unknown(change.change),
        kl=Estimates.unknown(change.kl),
        delta_from_mean=Estimates.unknown(change.delta_from_mean),
        change_from_mean=Estimates.unknown(change.change_from_mean),
        kl_from_mean=Estimates.unknown(change.kl_from_mean),
        worst=FarthestCountries(delta=None, change=dict.fromkeys(labels)),
        any_country_differs=GlobalTest(None),
        noise_floor=np.full(len(change.delta), np.nan),
    )


def _farthest(values: np.ndarray, deviations: np.ndarray, texts: int, codes: Sequence[str]) -> FarthestCountry:
    """The country farthest from the mean, with max-T bounds, which hold for all countries at once."""
    effect = largest_effect(values, deviations, texts)
    return FarthestCountry(effect.value, effect.low, effect.high, codes[effect.position])
