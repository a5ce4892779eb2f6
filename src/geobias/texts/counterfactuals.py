"""Counterfactual texts: people renamed to names of each country, draw by draw; nothing else changes.

A text, a country and a kind of name have a shuffled list of their own, from the seed and from what they are: draws are
the same for every model and every run, whichever other texts and countries there are. A person takes the names of
that list one after the other, so none returns before all have had their turn (then it is shuffled anew). The
persons of a text start at different places of it, so that two of them hardly bear the same name at once. Where the
gender is not known, men's and women's names alternate.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from geobias.files import DiskArray
from geobias.texts.people import Person, Span
from geobias.texts.templates import BlockShape, LazyTexts
from geobias.world.gazetteer import Gazetteer

DrawnNames: TypeAlias = list[tuple[list[str], list[str]]]  # of every person: the first and the last name in each draw
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
        self.first_kinds = lru_cache(maxsize=16)(self._first_kinds)
        self.versions = lru_cache(maxsize=16)(self._versions)  # several threads iterate at once

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
        return self.versions(text, country)[draw]

    def _versions(self, text: int, country: int) -> list[str]:
        """All draws of a text and a country are rendered together: that is several times faster than one by one."""
        return self._render_draws(text, self._drawn_names(text, country))

    def _render_draws(self, text: int, drawn_names: DrawnNames) -> list[str]:
        """A text with every draw of names of a country."""
        mentions = [
            (mention, names)
            for person, names in zip(self.people[text], drawn_names, strict=True)
            for mention in person.mentions
        ]
        original, columns, position = self.texts[text], list[Iterable[str]](), 0
        for mention, (firsts, lasts) in sorted(mentions, key=lambda pair: pair[0].start):
            columns += [repeat(original[position : mention.start], self.draws), mention.render_all(firsts, lasts)]
            position = mention.end
        return list(map("".join, zip(*columns, repeat(original[position:], self.draws), strict=True)))

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

    def name_units(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Which names the renamed texts show: number of the text, number of the name, and the kind of every name.

        A name is one, whichever countries have it; the same word as a first and as a last name is two. Last, where the
        names of each original text start, and where the last ones end.
        """
        texts, names, keys = self.name_index
        per_answer = [
            sum(person.has("last") + bool(kinds[0]) for person, kinds in zip(people, self.first_kinds(i), strict=True))
            for i, people in enumerate(self.people)
        ]
        starts = np.cumsum([0, *per_answer]) * len(self.countries) * self.draws
        return texts, names, np.array([self.gazetteer.kinds.index(kind) for kind, _ in keys]), starts

    @property
    def name_index(self) -> tuple[np.ndarray, np.ndarray, list[tuple[str, str]]]:
        """Numbers of texts and of names, as in `name_units`; and the kind and spelling of every name."""
        return self._scan[:3]

    @property
    def text_lengths(self) -> np.ndarray:
        """texts x countries x draws: the number of characters of each renamed text."""
        return self._scan[3]

    @cached_property
    def _scan(self) -> tuple[np.ndarray, np.ndarray, list[tuple[str, str]], np.ndarray]:
        """What `name_index` and `text_lengths` return, in one pass; arrays are on disk where they are large."""
        numbers: defaultdict[tuple[str, str], int] = defaultdict(lambda: len(numbers))  # in the order of appearance
        answers, names, lengths = DiskArray(np.int64), DiskArray(np.int32), DiskArray(np.int32)
        for i in range(len(self.texts)):
            for c in range(len(self.countries)):
                drawn = self._drawn_names(i, c)
                draws = (i * len(self.countries) + c) * self.draws + np.arange(self.draws)
                for keys, per_draw in self._shown_names(i, drawn):
                    answers.append(np.repeat(draws, per_draw))
                    names.append(np.fromiter(map(numbers.__getitem__, keys), np.int32, len(keys)))
                lengths.append(np.fromiter(map(len, self._render_draws(i, drawn)), np.int32, self.draws))
        return answers.finish(), names.finish(), list(numbers), lengths.finish().reshape(self.shape)

    def count_owners(self) -> Counter[tuple[str, str]]:
        """How many of these countries have each name (kind and spelling) in their lists."""
        return Counter(
            (kind, name)
            for code in self.countries
            for kind in self.gazetteer.kinds
            for name in self.gazetteer.names(code, kind)
        )

    def _first_kinds(self, text: int) -> list[list[str | None]]:
        """For every person of a text the kind of the first name in each draw: male, female, or none."""
        return [
            [*self._genders(text, k)] if person.has("first") else [None] * self.draws
            for k, person in enumerate(self.people[text])
        ]

    def count_names(self, country: int) -> dict[str, int]:
        """How many different names of each kind the country's renamed texts show."""
        answers, names, keys = self.name_index
        shown = Counter(keys[k][0] for k in np.unique(names[answers // self.draws % len(self.countries) == country]))
        return {kind: shown[kind] for kind in self.gazetteer.kinds}

    def _shown_names(self, text: int, drawn_names: DrawnNames) -> Iterator[tuple[list[tuple[str, str]], int]]:
        """For every person the kind and spelling of its new names, draw by draw, and how many a draw has."""
        persons = zip(self.people[text], self.first_kinds(text), drawn_names, strict=True)
        for person, kinds, (firsts, lasts) in persons:
            columns: list[Iterable[tuple[str, str]]] = []
            if person.has("last"):
                columns.append(zip(repeat("last", self.draws), lasts, strict=True))
            if kinds[0]:
                columns.append(zip(kinds, firsts, strict=True))  # type: ignore[arg-type]  # all or none is None
            yield [key for keys in zip(*columns, strict=True) for key in keys], len(columns)

    def _new_names(self, text: int, country: int) -> tuple[tuple[NewName, ...], ...]:
        """For every person of a text, the new name in each draw."""
        return tuple(tuple(map(NewName, *names)) for names in self._drawn_names(text, country))

    def _drawn_names(self, text: int, country: int) -> DrawnNames:
        """For every person of a text, the first and the last name in each draw; empty where it has none."""
        code, persons = self.countries[country], self.people[text]
        orders: dict[str, _Shuffles] = {}  # by kind, the same for all persons

        def draw_names(person: int, kinds: Sequence[str | None]) -> list[str]:
            names: dict[str | None, Iterator[str]] = {None: repeat("")}
            for kind in {kind for kind in kinds if kind}:
                listed = self.gazetteer.names(code, kind)
                if kind not in orders:
                    orders[kind] = _Shuffles(hash_number(self.seed, self.texts[text], code, kind), len(listed))
                begin = person * len(listed) // len(persons)
                names[kind] = map(listed.__getitem__, orders[kind].take(kinds.count(kind), begin))
            return [next(names[kind]) for kind in kinds]

        no_names = [""] * self.draws
        return [
            (
                draw_names(k, first_kinds) if first_kinds[0] else no_names,
                draw_names(k, ["last"] * self.draws) if person.has("last") else no_names,
            )
            for k, (person, first_kinds) in enumerate(zip(persons, self.first_kinds(text), strict=True))
        ]

    def _genders(self, text: int, person: int) -> list[str]:
        """The gender in each draw; where it is not known they alternate, in half of the texts beginning with men."""
        gender = self.people[text][person].gender
        if gender:
            return [gender] * self.draws
        first = hash_number(self.seed, self.texts[text], str(person)) % 2
        return [GENDERS[(first + draw) % 2] for draw in range(self.draws)]


class _Shuffles:
    """Shuffled orders of a list of names, one after the other, as many as draws need."""

    def __init__(self, seed: int, names: int) -> None:
        self.rng, self.names = np.random.default_rng(seed), names
        self.orders: list[list[int]] = []

    def take(self, count: int, begin: int) -> list[int]:
        """The first positions of the orders, each of which starts at `begin` and goes round."""
        while len(self.orders) * self.names < count:
            self.orders.append(self.rng.permutation(self.names).tolist())
        positions = [i for order in self.orders for i in (*order[begin:], *order[:begin])]
        return positions[:count]


def hash_number(seed: int, *parts: str) -> int:
    """A number that depends only on the seed and these texts."""
    content = "\x00".join((str(seed), *parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "little")
