"""From the classifiers' probabilities to every number of a downstream audit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

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
from geobias.measures.estimates import Estimates
from geobias.measures.shift import Shift, flips, performance, shift
from geobias.report.results import number

NO_ESTIMATE = Estimates.unknown(np.array(np.nan)).at()


def measure_downstream(design: DownstreamDesign, predictions: tuple[Predictions, ...]) -> DownstreamResult:
    work: dict[str, int] = {}
    for answers in predictions:
        for name, count in answers.work.items():
            work[name] = work.get(name, 0) + count
    return DownstreamResult(
        settings=design.settings_for([answers.model.name for answers in predictions]),
        models=[answers.model for answers in predictions],
        counts=DownstreamCounts(
            texts=len(design.texts),
            rows_without_text=design.texts.left_out,
            regions=len(design.places),
            countries_without_city=list(design.without_city),
        ),
        classifiers=[_measure_classifier(design, answers) for answers in predictions],
        work=work,
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

    return PerformanceByPrefix(
        original=measure(answers.original[:, None]),
        control=measure(answers.prefixed[:, :1]),
        regions=measure(answers.prefixed[:, 1:]),
    )


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
    always = ("rose", "fell", "mean_difference", "share_after", "gained", "lost")
    values = {name: getattr(shifts, name) for name in always} | {
        "share_before": np.broadcast_to(shifts.share_before, against_control.shape),
        "share_change": (shifts.gained - shifts.lost) / len(design.texts),
    }
    differences = answers.prefixed - answers.original[:, None]
    estimates = bootstrap_means(differences)
    estimates_against_control = bootstrap_means(differences - differences[:, :1])
    places: list[dict[str, Any]] = [{"id": None, "name": design.control, "country": None}]
    places += [asdict(place) for place in design.places]
    flips_by_place = _flips(answers, shifts)
    return [
        PlaceShift(
            **place,
            classes={
                label: ClassShift(
                    **{name: array[i, k].item() for name, array in values.items()},
                    mean_rise=number(shifts.mean_rise[i, k]),  # None where no text moves that way
                    mean_fall=number(shifts.mean_fall[i, k]),
                    against_control=number(against_control[i, k]),
                    inference=ShiftInference(
                        mean_difference=estimates.at(i, k),
                        against_control=estimates_against_control.at(i, k) if i else NO_ESTIMATE,
                    ),
                )
                for k, label in enumerate(answers.labels)
            },
            flips=flips_by_place[i],
        )
        for i, place in enumerate(places)
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
