"""What the comparisons of all audits share: their rows, and which classifiers of two runs belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from geobias.errors import InputError
from geobias.measures.estimates import Estimate
from geobias.measures.paired_differences import MeasureKey, PairedDifference
from geobias.models.scorer import ModelIdentity
from geobias.report.results import Number, number
from geobias.report.runs import FinishedRun


@dataclass(frozen=True)
class Difference:
    """One measure of one place in two runs; `difference` is the second minus the first."""

    models: list[str]
    """In the first and in the second run."""
    measure: str
    against: str
    """Its reference: originals, mean of countries, control or sub-regions."""
    label: str | None
    """Null where the measure is of no single class."""
    id: str
    """Of the country or region."""
    name: str
    first: Number
    second: Number
    difference: Estimate


@dataclass(frozen=True)
class Comparison:
    """Two runs: a row for every measure of every country or region."""

    first: str
    """The folder of the run."""
    second: str
    left_out: list[str]
    """Classifiers that only one of the runs has."""
    rows: list[Difference]


class Classified(Protocol):
    """One classifier's entry in the results of an audit."""

    @property
    def model(self) -> ModelIdentity: ...
    @property
    def labels(self) -> Sequence[str]: ...


Entry = TypeVar("Entry", bound=Classified)


def pair_classifiers(
    runs: tuple[FinishedRun[Any], FinishedRun[Any]], read_alike: dict[str, str]
) -> tuple[list[tuple[Any, Any]], list[str]]:
    """Classifiers of one name; where each run has only one, those two, whatever their names. And who is left out.

    `read_alike` names the fields that must be the same in both, with a word for each.
    """
    first, second = ({entry.model.name: entry for entry in run.result.classifiers} for run in runs)
    if len(first) == len(second) == 1:
        pairs, left_out = [(*first.values(), *second.values())], list[str]()
    else:
        pairs = [(first[name], second[name]) for name in first if name in second]
        left_out = sorted(first.keys() ^ second.keys())
    folders = f"{runs[0].folder} and {runs[1].folder} cannot be compared"
    if not pairs:
        raise InputError(f"{folders}: no classifier is in both ({', '.join(left_out)}).")
    for pair in pairs:
        for field, label in read_alike.items():
            values = [getattr(entry, field) for entry in pair]
            first_value, second_value = (sorted(value) if isinstance(value, list) else value for value in values)
            if first_value != second_value:
                raise InputError(f"{folders}: other {label} ({pair[0].model.name}, {pair[1].model.name}).")
    return pairs, left_out


def list_differences(
    models: Sequence[str],
    measure: MeasureKey,
    labels: Sequence[str],
    places: list[tuple[str, str]],
    paired: PairedDifference,
) -> Iterator[Difference]:
    """A row for each place, and for each label where the measure has them (labels x places)."""
    for index in np.ndindex(paired.first.shape):
        place_id, name = places[index[-1]]
        yield Difference(
            models=list(models),
            measure=measure[0],
            against=measure[1],
            label=labels[index[0]] if labels else None,
            id=place_id,
            name=name,
            first=number(paired.first[index]),
            second=number(paired.second[index]),
            difference=paired.difference.at(*index),
        )
