"""Large cities, states and provinces: places that a model knows, and that are no countries.

Invented places are unknown to every model, so they cannot show what a model says of a place only because it is well
known. These can: the list is the same for every model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

MOST_OF_A_COUNTRY = 2  # else most of the largest places are Chinese provinces


@dataclass(frozen=True)
class KnownPlace:
    name: str
    code: str
    """ISO 3166 alpha-2 of its country."""
    population: int


@cache
def load_known_places() -> tuple[KnownPlace, ...]:
    """Every place of the bundled list, the most populous first."""
    text = (resources.files(__package__) / "data/known_places.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return tuple(KnownPlace(name, code, int(population)) for name, code, _, population in rows)


def choose_known_places(count: int, *, avoid: Iterable[str] = ()) -> tuple[KnownPlace, ...]:
    """The `count` most populous places, at most two of a country, without the names to `avoid`."""
    left_out = {name.casefold() for name in avoid}
    of_country: Counter[str] = Counter()
    places: list[KnownPlace] = []
    for place in load_known_places():
        if place.name.casefold() not in left_out and of_country[place.code] < MOST_OF_A_COUNTRY and len(places) < count:
            of_country[place.code] += 1
            places.append(place)
    return tuple(places)
