"""Places in sentences, what their people are called, and places to compare countries with: invented and known ones.

**In a sentence** a place has its article ("the United States"), and a capital letter where it opens one. A model takes
"People in United States" for a mistake, so the sentence measures the missing article, too. Every audit puts places into
sentences here. `geobias reproduce` keeps the wording of HERB, which has no articles.

**Demonyms** are plural ("Kenyans", "the French"), or adjectives ("Kenyan"). A demonym that two countries share is given
to the one with more people: "Congolese people" to the Democratic Republic of the Congo, "Dominicans" to the Dominican
Republic. Without a usual demonym, or without people, a country has none.

**Invented places**: pronounceable, as long as real ones, and nowhere on Earth. A model cannot have an opinion of the
people of Brodalu: differences between invented places are due to their names alone.

**Known places** are large cities, states and provinces: a model knows them, and they are no countries. Invented places
are unknown to every model, so they cannot show what a model says of a place only because it is well known. These can:
the list is the same for every model.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from geobias.world import read_data, read_rows
from geobias.world.gazetteer import KINDS, load_gazetteer
from geobias.world.words import herb_words

ARTICLE = "the "
_REGION = re.compile(r"(?P<opening>(?:^|[.!?][\"'”’)]*\s+)[\"'“‘(]*)?\{region\}")


def add_article(name: str) -> str:
    """The name of a place within a sentence: "Kenya", "the United States", "the Netherlands" of "The Netherlands".

    Names that are not in data/places_in_sentence.tsv stay as they are; case counts, since Us is a town in France.
    """
    return _load_names().get(name.removeprefix("The "), name)


def drop_article(name: str) -> str:
    """The name of a place that stood within a sentence, on its own: "United States" of "the United States"."""
    return name.removeprefix(ARTICLE)


def put_place(sentence: str, place: str) -> str:
    """Replace {region} in a sentence by a place as it stands within one; where it opens one, its article by "The"."""
    opening = place[:1].upper() + place[1:] if place.startswith(ARTICLE) else place
    return _REGION.sub(lambda m: place if m["opening"] is None else m["opening"] + opening, sentence)


@cache
def _load_names() -> dict[str, str]:
    return {name: in_sentence for _, name, in_sentence in read_rows("places_in_sentence.tsv")}


CONTINENTS = {
    "AF": "Africans",
    "AS": "Asians",
    "EU": "Europeans",
    "NA": "North Americans",
    "OC": "Oceanians",
    "SA": "South Americans",
}


def plural_demonym(code: str) -> str | None:
    """What the people of a country (ISO 3166 alpha-2) are called within a sentence; None if there is no usual word."""
    return _load_demonyms().get(code, (None, None))[0]


def name_people(level: str, code: str) -> str | None:
    """What the people of a country or continent are called; None of other regions and where there is no usual word."""
    if level == "continent":
        return CONTINENTS.get(code)
    return plural_demonym(code) if level == "country" else None


def invent_demonym(place: str) -> str:
    """A plural demonym of an invented place, formed as the regular ones are: Drovania, Drovanians; Kelm, Kelmians."""
    place = drop_article(place)
    if place.endswith("a"):
        return f"{place}ns"
    return f"{place[:-1] if place[-1] in 'eiouy' else place}ians"


def demonym_adjective(code: str) -> str | None:
    """The adjective of a country (ISO 3166 alpha-2); None if there is no usual word."""
    return _load_demonyms().get(code, (None, None))[1]


@cache
def _load_demonyms() -> dict[str, tuple[str, str]]:
    return {code: (plural, adjective) for code, plural, adjective in read_rows("demonyms.tsv")}


ONSETS = "b br d dr f fl h l m n p pl r s sl t tr v z".split()
VOWELS, ENDINGS = "aeiou", "lmnrs"
LETTERS = frozenset("".join(ONSETS) + VOWELS + ENDINGS)
SHORTEST, LONGEST = 5, 10  # letters of a word: shorter ones are too often real, of some language
MOST_WORDS = 2  # "Saint Vincent and the Grenadines" has five, but three of them are no names


def invent_places(like: Sequence[str], count: int, *, avoid: Iterable[str] = ()) -> tuple[str, ...]:
    """`count` names with as many words and letters as names drawn from `like`; the same for the same `like`.

    `like` has names as they stand within a sentence: an invented name takes the article of the one it is drawn after.

    No word of them is, in any spelling that GeoNames knows, a city of 500 people or more, a country, a
    continent, a state or a county, nor a common name of people, nor one of HERB's words, nor among those to `avoid`.
    """
    rng = random.Random(0)
    existing = {*_known_words(), *(part for text in avoid for part in split_words(text))}
    names: list[str] = []
    while len(names) < count:
        model = rng.choice(like)
        shape = [len(word) for word in drop_article(model).split()][:MOST_WORDS]
        words = [_invent_word(rng, min(max(length, SHORTEST), LONGEST), existing) for length in shape]
        existing.update(word.casefold() for word in words)
        names.append(model.removesuffix(drop_article(model)) + " ".join(words))
    return tuple(names)


def _invent_word(rng: random.Random, length: int, existing: Collection[str]) -> str:
    """Syllables of this length, tried again until they make nothing known."""
    while True:
        word = ""
        while (left := length - len(word)) > 1:
            word += rng.choice([onset for onset in ONSETS if len(onset) < left]) + rng.choice(VOWELS)
        word += rng.choice(ENDINGS) if left else ""
        if word not in existing:
            return word.capitalize()


@cache
def _known_words() -> frozenset[str]:
    """The words of real places, of the names of people, and of the descriptions; only those that could be invented."""
    texts: list[str] = [text for word in herb_words() for text in (word.word, word.substitute or "")]
    people = load_gazetteer("all")
    texts += [name for code in people.codes for kind in KINDS for name in people.names(code, kind)]
    of_people = filter(can_be_invented, split_words(" ".join(texts)))  # one long text: many short ones take seconds
    return frozenset(read_data("place_words.txt.xz").split()).union(of_people)


def can_be_invented(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and LETTERS.issuperset(word)


def split_words(text: str) -> list[str]:
    return text.casefold().replace("-", " ").split()


MOST_OF_A_COUNTRY = 2  # else most of the largest places are Chinese provinces


class KnownPlace(NamedTuple):
    name: str
    code: str  # ISO 3166 alpha-2 of its country
    population: int


@cache
def load_known_places() -> tuple[KnownPlace, ...]:
    """Every place of the bundled list, the most populous first."""
    rows = read_rows("known_places.tsv")
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
