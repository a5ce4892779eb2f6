"""From the classifiers' probabilities to every number of a downstream audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from geobias.audits.constant_answers import list_constant_answers
from geobias.audits.downstream.design import DownstreamDesign
from geobias.audits.downstream.inference import PlaceInference, differences_from_control, infer_places
from geobias.audits.downstream.records import ClassShift, FarthestPlace, Flips, ShiftInference
from geobias.audits.downstream.result import (
    ClassifierShifts,
    DownstreamCounts,
    DownstreamResult,
    Performance,
    PerformanceByPrefix,
    PlaceShift,
    Predictions,
)
from geobias.measures.change import Shift, flips, performance, shift
from geobias.measures.estimates import NO_ESTIMATE, LargestEffect, largest_mean
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
        rotation=design.rotation,
    )


def _measure_classifier(design: DownstreamDesign, answers: Predictions) -> ClassifierShifts:
    inference = infer_places(design, answers)
    control, *regions = _place_shifts(design, answers, inference)
    differences = differences_from_control(design, answers)
    return ClassifierShifts(
        model=answers.model,
        labels=list(answers.labels),
        multi_label=answers.multi_label,
        threshold=answers.threshold,
        shown=answers.labels[answers.shown],
        counts=answers.counts,
        notes=list(answers.notes),
        performance=None if answers.truth is None else _performance(answers.truth, answers),
        worst=_farthest_places(
            design, answers, [largest_mean(differences[:, :, k]) for k in range(len(answers.labels))]
        ),
        worst_beyond_names=None
        if inference.farthest is None
        else _farthest_places(design, answers, inference.farthest),
        wording_effects=inference.wording_effects,
        control=control,
        regions=regions,
        name_effects=inference.name_effects,
    )


def _performance(truth: np.ndarray, answers: Predictions) -> PerformanceByPrefix:
    def measure(probabilities: np.ndarray) -> Performance:
        values = asdict(performance(truth, probabilities, answers.threshold))
        return Performance(**{name: number(np.float64(value)) for name, value in values.items()})

    original, prefixed = answers.original[:, None], answers.prefixed
    return PerformanceByPrefix(measure(original), control=measure(prefixed[:, :1]), regions=measure(prefixed[:, 1:]))


def _farthest_places(
    design: DownstreamDesign, answers: Predictions, by_label: Sequence[LargestEffect]
) -> dict[str, FarthestPlace]:
    """For every class the farthest region, with bounds that hold for all regions at once."""
    places = {}
    for label, (value, low, high, region) in zip(answers.labels, by_label, strict=True):
        bounds = number(np.float64(low)), number(np.float64(high))
        places[label] = FarthestPlace(value, *bounds, region=design.places[region].id)
    return places


def _place_shifts(design: DownstreamDesign, answers: Predictions, inference: PlaceInference) -> list[PlaceShift]:
    """The control, then every region: what it does to each class, and which texts change theirs."""
    shifts = shift(answers.original, answers.prefixed, answers.threshold)
    from_control = inference.against_control.value
    values = vars(shifts) | {
        "against_control": np.insert(from_control, 0, np.nan, axis=0),  # the control is not compared with itself
        "share_before": np.broadcast_to(shifts.share_before, shifts.mean_difference.shape),
        "share_change": (shifts.gained - shifts.lost) / len(design.texts),
    }
    control: dict[str, Any] = {"id": None, "name": design.settings.control, "country": None, "in_sentence": None}
    flips_by_place = _flips(answers, shifts)

    def class_shift(i: int, k: int) -> ClassShift:
        numbers: dict[str, Any] = {name: number(array[i, k]) for name, array in values.items()}
        own = inference.mean_difference.at(i, k)
        if i == 0:
            return ClassShift(**numbers, inference=ShiftInference(own, NO_ESTIMATE))
        from_mean = inference.against_mean.at(i - 1, k) if len(design.places) > 1 else None
        beyond_names = (
            None if each is None else each.at(i - 1, k) for each in (inference.against_invented, inference.held_fixed)
        )
        from_control = inference.against_control.at(i - 1, k)
        return ClassShift(**numbers, inference=ShiftInference(own, from_control, from_mean, *beyond_names))

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
