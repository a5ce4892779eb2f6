"""Counterfactual texts: people renamed to names of each country, draw by draw; nothing else changes.

A text, a country and a kind of name have a shuffled list of their own, from the seed and from what they are: draws are
the same for every model and every run, whichever other texts and countries there are. A person takes the names of
that list one after the other, so none returns before all have had their turn (then it is shuffled anew). The
persons of a text start at different places of it, so that two of them hardly bear the same name at once. Where the
gender is not known, men's and women's names alternate.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from geobias.texts.lazy_texts import BlockShape, LazyTexts
from geobias.texts.people import Person, Span
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
        return self.render(text, country, draw)[0]

    def render(self, text: int, country: int, draw: int, case: str | None = None) -> tuple[str, list[Span]]:
        """A renamed text, and where its new names stand, in the order of the text.

        Names are in the case of those that they replace, or all in `case` ("lower" or "upper").
        """
        names = self.new_names(text, country)
        new_names = [
            (mention, new[draw])
            for person, new in zip(self.people[text], names, strict=True)
            for mention in person.mentions
        ]
        original, parts, spans, position, length = self.texts[text], list[str](), list[Span](), 0, 0
        for mention, new_name in sorted(new_names, key=lambda pair: pair[0].start):
            name = mention.render(new_name.first, new_name.last, case)
            before = original[position : mention.start]
            start = length + len(before)
            length = start + len(name)
            parts += [before, name]
            spans.append((start, length))
            position = mention.end
        return "".join((*parts, original[position:])), spans

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
        texts, names, keys = self.name_index
        return texts, names, np.array([self.gazetteer.kinds.index(kind) for kind, _ in keys])

    @cached_property
    def name_index(self) -> tuple[np.ndarray, np.ndarray, list[tuple[str, str]]]:
        """Numbers of texts and of names, as in `name_units`; and the kind and spelling of every name."""
        numbers: dict[tuple[str, str], int] = {}
        texts: list[int] = []
        names: list[int] = []
        for i in range(len(self.texts)):
            for c, draw, kind, name in self._shown_names(i, range(len(self.countries))):
                texts.append((i * len(self.countries) + c) * self.draws + draw)
                names.append(numbers.setdefault((kind, name), len(numbers)))
        return np.array(texts), np.array(names), list(numbers)

    def count_owners(self) -> Counter[tuple[str, str]]:
        """How many of these countries have each name (kind and spelling) in their lists."""
        return Counter(
            (kind, name)
            for code in self.countries
            for kind in self.gazetteer.kinds
            for name in self.gazetteer.names(code, kind)
        )

    def first_kinds(self, text: int) -> list[list[str | None]]:
        """For every person of a text the kind of the first name in each draw: male, female, a city, or none."""
        return [
            [*self._genders(text, k)] if person.has("first") else ["city" if person.has("city") else None] * self.draws
            for k, person in enumerate(self.people[text])
        ]

    def count_names(self, country: int) -> dict[str, int]:
        """How many different names of each kind the country's renamed texts show."""
        used: dict[str, set[str]] = {kind: set() for kind in self.gazetteer.kinds}
        for i in range(len(self.texts)):
            for _, _, kind, name in self._shown_names(i, [country]):
                used[kind].add(name)
        return {kind: len(names) for kind, names in used.items()}

    def _shown_names(self, text: int, countries: Iterable[int]) -> Iterator[tuple[int, int, str, str]]:
        """Country, draw, kind and name of every name that the renamed texts show."""
        first_kinds = self.first_kinds(text)
        for country in countries:
            for person, kinds, new in zip(self.people[text], first_kinds, self.new_names(text, country), strict=True):
                has_last = person.has("last")
                for draw, (kind, name) in enumerate(zip(kinds, new, strict=True)):
                    if has_last:
                        yield country, draw, "last", name.last
                    if kind:
                        yield country, draw, kind, name.first

    def _new_names(self, text: int, country: int) -> tuple[tuple[NewName, ...], ...]:
        """For every person of a text, the new name in each draw."""

        def draw_names(person: int, kinds: Sequence[str | None]) -> Iterator[str]:
            names = {
                kind: iter(self._draw_names(text, country, kind, person, kinds.count(kind)))
                for kind in set(kinds)
                if kind
            }
            return (next(names[kind]) if kind else "" for kind in kinds)

        new_names = []
        for k, (person, first_kinds) in enumerate(zip(self.people[text], self.first_kinds(text), strict=True)):
            last_kinds = ["last" if person.has("last") else None] * self.draws
            new_names.append(tuple(map(NewName, draw_names(k, first_kinds), draw_names(k, last_kinds))))
        return tuple(new_names)

    def _genders(self, text: int, person: int) -> list[str]:
        """The gender in each draw; where it is not known they alternate, in half of the texts beginning with men."""
        gender = self.people[text][person].gender
        if gender:
            return [gender] * self.draws
        first = hash_number(self.seed, self.texts[text], str(person)) % 2
        return [GENDERS[(first + draw) % 2] for draw in range(self.draws)]

    def _draw_names(self, text: int, country: int, kind: str, person: int, count: int) -> list[str]:
        """The names that a person takes from the shuffled lists of this text, country and kind."""
        code = self.countries[country]
        names = self.gazetteer.names(code, kind)
        rng = np.random.default_rng(hash_number(self.seed, self.texts[text], code, kind))
        begin = person * len(names) // len(self.people[text])
        drawn_names: list[str] = []
        while len(drawn_names) < count:
            order = np.roll(rng.permutation(len(names)), -begin)
            drawn_names += [names[i] for i in order[: count - len(drawn_names)]]
        return drawn_names


def hash_number(seed: int, *parts: str) -> int:
    """A number that depends only on the seed and these texts."""
    content = "\x00".join((str(seed), *parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "little")
