"""The names audit in other tools: rows of a model card, numbers of a gate, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from geobias.audits.inputs import list_copies
from geobias.audits.names.finder_spans import describe_spans
from geobias.audits.names.records import FarthestCountry
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.measures.estimates import Estimate, find_standing_out
from geobias.report.number_tree import (
    ANY_NUMBER,
    NOT_NEGATIVE,
    WORST,
    NumberTree,
    Range,
    TreeNumber,
    model_names,
    tree_number,
    worst_number,
)
from geobias.report.tables import MARKED_COLUMN, format_interval


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
                    MARKED_COLUMN.format("Countries"): f"{sum(find_standing_out(estimates))} of {len(estimates)}",
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
    from_mean = [country.inference.against_mean for country in entry.countries]
    # Probabilities of one label sum to 1; those of a multi-label model do not.
    widest = len(entry.positive + entry.negative) if entry.multi_label else 2
    points = Range(-100 * widest, 100 * widest)

    def numbers(estimates: Iterable[Estimate], within: Range) -> list[tuple[tuple[str, ...], TreeNumber]]:
        return [
            ((country.code, country.country), tree_number(estimate, within).absolute())
            for country, estimate in zip(entry.countries, estimates, strict=True)
        ]

    def with_worst(worst: FarthestCountry | None, estimates: Iterable[Estimate], within: Range) -> NumberTree:
        by_country = numbers(estimates, within)
        return NumberTree([((WORST,), worst_number(worst, [number for _, number in by_country], within)), *by_country])

    change = [
        ((label,), with_worst(worst, [estimates.change[label] for estimates in from_mean], ANY_NUMBER))
        for label, worst in entry.worst.change.items()
    ]
    return NumberTree(
        [
            (("delta",), with_worst(entry.worst.delta, [estimates.delta for estimates in from_mean], points)),
            (("change",), NumberTree(change)),
            (("kl",), NumberTree(numbers((estimates.kl for estimates in from_mean), NOT_NEGATIVE))),
        ]
    )


def describe_omissions(result: NamesResult) -> Iterator[str]:
    """What was doubtful, left out, cut or read by a guess; the terminal and the page both say it."""
    counts, settings = result.counts, result.settings
    if counts.finder_spans and settings.doubtful:
        yield describe_spans(counts.finder_spans, settings.finder, settings.doubtful)
    if counts.rows_without_text:
        yield f"Rows without a text in the files, left out: {counts.rows_without_text:,}."
    yield from list_copies(counts.copies)
    if counts.countries_left_out:
        names = ", ".join(counts.countries_left_out)
        yield f"Countries with too few names in this script, left out: {len(counts.countries_left_out)} ({names})."
    for entry in result.classifiers:
        texts_cut, renamed_texts_cut = entry.counts.texts_cut, entry.counts.renamed_texts_cut
        if texts_cut or renamed_texts_cut:
            yield (
                f"{entry.model.name}: truncated to the model's maximum length: {texts_cut:,} texts and "
                f"{renamed_texts_cut:,} renamed versions."
            )
        yield from (f"{entry.model.name}: {note}" for note in entry.notes)
