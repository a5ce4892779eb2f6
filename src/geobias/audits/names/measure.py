"""From the answers of classifiers and language models to every number of a names audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geobias.audits.constant_answers import list_constant_answers
from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.covariates import list_covariates
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.few_texts import find_few_texts
from geobias.audits.names.gender_gaps import list_gender_gaps, subtract_genders
from geobias.audits.names.measure_correlations import measure_correlations
from geobias.audits.names.measure_inference import NamesInference, delta_values, find_smallest_effects, infer_changes
from geobias.audits.names.measure_rarity import (
    SharedNames,
    find_shared_names,
    measure_class,
    measure_country_spread,
    measure_rarity,
    measure_shared_names,
)
from geobias.audits.names.result import (
    ChangeFromMean,
    ClassErrors,
    ClassifierMeasures,
    CountryChange,
    CountryNames,
    GenderChange,
    GlobalTest,
    ListedNames,
    NamesCounts,
    NamesResult,
    SubsetMeasures,
    TextsMeasures,
)
from geobias.audits.names.scripts import measure_scripts
from geobias.audits.names.single_names import measure_single_names
from geobias.measures.arrays import LazyValues
from geobias.measures.change import ErrorRates, change_by_country, confusion, error_rates, hide_rare_changes
from geobias.measures.crossed_variance import CrossedVariance, NameUnits
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN
from geobias.measures.uncertainty import Uncertainty
from geobias.models.scorer import ModelIdentity
from geobias.report.results import by_label, number
from geobias.texts.counterfactuals import GENDERS, Counterfactuals


def measure_names(design: NamesDesign, answers: tuple[ClassifierAnswers, ...]) -> NamesResult:
    counterfactuals = design.counterfactuals
    name_units, shown_genders = NameUnits(*counterfactuals.name_units()), counterfactuals.shown_genders()
    shared_names = find_shared_names(counterfactuals, name_units)
    countries = list(_list_countries(counterfactuals, shared_names))
    renaming = _Renaming(design, countries, shown_genders, name_units, shared_names)
    return NamesResult(
        settings=design.settings_for([classifier.model.name for classifier in answers]),
        models=_list_models(answers),
        counts=_count(design),
        countries=renaming.countries,
        classifiers=[_measure_classifier(renaming, classifier) for classifier in answers],
        constant_answers=list_constant_answers(
            {classifier.model.name: (classifier.original, classifier.renamed) for classifier in answers}
        ),
        language_doubts=design.language_doubts,
        work=_sum_work(answers),
        texts=design.texts,
        named=design.named,
        counterfactuals=counterfactuals,
        answers=answers,
    )


@dataclass(frozen=True)
class _Renaming:
    """The design, and what all classifiers share of it."""

    design: NamesDesign
    countries: list[CountryNames]
    genders: np.ndarray  # texts with names x draws
    name_units: NameUnits
    shared_names: SharedNames

    def crossed_variance(self, counted: np.ndarray) -> CrossedVariance:
        names_fixed = self.design.options.names == "fixed"
        return CrossedVariance(self.name_units, self.design.counterfactuals.shape, counted, names_fixed=names_fixed)


def _list_countries(counterfactuals: Counterfactuals, shared_names: SharedNames) -> Iterator[CountryNames]:
    name_lists = counterfactuals.gazetteer
    for c, code in enumerate(counterfactuals.countries):
        names = {
            kind: ListedNames(len(name_lists.names(code, kind)), name_lists.total(code, kind), used)
            for kind, used in counterfactuals.count_names(c).items()
        }
        yield CountryNames(name_lists.country(code), code, names, shared_names.by_country[c])


def _count(design: NamesDesign) -> NamesCounts:
    counterfactuals = design.counterfactuals
    persons = [person for row in counterfactuals.people for person in row]
    genders = [person.gender or "unknown" for person in persons if person.has("first")]
    return NamesCounts(
        texts=len(design.texts),
        rows_without_text=design.texts.left_out,
        copies=design.texts.copies,
        texts_with_names=len(design.named),
        people=len(persons),
        mentions=sum(len(person.mentions) for person in persons),
        people_by_gender={gender: genders.count(gender) for gender in (*GENDERS, "unknown")},
        draws=counterfactuals.draws,
        countries=len(counterfactuals.countries),
        finder_spans=None if design.finder_spans is None else design.finder_spans.summarise(design.texts.texts),
        countries_left_out=[counterfactuals.gazetteer.country(code) for code in design.countries_left_out],
    )


def _list_models(answers: Sequence[ClassifierAnswers]) -> list[ModelIdentity]:
    """Every scored model, once."""
    models = [classifier.model for classifier in answers]
    models += [classifier.perplexities.model for classifier in answers if classifier.perplexities]
    return [model for i, model in enumerate(models) if model not in models[:i]]


def _sum_work(answers: Sequence[ClassifierAnswers]) -> dict[str, int]:
    """How many texts were scored in this run; classifiers share their perplexities."""
    names = ("texts_scored", "renamed_texts_scored")
    work = {name: sum(classifier.work[name] for classifier in answers) for name in names}
    perplexities = answers[0].perplexities
    return work | {"perplexities_taken": perplexities.texts_scored if perplexities else 0}


def _measure_classifier(renaming: _Renaming, answers: ClassifierAnswers) -> ClassifierMeasures:
    design, labels = renaming.design, answers.labels
    all_texts = np.ones(len(design.texts), dtype=bool)
    tables = None
    if answers.threshold is None:
        counted = np.ones(design.counterfactuals.shape[::2], dtype=bool)
        counts = confusion(answers.original[design.named], answers.renamed, counted=counted).astype(int).tolist()
        tables = dict(zip(design.counterfactuals.countries, counts, strict=True))
    return ClassifierMeasures(
        model=answers.model,
        labels=list(labels),
        multi_label=answers.multi_label,
        threshold=answers.threshold,
        positive=[labels[k] for k in answers.positive],
        negative=[labels[k] for k in answers.negative],
        counts=answers.counts,
        notes=list(answers.notes),
        **vars(_measure_texts(renaming, answers, all_texts)),
        confusion=tables,
        subsets=[
            SubsetMeasures(column=column, value=value, **vars(_measure_texts(renaming, answers, in_subset)))
            for column, value, in_subset in _list_subsets(design)
        ],
    )


def _list_subsets(design: NamesDesign) -> Iterator[tuple[str, str, np.ndarray]]:
    """Every value of each subset column (and every language, where there are several), with its texts (bool)."""
    texts = design.texts
    languages = {"language": texts.languages} if len(set(texts.languages)) > 1 else {}
    for column, values in (languages | texts.groups).items():
        for value in sorted(set(values)):
            yield column, value, np.array(values) == value


def _measure_texts(renaming: _Renaming, answers: ClassifierAnswers, in_subset: np.ndarray) -> TextsMeasures:
    """Every measure of one classifier over the texts of `in_subset` (bool)."""
    design = renaming.design
    named_in_subset = in_subset[design.named]
    counted = np.repeat(named_in_subset[:, None], design.counterfactuals.draws, axis=1)
    variance = renaming.crossed_variance(counted)
    designs = {gender: renaming.crossed_variance(counted & (renaming.genders == gender)) for gender in GENDERS}
    of_gender = {gender: _measure_changes(renaming, answers, design) for gender, design in designs.items()}
    by_gender = [
        GenderChange(gender=gender, **vars(country))
        for gender, (countries, _) in of_gender.items()
        for country in countries
    ]
    sums_by_gender = {gender: inference.sums for gender, (_, inference) in of_gender.items()}
    has_delta = bool(answers.positive and answers.negative)
    gaps = subtract_genders(designs, sums_by_gender) if has_delta else None
    countries, inference = _measure_changes(renaming, answers, variance, gaps)
    return TextsMeasures(
        texts=int(in_subset.sum()),
        texts_with_names=int(named_in_subset.sum()),
        countries=countries,
        worst=inference.worst,
        any_country_differs=GlobalTest(inference.any_country_p),
        by_gender=by_gender,
        gender_gaps=list_gender_gaps(renaming.countries, inference),
        smallest_effects=find_smallest_effects(answers, variance, inference),
        original_errors=_original_errors(answers, design.named[named_in_subset]),
        correlations=measure_correlations(design, renaming.countries, answers, answers.perplexities, in_subset)
        if answers.perplexities
        else None,
        few_texts=find_few_texts(renaming.countries, variance, inference.sums) if has_delta else [],
        scripts=measure_scripts(design, answers, variance, inference.sums),
        **_measure_rarity(renaming, answers, variance, inference),
    )


def _measure_rarity(
    renaming: _Renaming, answers: ClassifierAnswers, variance: CrossedVariance, inference: NamesInference
) -> dict[str, Any]:
    """Differences as measured and between names alike, of shared and of single names; of too few texts nothing."""
    if variance.text_count < FEWEST_TEXTS_SHOWN:
        return {}
    renamed, genders, countries = renaming.design.counterfactuals, renaming.genders, renaming.countries
    covariates = list_covariates(renamed, renaming.name_units, answers.name_tokens)
    classes = [
        measure_class(answers, k, covariates, genders, variance, countries) for k in inference.list_changed_classes()
    ]
    if not answers.positive or not answers.negative:
        return {"class_differences": classes}
    original = answers.original[renaming.design.named]
    deltas = LazyValues(lambda texts: delta_values(answers, original, texts))
    return {
        "spread": measure_country_spread(deltas, variance, countries),
        "rarity": measure_rarity(deltas, covariates, genders, variance, countries),
        "class_differences": classes,
        "single_names": measure_single_names(renamed, variance, deltas, genders),
        "shared_names": measure_shared_names(deltas, renaming.shared_names, genders, variance, countries),
    }


def _measure_changes(
    renaming: _Renaming,
    answers: ClassifierAnswers,
    variance: CrossedVariance,
    gender_gaps: tuple[np.ndarray, Uncertainty] | None = None,
) -> tuple[list[CountryChange], NamesInference]:
    """The measures of each country over the counted draws."""
    design, labels, threshold = renaming.design, answers.labels, answers.threshold
    counted = variance.counted
    original = answers.original[design.named]
    change = hide_rare_changes(
        change_by_country(
            original,
            answers.renamed,
            counted=counted,
            positive=answers.positive,
            negative=answers.negative,
            threshold=threshold,
            multi_label=answers.multi_label,
        ),
        texts=variance.text_count,
    )
    codes = design.counterfactuals.countries
    inference = infer_changes(answers, original, change, variance, codes, gender_gaps)
    rates = None
    if answers.truth is not None:
        rates = error_rates(answers.truth[design.named], answers.renamed, counted=counted, threshold=threshold)
    countries = [
        CountryChange(
            country=country.country,
            code=country.code,
            renamed_texts=int(counted.sum()),
            delta=number(change.delta[c]),
            change=by_label(labels, change.change[c]),
            kl=number(change.kl[c]),
            against_mean=ChangeFromMean(
                delta=number(change.delta_from_mean[c]),
                change=by_label(labels, change.change_from_mean[c]),
                kl=number(change.kl_from_mean[c]),
                changed_texts=_counts_by_label(labels, change.changed_texts_from_mean[c]),
            ),
            inference=inference.at(c, labels),
            before=_counts_by_label(labels, change.before),
            after=_counts_by_label(labels, change.after[c]),
            changed_texts=_counts_by_label(labels, change.changed_texts[c]),
            errors=None if rates is None else _errors_by_label(labels, rates, c),
        )
        for c, country in enumerate(renaming.countries)
    ]
    return countries, inference


def _counts_by_label(labels: Sequence[str], counts: np.ndarray) -> dict[str, int]:
    return dict(zip(labels, counts.astype(int).tolist(), strict=True))


def _original_errors(answers: ClassifierAnswers, rows: np.ndarray) -> ClassErrors | None:
    """Error rates on these original texts; None without true labels."""
    if answers.truth is None:
        return None
    counted, original = np.ones((len(rows), 1), dtype=bool), answers.original[rows][:, None, None]
    rates = error_rates(answers.truth[rows], original, counted=counted, threshold=answers.threshold)
    return _errors_by_label(answers.labels, rates, 0)


def _errors_by_label(labels: Sequence[str], rates: ErrorRates, country: int) -> ClassErrors:
    return ClassErrors(**{kind: by_label(labels, values[country]) for kind, values in vars(rates).items()})
