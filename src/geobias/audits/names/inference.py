"""Intervals and tests of a names audit, over texts and names: for every measure of every country.

The p-value of a country belongs to its interval. That some country differs has the smallest adjusted p-value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.rows import FewTexts, NameEffect, NameList, SmallestEffect
from geobias.files import read_block
from geobias.measures.arrays import TextValues
from geobias.measures.change import Change, country_mean, kl_by_text, predict_classes, tone_difference
from geobias.measures.crossed_variance import FEWEST_DRAWS, CrossedVariance, LinearMeasure, Values
from geobias.measures.estimates import NORMAL_QUANTILE, Estimates
from geobias.measures.name_blocks import ValueSums
from geobias.measures.paired_differences import CountedMean, subtract_means
from geobias.measures.single_names import (
    MOST_SKEWED,
    count_texts_of_half,
    estimate_name_effects,
    find_half_as_large,
    skewness_of_mean,
)
from geobias.measures.uncertainty import Family, Uncertainty
from geobias.report.findings import SUGGESTIVE
from geobias.report.rows import Farthest
from geobias.texts.counterfactuals import Counterfactuals

MEASURES = ("delta", "delta_from_mean", "kl", "kl_from_mean", "change", "change_from_mean")  # fields of `Change`
UNTESTED = ("kl", "kl_from_mean")  # a divergence is above 0 for every country
FEWEST_WITH_CLASS = 5  # texts that some name leads to a class: with fewer, a change in per cent has no interval
WOMEN, MEN = "female", "male"


class AnswerSums(NamedTuple):
    """Sums over the counted answers of what each renamed text contributes to a measure."""

    delta: ValueSums
    kl: ValueSums
    kl_from_mean: ValueSums
    predictions: list[ValueSums]  # of each label, 0 or 1
    texts_with_class: np.ndarray  # labels: texts that some name leads to the class


@dataclass(frozen=True)
class NamesInference:
    """What is measured over some of the texts, and how sure it is."""

    variance: CrossedVariance
    change: Change
    genders: Mapping[str, CountedMean]  # delta of women's and of men's names
    estimates: dict[str, Estimates]  # by the fields of `Change`: countries (x labels)
    families: dict[str, Family]  # empty where nothing can be estimated
    noise_floor: np.ndarray  # countries: split-half noise of delta, 95th percentile
    sums: AnswerSums | None  # None where nothing can be estimated
    gender_gaps: Estimates | None  # countries; None where they cannot be tested

    def list_changed_classes(self) -> list[int]:
        """Classes that are predicted more or less often with the names of some country, if only suggestively."""
        p = np.nan_to_num(self.estimates["change_from_mean"].p_adjusted, nan=1.0)
        return np.flatnonzero((p < SUGGESTIVE).any(axis=0)).tolist()

    def list_farthest(self, answers: ClassifierAnswers, countries: Sequence[NameList]) -> list[Farthest]:
        """The country farthest from the mean, with bounds that hold for all countries at once."""
        columns: list[tuple[str, int, str | None]] = [("delta_from_mean", 0, None)]
        columns += [("change_from_mean", k, label) for k, label in enumerate(answers.labels)]
        found = []
        for name, column, label in columns if self.families else ():
            if effect := self.families[name].largest_effect(column):
                value, low, high, position = effect
                about = {"place": countries[position].place, "code": countries[position].code}
                found.append(Farthest(model=answers.model.name, label=label, value=value, low=low, high=high, **about))
        return found


def infer_changes(
    answers: ClassifierAnswers,
    original: np.ndarray,
    change: Change,
    design: CrossedVariance,
    genders: Mapping[str, CountedMean],
) -> NamesInference:
    """Attach intervals and p-values to all measures. What differs between genders is tested with delta."""
    gender_gaps = _subtract_genders(genders)
    values: dict[str, np.ndarray] = {name: getattr(change, name) for name in MEASURES}
    sums = _sum_answers(answers, original, design) if design.is_estimable else None
    families = _make_families(answers, original, values, design, sums, gender_gaps) if sums else {}
    noise_floor = np.full(len(change.delta), np.nan)
    if sums and not design.names_fixed and not np.isnan(change.delta).all():
        noise_floor = design.noise_floor(sums.delta)
    return NamesInference(
        design,
        change,
        genders,
        {name: _estimate(name, value, families.get(name)) for name, value in values.items()},
        families,
        noise_floor,
        sums,
        families["delta_from_mean"].estimates(1) if gender_gaps and families else None,
    )


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


def _make_families(
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


def _estimate(name: str, values: np.ndarray, family: Family | None) -> Estimates:
    """Countries (x labels), with intervals and p-values where they are known."""
    if family is None:
        return Estimates.unknown(values)
    columns = [vars(family.estimates(k)).values() for k in range(values[0].size)]  # those of others come after them
    stacked = [np.stack(arrays, axis=-1).reshape(values.shape) for arrays in zip(*columns, strict=True)]
    estimates = replace(Estimates(*stacked), value=values)  # of rare classes only the uncertainty is unknown
    if name in UNTESTED:
        return replace(estimates, p=np.full(values.shape, np.nan), p_adjusted=np.full(values.shape, np.nan))
    return estimates


def centre(countries: int) -> np.ndarray:
    """The coefficients of differences from the mean of countries."""
    return np.eye(countries) - 1 / countries


def delta_values(answers: ClassifierAnswers, original: np.ndarray, texts: slice = slice(None)) -> np.ndarray:
    """texts x countries x draws: what each renamed text contributes to delta."""
    return 100 * tone_difference(
        original[texts], read_block(answers.renamed, texts), answers.positive, answers.negative
    )


def average_genders(designs: Mapping[str, CrossedVariance], deltas: TextValues) -> dict[str, CountedMean]:
    """Delta against the mean of countries of women's and of men's names."""
    return {
        gender: CountedMean(design, design.summarise(deltas), centre(design.countries))
        for gender, design in designs.items()
        if design.is_estimable and design.countries > 1
    }


def _subtract_genders(means: Mapping[str, CountedMean]) -> tuple[np.ndarray, Uncertainty] | None:
    """Women's names minus men's; None where it cannot be tested."""
    if len(means) < 2:
        return None
    gaps = subtract_means(means[WOMEN], means[MEN])
    return gaps if gaps[1].is_known else None


def find_smallest_effects(answers: ClassifierAnswers, inference: NamesInference) -> list[SmallestEffect]:
    """The difference from the mean of countries that is detected with 80 % power, given the variances of this run.

    The changes of all classes are tested together, and linearised as if no country differed.
    """
    sums, design = inference.sums, inference.variance
    if sums is None or design.countries < 2:
        return []

    def has_test(values: Values) -> bool:
        return design.reacts_enough(LinearMeasure(values, centre(design.countries)))

    def find_smallest(label: str | None, values: Values, measures: int) -> SmallestEffect | None:
        if not has_test(values):
            return None
        components = design.variance_components(values)
        draws = round(design.total / design.text_count)
        half = find_half_as_large(design.variance_parts(components), design.text_count, draws)
        return SmallestEffect(
            model=answers.model.name,
            label=label,
            value=design.smallest_effect(components, measures),
            half_texts=half.texts if half else None,
            half_draws=half.draws if half else None,
            half_times_names=half.times_names if half else None,
            share_of_names=half.share_of_names if half else None,
        )

    changes = [design.linearize_change_from_mean(after).values for after in sums.predictions]
    tests = 1 if _has_complement(answers) else sum(map(has_test, changes))
    rows = [find_smallest(label, values, tests) for label, values in zip(answers.labels, changes, strict=True)]
    if answers.has_delta:
        rows.append(find_smallest(None, sums.delta, 1 if inference.gender_gaps is None else 2))
    return [row for row in rows if row is not None]


def find_few_texts(
    model: str, countries: Sequence[NameList], design: CrossedVariance, sums: AnswerSums
) -> list[FewTexts]:
    """Countries whose delta against the mean of countries rests on a few texts: their intervals miss too often."""
    if design.countries < 2:
        return []
    has_text = design.draws_per_text > 0
    contrasts = centre(design.countries)
    influence = (design.text_influence(sums.delta) @ contrasts.T)[has_text]
    contributions = (sums.delta.text_sums @ contrasts.T)[has_text]
    skewness = skewness_of_mean(influence)
    return [
        FewTexts(
            model=model,
            place=country.place,
            code=country.code,
            texts_of_half=count_texts_of_half(contributions[:, c]),
            skewness=float(skewness[c]),
        )
        for c, country in enumerate(countries)
        if abs(skewness[c]) > MOST_SKEWED and np.abs(contributions[:, c]).any()
    ]


class SingleNames(NamedTuple):
    """Every name that is shown, tested ones first, the largest first; those whose effect is large."""

    effects: list[NameEffect]
    large: list[NameEffect]
    tested: int
    share_of_large: float | None


def measure_single_names(
    model: str, renamed: Counterfactuals, design: CrossedVariance, deltas: TextValues, genders: np.ndarray
) -> SingleNames | None:
    """Effects of all names over the counted answers; None where names cannot be told from their texts."""
    if renamed.draws < FEWEST_DRAWS or not design.total:
        return None
    estimates = estimate_name_effects(design, deltas, genders)
    keys, countries = renamed.name_index[2], dict[int, list[str]]()
    for unit, country in zip(design.cells.unit.tolist(), design.cells.country.tolist(), strict=True):
        countries.setdefault(unit, []).append(renamed.countries[country])
    shown = np.flatnonzero(estimates.answers)
    order = shown[np.lexsort((-np.abs(estimates.effect[shown]).round(9), ~estimates.is_tested[shown]))].tolist()
    effects = {}
    for unit in order:
        effect, error = float(estimates.effect[unit]), NORMAL_QUANTILE * float(estimates.standard_error[unit])
        is_tested = bool(estimates.is_tested[unit])
        effects[unit] = NameEffect(
            model=model,
            name=keys[unit][1],
            kind=keys[unit][0],
            countries=countries.get(unit, []),
            texts=int(estimates.texts[unit]),
            renamed_texts=int(estimates.answers[unit]),
            value=effect,
            low=effect - error if is_tested else None,
            high=effect + error if is_tested else None,
            p_adjusted=float(estimates.p_adjusted[unit]) if is_tested else None,
        )
    large = [effects[unit] for unit in order if estimates.is_large[unit]]
    return SingleNames(list(effects.values()), large, int(estimates.is_tested.sum()), estimates.share_of_large)
