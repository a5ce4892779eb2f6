"""The numbers of a run as a tree of names, for the paths of a gate: `names.sentiment.delta.worst`.

Classifiers, countries and regions go by any of their names. Where a number may lie on either side of 0, its absolute
value counts, and so does its interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from geobias.report.results import HasInterval

WORST = "worst"


@dataclass(frozen=True)
class TreeNumber:
    """A number of a run with its interval; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    untested: str = ""
    """Why it says nothing, though it may have a value: a rule about it does not hold."""

    def absolute(self) -> TreeNumber:
        """The distance from 0; an interval that holds 0 begins there."""
        value = None if self.value is None else abs(self.value)
        if self.low is None or self.high is None:
            return TreeNumber(value)
        nearest = 0.0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))
        return TreeNumber(value, nearest, max(abs(self.low), abs(self.high)))


def tree_number(estimate: HasInterval | None, value: float | None = None) -> TreeNumber:
    """An estimate as a number of the tree; where there is none, the bare value."""
    return TreeNumber(value) if estimate is None else TreeNumber(estimate.value, estimate.low, estimate.high)


def worst_number(bounds: HasInterval | None, numbers: Iterable[TreeNumber]) -> TreeNumber:
    """The largest of all with its simultaneous bounds; where the run has none, the number alone."""
    values = [number.value for number in numbers if number.value is not None]
    return tree_number(bounds, max(values, default=None)).absolute()


class NumberTree(dict[str, Any]):
    """What lies below one part of a path. Names are case-insensitive; a name that two entries share finds neither."""

    def __init__(
        self, entries: Iterable[tuple[Sequence[str], NumberTree | TreeNumber]], number: TreeNumber | None = None
    ) -> None:
        entries = list(entries)
        self.number = number  # of the path that ends here, if it may
        self.names = [names[0] for names, _ in entries]  # as they are listed to the user
        pairs = [(key, below) for names, below in entries for key in dict.fromkeys(map(str.casefold, names))]
        counts = Counter(key for key, _ in pairs)
        super().__init__((key, below) for key, below in pairs if counts[key] == 1)


def model_names(name: str) -> tuple[str, str]:
    """A model goes by its full name or its last part: sentiment for embedded/sentiment."""
    return name, name.rsplit("/", 1)[-1]
