"""The bundled list of large places that are no countries."""

from __future__ import annotations

from collections import Counter

from geobias.world.countries import load_country_names
from geobias.world.places import MOST_OF_A_COUNTRY, choose_known_places, load_known_places


def test_the_list_is_long_ordered_and_has_no_country() -> None:
    places = load_known_places()
    names = [place.name.casefold() for place in places]
    assert len(places) >= 300 and len(set(names)) == len(names)
    assert [place.population for place in places] == sorted((place.population for place in places), reverse=True)
    assert not {name.casefold() for name in load_country_names().values()} & set(names)
    assert not {"england", "scotland", "wales"} & set(names)


def test_the_most_populous_are_chosen_spread_over_countries_and_without_what_is_audited() -> None:
    places = choose_known_places(60)
    assert len(places) == 60 and max(Counter(place.code for place in places).values()) == MOST_OF_A_COUNTRY
    assert places == choose_known_places(60)
    others = choose_known_places(60, avoid=["texas", "Guangdong"])
    assert len(others) == 60 and not {"Texas", "Guangdong"} & {place.name for place in others}
    assert {"California", "Tokyo", "London"} <= {place.name for place in others}
