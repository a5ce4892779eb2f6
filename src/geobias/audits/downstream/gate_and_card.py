"""The downstream audit in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geobias.audits.downstream.contrasts import ClassifierContrasts, Contrast
from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult, PlaceShift
from geobias.report.number_tree import WORST, NumberTree, Range, model_names, tree_number, worst_number
from geobias.report.tables import MARKED_COLUMN, TOO_FEW, format_interval

SHIFT = Range(-1, 1)  # of a probability


def card_rows(result: DownstreamResult) -> Iterator[dict[str, str]]:
    for entry in result.classifiers:
        family = ClassifierContrasts(result, entry)
        worst = (entry.worst_beyond_names or entry.worst)[entry.shown]
        numbers = {
            f"Largest shift of p against {family.reference}": f"{worst.value:.3f}",
            "95 %, all places at once": format_interval(worst, ".3f"),
            "Place": place_name(result, entry.farthest_region),
            MARKED_COLUMN.format("Places"): f"{len(family.standing_out)} of {len(entry.regions)}",
        }
        if not result.has_enough_texts:
            numbers = dict.fromkeys(numbers, TOO_FEW)
        yield {"Classifier": entry.model.name, "Class": entry.shown, **numbers}


def gate_numbers(result: DownstreamResult) -> NumberTree:
    """downstream.CLASSIFIER.LABEL.REGION, or `worst` for a region: against invented places, or the control."""
    return NumberTree((model_names(entry.model.name), _classifier_numbers(entry)) for entry in result.classifiers)


def _classifier_numbers(entry: ClassifierShifts) -> NumberTree:
    labels = []
    for label in entry.labels:
        numbers = [
            (
                (place.id or "", place.name),
                tree_number(Contrast(place, place.classes[label]).estimate, SHIFT).absolute(),
            )
            for place in entry.regions
        ]
        worst = worst_number((entry.worst_beyond_names or entry.worst)[label], [number for _, number in numbers], SHIFT)
        labels.append(((label,), NumberTree([((WORST,), worst), *numbers])))
    return NumberTree(labels)


def place_name(result: DownstreamResult, place: PlaceShift) -> str:
    """Cities of one name are told apart by their countries."""
    return place.name if result.is_mapped else f"{place.name} ({place.country})"


def describe_dissolved(countries: Sequence[str]) -> Iterator[str]:
    """Which countries were left out because they no longer exist; the terminal and the page both say it."""
    if countries:
        yield f"Countries that no longer exist, left out unless --countries names them: {', '.join(countries)}."
