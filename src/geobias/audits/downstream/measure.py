"""From the classifiers' probabilities to every number of a downstream audit."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from geobias.audits.constant_answers import list_constant_answers
from geobias.audits.downstream.design import DownstreamDesign
from geobias.audits.downstream.result import (
    ClassifierShifts,
    ClassShift,
    DownstreamCounts,
    DownstreamResult,
    FarthestPlace,
    Flips,
    Performance,
    PerformanceByPrefix,
    PlaceShift,
    Predictions,
    ShiftInference,
)
from geobias.measures.bootstrap import bootstrap_means, largest_mean
from geobias.measures.estimates import NO_ESTIMATE
from geobias.measures.shift import ROUNDING, Shift, flips, performance, shift
from geobias.report.results import number


def measure_downstream(design: DownstreamDesign, predictions: tuple[Predictions, ...]) -> DownstreamResult:
    work: Counter[str] = Counter()
    for answers in predictions:
        work.update(answers.work)
    return DownstreamResult(
        settings=design.settings_for([answers.model.name for answers in predictions]),
        models=[answers.model for answers in predictions],
        counts=DownstreamCounts(
            texts=len(design.texts),
            rows_without_text=design.texts.left_out,
            copies=design.texts.copies,
            regions=len(design.places),
            countries_without_city=list(design.without_city),
            dissolved_countries=list(design.dissolved),
        ),
        classifiers=[_measure_classifier(design, answers) for answers in predictions],
        constant_answers=list_constant_answers(
            {answers.model.name: (answers.original, answers.prefixed) for answers in predictions}
        ),
        language_doubts=design.language_doubts,
        work=dict(work),
        texts=design.texts,
        places=design.places,
        predictions=predictions,
    )


def _measure_classifier(design: DownstreamDesign, answers: Predictions) -> ClassifierShifts:
    control, *regions = _place_shifts(design, answers)
    return ClassifierShifts(
        model=answers.model,
        labels=list(answers.labels),
        multi_label=answers.multi_label,
        threshold=answers.threshold,
        shown=answers.labels[answers.shown],
        counts=answers.counts,
        notes=list(answers.notes),
        performance=None if answers.truth is None else _performance(answers.truth, answers),
        worst=_farthest_places(design, answers),
        control=control,
        regions=regions,
    )


def _performance(truth: np.ndarray, answers: Predictions) -> PerformanceByPrefix:
    def measure(probabilities: np.ndarray) -> Performance:
        values = asdict(performance(truth, probabilities, answers.threshold))
        return Performance(**{name: number(np.float64(value)) for name, value in values.items()})

    original, prefixed = answers.original[:, None], answers.prefixed
    return PerformanceByPrefix(measure(original), control=measure(prefixed[:, :1]), regions=measure(prefixed[:, 1:]))


def _farthest_places(design: DownstreamDesign, answers: Predictions) -> dict[str, FarthestPlace]:
    """For every class the region farthest from the control, with bounds that hold for all regions at once."""
    places = {}
    for k, label in enumerate(answers.labels):
        value, low, high, region = largest_mean(answers.prefixed[:, 1:, k] - answers.prefixed[:, :1, k])
        bounds = number(np.float64(low)), number(np.float64(high))
        places[label] = FarthestPlace(value, *bounds, region=design.places[region].id)
    return places


def _place_shifts(design: DownstreamDesign, answers: Predictions) -> list[PlaceShift]:
    """The control, then every region: what it does to each class, and which texts change theirs."""
    shifts = shift(answers.original, answers.prefixed, answers.threshold)
    against_control = shifts.mean_difference - shifts.mean_difference[0]
    against_control[0] = np.nan  # the control is not compared with itself
    values = vars(shifts) | {
        "against_control": against_control,
        "share_before": np.broadcast_to(shifts.share_before, against_control.shape),
        "share_change": (shifts.gained - shifts.lost) / len(design.texts),
    }
    differences = answers.prefixed - answers.original[:, None]
    estimates = bootstrap_means(differences)
    estimates_against_control = bootstrap_means(differences - differences[:, :1])
    mean_contrasts = differences[:, 1:] - differences[:, 1:].mean(axis=1, keepdims=True)
    mean_contrasts[np.abs(mean_contrasts) < ROUNDING] = (
        0  # otherwise places with equal answers differ by rounding, and clearly so
    )
    estimates_against_mean = bootstrap_means(mean_contrasts)
    control: dict[str, Any] = {"id": None, "name": design.control, "country": None, "in_sentence": None}
    flips_by_place = _flips(answers, shifts)

    def class_shift(i: int, k: int) -> ClassShift:
        numbers: dict[str, Any] = {name: number(array[i, k]) for name, array in values.items()}
        from_control = estimates_against_control.at(i, k) if i else NO_ESTIMATE
        from_mean = estimates_against_mean.at(i - 1, k) if i and len(design.places) > 1 else None
        return ClassShift(**numbers, inference=ShiftInference(estimates.at(i, k), from_control, from_mean))

    return [
        PlaceShift(
            **place,
            classes={label: class_shift(i, k) for k, label in enumerate(answers.labels)},
            flips=flips_by_place[i],
        )
        for i, place in enumerate([control, *map(vars, design.places)])
    ]


def _flips(answers: Predictions, shifts: Shift) -> list[list[Flips]]:
    """For each prefix, how many texts go from which class to which; pairs without any are left out.

    Where a text may have several classes or none, every class comes and goes by itself: its other side is None.
    """
    labels: tuple[str | None, ...] = answers.labels
    if answers.threshold is None:
        tables = flips(answers.original, answers.prefixed)
    else:
        labels = (*labels, None)
        tables = np.zeros((len(shifts.gained), len(labels), len(labels)), dtype=np.int64)
        tables[:, -1, :-1], tables[:, :-1, -1] = shifts.gained, shifts.lost
    return [[Flips(labels[i], labels[k], int(table[i, k])) for i, k in np.argwhere(table)] for table in tables]
