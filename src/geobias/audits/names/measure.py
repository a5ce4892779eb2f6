"""From the answers of classifiers and language models to every number of a names audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.measure_correlations import measure_correlations
from geobias.audits.names.measure_inference import NamesInference, infer_changes
from geobias.audits.names.result import (
    ChangeFromMean,
    ClassErrors,
    ClassifierMeasures,
    CountryChange,
    CountryNames,
    GenderChange,
    ListedNames,
    NamesCounts,
    NamesResult,
    SubsetMeasures,
    TextsMeasures,
)
from geobias.measures.change import ErrorRates, change_by_country, confusion, error_rates
from geobias.measures.names_bootstrap import NamesBootstrap, NameUnits
from geobias.models.scorer import ModelIdentity
from geobias.report.results import by_label, number
from geobias.texts.counterfactuals import GENDERS


def measure_names(design: NamesDesign, answers: tuple[ClassifierAnswers, ...]) -> NamesResult:
    renaming = _Renaming.describe(design)
    return NamesResult(
        settings=design.settings_for([classifier.model.name for classifier in answers]),
        models=_list_models(answers),
        counts=_count(design),
        countries=renaming.countries,
        classifiers=[_measure_classifier(renaming, classifier) for classifier in answers],
        work=_sum_work(answers),
        texts=design.texts,
        named=design.named,
        counterfactuals=design.counterfactuals,
        answers=answers,
    )


@dataclass(frozen=True)
class _Renaming:
    """The design, and what all classifiers share of it: names of countries, genders and names of renamed texts."""

    design: NamesDesign
    countries: list[CountryNames]
    genders: np.ndarray  # texts with names x draws
    name_units: NameUnits

    @classmethod
    def describe(cls, design: NamesDesign) -> _Renaming:
        counterfactuals = design.counterfactuals
        return cls(
            design,
            list(_list_countries(design)),
            counterfactuals.shown_genders(),
            NameUnits(*counterfactuals.name_units()),
        )

    @property
    def codes(self) -> list[str]:
        return [country.code for country in self.countries]


def _list_countries(design: NamesDesign) -> Iterator[CountryNames]:
    name_lists = design.counterfactuals.gazetteer
    for c, code in enumerate(design.counterfactuals.countries):
        used = design.counterfactuals.count_names(c)
        names = {
            kind: ListedNames(len(name_lists.names(code, kind)), name_lists.total(code, kind), count)
            for kind, count in used.items()
        }
        yield CountryNames(name_lists.country(code), code, names)


def _count(design: NamesDesign) -> NamesCounts:
    counterfactuals = design.counterfactuals
    persons = [person for row in counterfactuals.people for person in row]
    genders = [person.gender or "unknown" for person in persons if person.has("first")]
    return NamesCounts(
        texts=len(design.texts),
        rows_without_text=design.texts.left_out,
        texts_with_names=len(design.named),
        people=len(persons),
        mentions=sum(len(person.mentions) for person in persons),
        people_by_gender={gender: genders.count(gender) for gender in (*GENDERS, "unknown")},
        draws=counterfactuals.draws,
        countries=len(counterfactuals.countries),
        countries_left_out=[counterfactuals.gazetteer.country(code) for code in design.countries_left_out],
    )


def _list_models(answers: Sequence[ClassifierAnswers]) -> list[ModelIdentity]:
    """Every model that was asked, once."""
    models = [classifier.model for classifier in answers]
    models += [classifier.perplexities.model for classifier in answers if classifier.perplexities]
    return [model for i, model in enumerate(models) if model not in models[:i]]


def _sum_work(answers: Sequence[ClassifierAnswers]) -> dict[str, int]:
    """How many texts were scored in this run; classifiers may share perplexities."""
    names = ("texts_scored", "renamed_texts_scored")
    work = {name: sum(classifier.work[name] for classifier in answers) for name in names}
    perplexities = {id(classifier.perplexities): classifier.perplexities for classifier in answers}
    return work | {"perplexities_taken": sum(each.texts_scored for each in perplexities.values() if each)}


def _measure_classifier(renaming: _Renaming, answers: ClassifierAnswers) -> ClassifierMeasures:
    design, labels = renaming.design, answers.labels
    all_texts = np.ones(len(design.texts), dtype=bool)
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
        confusion=_confusion(renaming, answers) if answers.threshold is None else None,
        subsets=[
            SubsetMeasures(column=column, value=value, **vars(_measure_texts(renaming, answers, in_subset)))
            for column, value, in_subset in _list_subsets(design)
        ],
    )


def _list_subsets(design: NamesDesign) -> Iterator[tuple[str, str, np.ndarray]]:
    """Every value of each subset column (and every language, where there are several), with its texts (bool)."""
    groups = dict(design.texts.groups)
    if len(set(design.texts.languages)) > 1:
        groups = {"language": design.texts.languages, **groups}
    for column, values in groups.items():
        for value in sorted(set(values)):
            yield column, value, np.array(values) == value


def _confusion(renaming: _Renaming, answers: ClassifierAnswers) -> dict[str, list[list[int]]]:
    design = renaming.design
    counted = np.ones(design.counterfactuals.shape[::2], dtype=bool)
    tables = confusion(answers.original[design.named], answers.renamed, counted=counted)
    return {code: table.astype(int).tolist() for code, table in zip(renaming.codes, tables, strict=True)}


def _measure_texts(renaming: _Renaming, answers: ClassifierAnswers, in_subset: np.ndarray) -> TextsMeasures:
    """Every measure of one classifier over the texts of `in_subset` (bool)."""
    design = renaming.design
    named_in_subset = in_subset[design.named]
    counted = np.repeat(named_in_subset[:, None], design.counterfactuals.draws, axis=1)
    countries, inference = _measure_changes(renaming, answers, counted)
    by_gender = [
        GenderChange(gender=gender, **vars(country))
        for gender in GENDERS
        for country in _measure_changes(renaming, answers, counted & (renaming.genders == gender))[0]
    ]
    correlations = None
    if answers.perplexities is not None:
        correlations = measure_correlations(design, renaming.countries, answers, answers.perplexities, in_subset)
    return TextsMeasures(
        texts=int(in_subset.sum()),
        texts_with_names=int(named_in_subset.sum()),
        countries=countries,
        worst=inference.worst,
        any_country_differs=inference.any_country_differs,
        by_gender=by_gender,
        original_errors=_original_errors(answers, design.named[named_in_subset]),
        correlations=correlations,
    )


def _measure_changes(
    renaming: _Renaming, answers: ClassifierAnswers, counted: np.ndarray
) -> tuple[list[CountryChange], NamesInference]:
    """The measures of each country over the counted draws (texts with names x draws, bool)."""
    design, labels = renaming.design, answers.labels
    original = answers.original[design.named]
    change = change_by_country(
        original,
        answers.renamed,
        counted=counted,
        positive=answers.positive,
        negative=answers.negative,
        threshold=answers.threshold,
        multi_label=answers.multi_label,
    )
    bootstrap = NamesBootstrap(
        renaming.name_units,
        design.counterfactuals.shape,
        counted,
        seed=design.counterfactuals.seed,
        names_fixed=design.names_fixed,
    )
    inference = infer_changes(answers, original, change, bootstrap, renaming.codes)
    rates = None
    if answers.truth is not None:
        truth = answers.truth[design.named]
        rates = error_rates(truth, answers.renamed, counted=counted, threshold=answers.threshold)
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
            ),
            inference=inference.at(c, labels),
            before=_counts_by_label(labels, change.before),
            after=_counts_by_label(labels, change.after[c]),
            errors=None if rates is None else _errors_by_label(labels, rates, c),
        )
        for c, country in enumerate(renaming.countries)
    ]
    return countries, inference


def _original_errors(answers: ClassifierAnswers, rows: np.ndarray) -> ClassErrors | None:
    """Error rates on these original texts; None without true labels."""
    if answers.truth is None:
        return None
    rates = error_rates(
        answers.truth[rows],
        answers.original[rows][:, None, None],
        counted=np.ones((len(rows), 1), dtype=bool),
        threshold=answers.threshold,
    )
    return _errors_by_label(answers.labels, rates, 0)


def _errors_by_label(labels: Sequence[str], rates: ErrorRates, country: int) -> ClassErrors:
    return ClassErrors(
        false_positive=by_label(labels, rates.false_positive[country]),
        false_negative=by_label(labels, rates.false_negative[country]),
    )


def _counts_by_label(labels: Sequence[str], counts: np.ndarray) -> dict[str, int]:
    return {label: int(count) for label, count in zip(labels, counts, strict=True)}
