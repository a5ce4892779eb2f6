"""From the answers of classifiers and language models to every number of a names audit.

A country stands out if its difference from the mean of countries is clear (adjusted p < 0.05), does not only mirror
that of others, and is also clear between names of equal length, spelling and frequency (`names_alike.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from geobias.audits.doubts import list_constant_answers
from geobias.audits.names.answers import ClassifierAnswers, measure_correlations
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.inference import (
    MEN,
    WOMEN,
    NamesInference,
    average_genders,
    delta_values,
    find_few_texts,
    find_smallest_effects,
    infer_changes,
    measure_single_names,
)
from geobias.audits.names.names_alike import (
    Comparison,
    compare_alike,
    explain,
    find_rest,
    list_covariates,
    list_names,
)
from geobias.audits.names.result import ClassifierReading, NamesResult
from geobias.audits.names.rows import DELTA, ClassEffect, DeltaEffect, GenderGap, NameList
from geobias.files import read_block
from geobias.measures.arrays import LazyValues
from geobias.measures.change import change_by_country, error_rates, hide_rare_changes, predict_classes
from geobias.measures.crossed_variance import CrossedVariance, NameUnits
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, SIGNIFICANT, Estimate, find_standing_out
from geobias.measures.paired_differences import CountedMean
from geobias.models.scorer import ModelIdentity
from geobias.report.model_findings import find_mirrors
from geobias.report.results import number
from geobias.texts.counterfactuals import GENDERS

Rows = dict[str, Any]
"""Lists of rows by the fields of the result."""


def measure_names(design: NamesDesign, answers: tuple[ClassifierAnswers, ...]) -> NamesResult:
    counterfactuals = design.counterfactuals
    name_units = NameUnits(*counterfactuals.name_units())
    countries = list_names(counterfactuals, name_units)
    renaming = _Renaming(design, counterfactuals.shown_genders(), name_units, countries)
    rows: Rows = {"classifiers": [], "effects": [], "classes": []}
    for classifier in answers:
        for name, some in _measure_classifier(renaming, classifier):
            rows.setdefault(name, []).extend(some)
    perplexities = answers[0].perplexities
    models = [each.model for each in answers] + ([perplexities.model] if perplexities else [])
    work: Counter[str] = Counter(perplexities_taken=perplexities.texts_scored if perplexities else 0)
    for classifier in answers:
        work.update(classifier.work)
    return NamesResult(
        settings=design.settings_for([classifier.model.name for classifier in answers]),
        models=_list_once(models),
        counts=design.count(),
        perplexity=perplexities.counts if perplexities else None,
        name_lists=countries,
        **rows,
        constant_answers=list_constant_answers(
            {classifier.model.name: (classifier.original, classifier.renamed) for classifier in answers}
        ),
        language_doubts=design.language_doubts,
        work=dict(work),
        texts=design.texts,
        named=design.named,
        counterfactuals=counterfactuals,
        answers=answers,
    )


def _list_once(models: Sequence[ModelIdentity]) -> list[ModelIdentity]:
    return [model for i, model in enumerate(models) if model not in models[:i]]


@dataclass(frozen=True)
class _Renaming:
    """The design, and what all classifiers share of it."""

    design: NamesDesign
    genders: np.ndarray  # texts with names x draws
    name_units: NameUnits
    countries: list[NameList]

    def crossed_variance(self, counted: np.ndarray) -> CrossedVariance:
        shape, names_fixed = self.design.counterfactuals.shape, self.design.names_are == "fixed"
        return CrossedVariance(self.name_units, shape, counted, names_fixed=names_fixed)


def _measure_classifier(renaming: _Renaming, answers: ClassifierAnswers) -> Iterator[tuple[str, list[Any]]]:
    """Rows over all texts, then over the texts of each subset."""
    design, model = renaming.design, answers.model.name
    part = _infer_part(renaming, answers, np.ones(len(design.texts), dtype=bool))
    variance = part.variance
    comparisons: dict[str | None, Comparison] = {}
    single = None
    if variance.text_count >= FEWEST_TEXTS_SHOWN:
        comparisons = _compare_alike(renaming, answers, part)
        if answers.has_delta:
            deltas = make_deltas(design, answers)
            single = measure_single_names(model, design.counterfactuals, variance, deltas, renaming.genders)
    for name in ("spreads", "covariates"):
        yield name, [row for each in comparisons.values() for row in getattr(each, name)]
    yield "names_alike", [row for each in comparisons.values() for row in each.countries]
    if single:
        yield "names", single.effects
        yield "large_names", single.large
    yield (
        "classifiers",
        [
            ClassifierReading(
                **answers.describe(),
                positive=[answers.labels[k] for k in answers.positive],
                negative=[answers.labels[k] for k in answers.negative],
                names_shown=len(single.effects) if single else None,
                names_tested=single.tested if single else None,
                share_of_large_names=single.share_of_large if single else None,
            )
        ],
    )
    yield "farthest", part.list_farthest(answers, renaming.countries)
    yield "smallest_effects", find_smallest_effects(answers, part)
    if answers.has_delta and part.sums:
        yield "few_texts", find_few_texts(model, renaming.countries, variance, part.sums)
    if answers.perplexities:
        yield "correlations", list(measure_correlations(design, renaming.countries, answers, answers.perplexities))
    yield from _list_rows(renaming, answers, part, None, comparisons)
    for subset, in_subset in _list_subsets(design):
        yield from _list_rows(renaming, answers, _infer_part(renaming, answers, in_subset), subset, {})


def make_deltas(design: NamesDesign, answers: ClassifierAnswers) -> LazyValues:
    original = answers.original[design.named]
    return LazyValues(lambda texts: delta_values(answers, original, texts))


def _list_subsets(design: NamesDesign) -> Iterator[tuple[str, np.ndarray]]:
    """Every value of each subset column (and every language, where there are several), with its texts (bool)."""
    texts = design.texts
    languages = {"language": texts.languages} if len(set(texts.languages)) > 1 else {}
    for column, values in (languages | texts.groups).items():
        for value in sorted(set(values)):
            yield f"{column} {value}", np.array(values) == value


def _infer_part(renaming: _Renaming, answers: ClassifierAnswers, in_subset: np.ndarray) -> NamesInference:
    design = renaming.design
    original = answers.original[design.named]
    counted = np.repeat(in_subset[design.named][:, None], design.counterfactuals.draws, axis=1)
    variance = renaming.crossed_variance(counted)
    genders: dict[str, CountedMean] = {}
    if answers.has_delta:
        designs = {gender: renaming.crossed_variance(counted & (renaming.genders == gender)) for gender in GENDERS}
        genders = average_genders(designs, make_deltas(design, answers))
    change = change_by_country(
        original,
        answers.renamed,
        counted=counted,
        positive=answers.positive,
        negative=answers.negative,
        threshold=answers.threshold,
        multi_label=answers.multi_label,
    )
    change = hide_rare_changes(change, texts=variance.text_count)
    return infer_changes(answers, original, change, variance, genders)


def _compare_alike(
    renaming: _Renaming, answers: ClassifierAnswers, part: NamesInference
) -> dict[str | None, Comparison]:
    """Of delta (None), and of the classes that differ between countries."""
    covariates = list_covariates(renaming.design.counterfactuals, renaming.name_units, answers.name_tokens)

    def predict(label: int, texts: slice) -> np.ndarray:
        return 100.0 * predict_classes(read_block(answers.renamed, texts), answers.threshold)[..., label]

    values: dict[str | None, LazyValues] = {}
    if answers.has_delta:
        values[None] = make_deltas(renaming.design, answers)
    for k in part.list_changed_classes():
        values[answers.labels[k]] = LazyValues(partial(predict, k))
    return {
        label: compare_alike(
            {"model": answers.model.name, "label": label},
            each,
            covariates,
            renaming.genders,
            part.variance,
            renaming.countries,
        )
        for label, each in values.items()
    }


def _list_rows(
    renaming: _Renaming,
    answers: ClassifierAnswers,
    part: NamesInference,
    subset: str | None,
    comparisons: dict[str | None, Comparison],
) -> Iterator[tuple[str, list[Any]]]:
    """The rows that subsets have, too."""
    change, estimates, countries = part.change, part.estimates, renaming.countries
    about: dict[str, Any] = {"model": answers.model.name, "subset": subset}
    shared = [
        about | {"place": each.place, "code": each.code, "renamed_texts": part.variance.total} for each in countries
    ]
    told = _tell_countries(
        countries, [estimates["delta_from_mean"].at(c) for c in range(len(countries))], None, comparisons
    )
    yield (
        "effects",
        [
            DeltaEffect(
                **shared[c],
                **told[c],
                label=DELTA,
                against_originals=estimates["delta"].at(c),
                kl=estimates["kl"].at(c),
                kl_from_mean=estimates["kl_from_mean"].at(c),
                noise_floor=number(part.noise_floor[c]),
            )
            for c in range(len(countries))
        ],
    )
    errors = _measure_errors(renaming, answers, part)
    for k, label in enumerate(answers.labels):
        from_mean = [estimates["change_from_mean"].at(c, k) for c in range(len(countries))]
        told = _tell_countries(countries, from_mean, label, comparisons)
        yield (
            "classes",
            [
                ClassEffect(
                    **shared[c],
                    **told[c],
                    label=label,
                    against_originals=estimates["change"].at(c, k),
                    before=int(change.before[k]),
                    after=int(change.after[c, k]),
                    changed_texts=int(change.changed_texts[c, k]),
                    changed_texts_from_mean=int(change.changed_texts_from_mean[c, k]),
                    **_pick(errors, c, k),
                )
                for c in range(len(countries))
            ],
        )
    yield "gender_gaps", list(_list_gender_gaps(countries, part, about))


def _tell_countries(
    countries: Sequence[NameList],
    estimates: Sequence[Estimate],
    label: str | None,
    comparisons: dict[str | None, Comparison],
) -> list[dict[str, Any]]:
    """What decides whether a difference is told of its country, and by which size."""
    mirrors, comparison = find_mirrors(estimates), comparisons.get(label)
    told = []
    for c, (country, estimate) in enumerate(zip(countries, estimates, strict=True)):
        row: dict[str, Any] = {"against_mean": estimate, "p_adjusted": estimate.p_adjusted}
        row["mirrors"] = countries[mirrors[c]].place if c in mirrors else None
        if comparison:
            row["shrunken"] = comparison.shrunken[c]
            is_clear = estimate.p_adjusted is not None and estimate.p_adjusted < SIGNIFICANT
            why = explain(comparison.covariates, comparison.countries, [(country.code, estimate)]) if is_clear else None
            row["reason"] = why.reason if why else None
            if is_clear and not why and comparison.countries:
                row["alike"] = find_rest(estimate, comparison.countries[c], label)
        told.append(row)
    return told


def _measure_errors(renaming: _Renaming, answers: ClassifierAnswers, part: NamesInference) -> dict[str, np.ndarray]:
    """Countries x labels, by the fields of a row; none without true labels."""
    if answers.truth is None:
        return {}
    named = renaming.design.named
    rows = named[part.variance.draws_per_text > 0]
    counted, original = np.ones((len(rows), 1), dtype=bool), answers.original[rows][:, None, None]
    before = error_rates(answers.truth[rows], original, counted=counted, threshold=answers.threshold)
    after = error_rates(
        answers.truth[named], answers.renamed, counted=part.variance.counted, threshold=answers.threshold
    )
    repeated = {
        f"original_{name}": rates.repeat(len(renaming.countries), axis=0) for name, rates in vars(before).items()
    }
    return vars(after) | repeated


def _pick(arrays: dict[str, np.ndarray], country: int, label: int) -> dict[str, Any]:
    return {name: number(values[country, label]) for name, values in arrays.items()}


def _list_gender_gaps(
    countries: Sequence[NameList], part: NamesInference, about: dict[str, Any]
) -> Iterator[GenderGap]:
    """The largest first."""
    estimates = part.gender_gaps
    if estimates is None:
        return
    gaps = [estimates.at(c) for c in range(len(countries))]
    marks = find_standing_out(gaps)
    women, men = part.genders[WOMEN].value, part.genders[MEN].value
    for c in sorted(range(len(countries)), key=lambda c: -abs(gaps[c].value or 0)):
        yield GenderGap(
            **about,
            place=countries[c].place,
            code=countries[c].code,
            women=float(women[c]),
            men=float(men[c]),
            difference=gaps[c],
            stands_out=marks[c],
        )
