"""What a gate may ask of a run: its results.json as a tree of named numbers.

Classifiers, countries and regions go by any of their names. Where a number may lie on either side of 0, how far it is
from 0 is meant, and so is its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WORST = "worst"

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """A number of a run with its interval; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Names(dict[str, Any]):
    """What lies below one part of a path. Names are found in capitals or not; a name of several is nobody's."""

    def __init__(self, entries: Iterable[tuple[Sequence[str], Any]]) -> None:
        super().__init__()
        self.shown: list[str] = []
        shared = set()
        for names, below in entries:
            self.shown.append(names[0])
            for name in dict.fromkeys(name.casefold() for name in names):
                if name in self:
                    shared.add(name)
                self[name] = below
        for name in shared:
            del self[name]


def numbers_of(results: Results) -> Names:
    """The numbers of a run of any audit."""
    return AUDITS[results["audit"]](results)


def _of_names(results: Results) -> Names:
    """names.CLASSIFIER.delta.COUNTRY, .change.LABEL.COUNTRY, .kl.COUNTRY; `worst` for a country; against the mean."""

    def of(entry: Results, measure: str, *label: str) -> Names:
        found = []
        for row in entry["countries"]:
            plain = _get(row, "against_mean", measure, *label)
            estimate = _get(row, "inference", "against_mean", measure, *label)
            found.append(((row["code"], row["country"]), _size(estimate, plain)))
        worst = [((WORST,), _largest(entry, found, measure, *label))] if measure != "kl" else []
        return Names([*worst, *found])

    def below(entry: Results) -> Names:
        by_label = Names(((label,), of(entry, "change", label)) for label in entry["labels"])
        return Names([(("delta",), of(entry, "delta")), (("change",), by_label), (("kl",), of(entry, "kl"))])

    return _by_classifier(results, below)


def _of_downstream(results: Results) -> Names:
    """downstream.CLASSIFIER.LABEL.REGION, or `worst` for a region; against the control."""

    def below(entry: Results) -> Names:
        by_label = []
        for label in entry["labels"]:
            found = []
            for region in entry["regions"]:
                row = region["classes"][label]
                estimate = _get(row, "inference", "against_control")
                found.append(((region["id"], region["name"]), _size(estimate, row["against_control"])))
            worst = _largest(entry, found, label)
            by_label.append(((label,), Names([((WORST,), worst), *found])))
        return Names(by_label)

    return _by_classifier(results, below)


def _of_regions(results: Results) -> Names:
    """regions.REGION.c_w.balanced, and so on, of regions with sub-regions; an id of two levels is the higher one's."""
    entries, taken = [], dict[str, str]()
    for region in results["regions"]:
        if not region["leaf"]:
            names = [
                name
                for name in dict.fromkeys((region["id"], region["name"]))
                if taken.setdefault(name.casefold(), region["level"]) == region["level"]
            ]
            if names:
                entries.append((names, _scores(region)))
    return Names(entries)


def _scores(region: Results) -> Names:
    return Names(
        ((variant,), Names(((form,), _plain(_get(region, "inference", variant, form), value))
                           for form, value in region[variant].items()))
        for variant in ("c_w", "c_z")
    )  # fmt: skip


def _by_classifier(results: Results, below: Callable[[Results], Names]) -> Names:
    """By the full name or its last part: sentiment for embedded/sentiment."""
    entries = []
    for entry in results["classifiers"]:
        name = entry["model"]["name"]
        entries.append(((name, name.rsplit("/", 1)[-1]), below(entry)))
    return Names(entries)


def _get(row: Any, *keys: str) -> Any:
    for key in keys:
        row = row.get(key) if isinstance(row, Mapping) else None
    return row


def _plain(estimate: Results | None, value: float | None) -> Measured:
    if not estimate:
        return Measured(value)
    return Measured(estimate["value"], estimate["low"], estimate["high"])


def _size(estimate: Results | None, value: float | None) -> Measured:
    """How far from 0, in either direction: an interval that holds 0 begins there."""
    found = _plain(estimate, value)
    size = None if found.value is None else abs(found.value)
    if found.low is None or found.high is None:
        return Measured(size, None, None)
    nearest = 0.0 if found.low <= 0 <= found.high else min(abs(found.low), abs(found.high))
    return Measured(size, nearest, max(abs(found.low), abs(found.high)))


def _largest(entry: Results, found: Sequence[tuple[Any, Measured]], *keys: str) -> Measured:
    """The largest of all with its simultaneous bound, as the run has it; without one in the run, the number alone."""
    values = [measured.value for _, measured in found if measured.value is not None]
    return _size(_get(entry, WORST, *keys), max(values, default=None))


AUDITS: dict[str, Callable[[Results], Names]] = {
    "names": _of_names,
    "regions": _of_regions,
    "downstream": _of_downstream,
}
