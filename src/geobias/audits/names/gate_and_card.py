"""The names audit in other tools: rows of a model card, numbers of a gate, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geobias.audits.names.result import ClassifierMeasures, CountryChange, FarthestCountry, NamesResult
from geobias.measures.estimates import Estimate
from geobias.report.number_tree import WORST, NumberTree, TreeNumber, model_names, tree_number, worst_number
from geobias.report.tables import MARKED_COLUMN, format_interval, is_marked


def card_rows(result: NamesResult) -> Iterator[dict[str, str]]:
    """Delta of the classifiers that have one; of the others every class."""
    for entry in result.classifiers:
        country_names = {country.code: country.country for country in entry.countries}
        for measure, worst, estimates in _card_measures(entry):
            if worst:
                yield {
                    "Classifier": entry.model.name,
                    "Measure": measure,
                    "Farthest from the mean of countries": f"{worst.value:.1f}",
                    "95 %, all countries at once": format_interval(worst, ".1f"),
                    "Country": country_names[worst.country],
                    MARKED_COLUMN.format("Countries"): f"{sum(map(is_marked, estimates))} of {len(estimates)}",
                }


def _card_measures(entry: ClassifierMeasures) -> Iterator[tuple[str, FarthestCountry | None, list[Estimate]]]:
    from_mean = [country.inference.against_mean for country in entry.countries]
    if entry.worst.delta:
        yield "Δ, points", entry.worst.delta, [estimates.delta for estimates in from_mean]
        return
    for label, worst in entry.worst.change.items():
        yield f"predictions of {label}, %", worst, [estimates.change[label] for estimates in from_mean]


def gate_numbers(result: NamesResult) -> NumberTree:
    """names.CLASSIFIER.delta.COUNTRY, .change.LABEL.COUNTRY, .kl.COUNTRY, or `worst` for COUNTRY: against the mean."""
    return NumberTree((model_names(entry.model.name), _classifier_numbers(entry)) for entry in result.classifiers)


def _classifier_numbers(entry: ClassifierMeasures) -> NumberTree:
    countries = entry.countries
    delta = _by_country(countries, [country.inference.against_mean.delta for country in countries])
    kl = _by_country(countries, [country.inference.against_mean.kl for country in countries])
    change = []
    for label in entry.labels:
        numbers = _by_country(countries, [country.inference.against_mean.change[label] for country in countries])
        change.append(((label,), _with_worst(entry.worst.change[label], numbers)))
    return NumberTree(
        [
            (("delta",), _with_worst(entry.worst.delta, delta)),
            (("change",), NumberTree(change)),
            (("kl",), NumberTree(kl)),
        ]
    )


def _by_country(
    countries: Sequence[CountryChange], estimates: Sequence[Estimate]
) -> list[tuple[tuple[str, str], TreeNumber]]:
    return [
        ((country.code, country.country), tree_number(estimate).absolute())
        for country, estimate in zip(countries, estimates, strict=True)
    ]


def _with_worst(worst: FarthestCountry | None, numbers: Sequence[tuple[tuple[str, str], TreeNumber]]) -> NumberTree:
    return NumberTree([((WORST,), worst_number(worst, (number for _, number in numbers))), *numbers])


def describe_omissions(result: NamesResult) -> Iterator[str]:
    """What was left out, cut or read by a guess; the terminal and the page both say it."""
    counts = result.counts
    if counts.rows_without_text:
        yield f"Rows without a text in the files, left out: {counts.rows_without_text:,}."
    if counts.countries_left_out:
        names = ", ".join(counts.countries_left_out)
        yield f"Countries with too few names in this script, left out: {len(counts.countries_left_out)} ({names})."
    for entry in result.classifiers:
        texts_cut, renamed_texts_cut = entry.counts.texts_cut, entry.counts.renamed_texts_cut
        if texts_cut or renamed_texts_cut:
            yield (
                f"{entry.model.name}: longer than the model takes, and cut: {texts_cut:,} texts and "
                f"{renamed_texts_cut:,} renamed versions."
            )
        yield from (f"{entry.model.name}: {note}" for note in entry.notes)
