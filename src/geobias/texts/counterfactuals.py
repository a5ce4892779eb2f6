"""Counterfactual texts: people renamed to names of each country, draw by draw; nothing else changes.

A text, a country and a kind of name have a shuffled list of their own, from the seed and from what they are: draws are
the same for every model and every run, whichever other texts and countries there are. A person takes the names of
that list one after the other, so none returns before all have had their turn (then it is shuffled anew). The
persons of a text start at different places of it, so that two of them hardly bear the same name at once. Where the
gender is not known, men's and women's names alternate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from geobias.texts.lazy_texts import BlockShape, LazyTexts
from geobias.texts.people import Person
from geobias.world.gazetteer import Gazetteer

GENDERS = ("male", "female")
NO_GENDER, BOTH_GENDERS = "not shown", "mixed"  # last names (or places) alone; a man and a woman in one text


@dataclass(frozen=True)
class NewName:
    """A person's new name; parts that the text does not show are empty."""

    first: str
    last: str


class Counterfactuals(LazyTexts):
    """texts x countries x draws renamed texts."""

    def __init__(
        self,
        texts: Sequence[str],
        people: Sequence[tuple[Person, ...]],
        gazetteer: Gazetteer,
        countries: Sequence[str],
        *,
        draws: int,
        seed: int,
    ) -> None:
        self.texts, self.people, self.gazetteer, self.countries = texts, people, gazetteer, countries
        self.draws, self.seed = draws, seed
        self.new_names = lru_cache(maxsize=256)(self._new_names)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.texts, self.people, self.gazetteer, self.countries)
        return partial(Counterfactuals, draws=self.draws, seed=self.seed), arguments  # without the cache

    @property
    def shape(self) -> BlockShape:
        return len(self.texts), len(self.countries), self.draws

    def part(self, texts: Iterable[int], draws: int) -> Counterfactuals:
        """The first draws of the texts at these rows, unchanged."""
        rows = list(texts)
        return Counterfactuals(
            [self.texts[i] for i in rows],
            [self.people[i] for i in rows],
            self.gazetteer,
            self.countries,
            draws=min(draws, self.draws),
            seed=self.seed,
        )

    def at(self, text: int, country: int, draw: int) -> str:
        names = self.new_names(text, country)
        pieces = sorted(
            (mention.start, mention.end, mention.render(new[draw].first, new[draw].last))
            for person, new in zip(self.people[text], names, strict=True)
            for mention in person.mentions
        )
        original, parts, position = self.texts[text], [], 0
        for start, end, name in pieces:
            parts += [original[position:start], name]
            position = end
        return "".join((*parts, original[position:]))

    def shown_genders(self) -> np.ndarray:
        """texts x draws: the gender of the names that a renamed text shows, the same for every country."""
        shown = np.empty((len(self.texts), self.draws), dtype=object)
        for i, persons in enumerate(self.people):
            by_person = [self._genders(i, k) for k, person in enumerate(persons) if person.has("first")]
            for draw in range(self.draws):
                genders = {genders[draw] for genders in by_person}
                shown[i, draw] = genders.pop() if len(genders) == 1 else BOTH_GENDERS if genders else NO_GENDER
        return shown

    def name_units(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which names the renamed texts show: number of the text, number of the name, and the kind of every name.

        A name is one, whichever countries have it; the same word as a first and as a last name is two.
        """
        numbers: dict[tuple[int, str], int] = {}
        texts: list[int] = []
        names: list[int] = []
        kinds = {kind: k for k, kind in enumerate(self.gazetteer.kinds)}
        for i, persons in enumerate(self.people):
            first_kinds = self.first_kinds(i)
            for c in range(len(self.countries)):
                start = (i * len(self.countries) + c) * self.draws
                for person, of_person, new in zip(persons, first_kinds, self.new_names(i, c), strict=True):
                    for draw, name in enumerate(new):
                        shown = []
                        if person.has("last"):
                            shown.append((kinds["last"], name.last))
                        if kind := of_person[draw]:
                            shown.append((kinds[kind], name.first))
                        for key in shown:
                            texts.append(start + draw)
                            names.append(numbers.setdefault(key, len(numbers)))
        return np.array(texts), np.array(names), np.array([kind for kind, _ in numbers])

    def first_kinds(self, text: int) -> list[list[str | None]]:
        """For every person of a text the kind of the first name in each draw: male, female, a city, or none."""
        return [
            list(self._genders(text, k))
            if person.has("first")
            else ["city" if person.has("city") else None] * self.draws
            for k, person in enumerate(self.people[text])
        ]

    def count_names(self, country: int) -> dict[str, int]:
        """How many different names of each kind the country's renamed texts show."""
        used: dict[str, set[str]] = {kind: set() for kind in self.gazetteer.kinds}
        for i, persons in enumerate(self.people):
            for k, (person, new) in enumerate(zip(persons, self.new_names(i, country), strict=True)):
                if person.has("last"):
                    used["last"].update(name.last for name in new)
                if person.has("city"):
                    used["city"].update(name.first for name in new)
                if person.has("first"):
                    for gender, name in zip(self._genders(i, k), new, strict=True):
                        used[gender].add(name.first)
        return {kind: len(names) for kind, names in used.items()}

    def _new_names(self, text: int, country: int) -> tuple[tuple[NewName, ...], ...]:
        """For every person of a text, the new name in each draw."""
        persons = self.people[text]
        firsts: list[list[str]] = []
        for k, person in enumerate(persons):
            if person.has("city"):
                firsts.append(self._draw_names(text, country, "city", k, len(persons), self.draws))
            elif person.has("first"):
                firsts.append(self._first_names(text, country, k, len(persons)))
            else:
                firsts.append([""] * self.draws)
        lasts = [
            self._draw_names(text, country, "last", k, len(persons), self.draws)
            if person.has("last")
            else [""] * self.draws
            for k, person in enumerate(persons)
        ]
        return tuple(tuple(map(NewName, *new)) for new in zip(firsts, lasts, strict=True))

    def _first_names(self, text: int, country: int, person: int, persons: int) -> list[str]:
        genders = self._genders(text, person)
        names = {
            gender: iter(self._draw_names(text, country, gender, person, persons, genders.count(gender)))
            for gender in set(genders)
        }
        return [next(names[gender]) for gender in genders]

    def _genders(self, text: int, person: int) -> list[str]:
        """The gender in each draw; where it is not known they alternate, in half of the texts beginning with men."""
        gender = self.people[text][person].gender
        if gender:
            return [gender] * self.draws
        first = _hash_number(self.seed, self.texts[text], str(person)) % 2
        return [GENDERS[(first + draw) % 2] for draw in range(self.draws)]

    def _draw_names(self, text: int, country: int, kind: str, person: int, persons: int, count: int) -> list[str]:
        """The names that a person takes from the shuffled lists of this text, country and kind."""
        code = self.countries[country]
        names = self.gazetteer.names(code, kind)
        rng = np.random.default_rng(_hash_number(self.seed, self.texts[text], code, kind))
        begin = person * len(names) // persons
        drawn_names: list[str] = []
        while len(drawn_names) < count:
            order = np.roll(rng.permutation(len(names)), -begin)
            drawn_names += [names[i] for i in order[: count - len(drawn_names)]]
        return drawn_names


def _hash_number(seed: int, *parts: str) -> int:
    """A number that depends only on the seed and these texts."""
    content = "\x00".join((str(seed), *parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "little")
