"""Places within sentences: articles of bundled and invented places, and capital letters where one opens a sentence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from geobias.texts.templates import Sentences
from geobias.world.countries import UN_STATES, load_cities, load_country_names
from geobias.world.gazetteer import load_gazetteer
from geobias.world.places import (
    MOST_OF_A_COUNTRY,
    add_article,
    choose_known_places,
    demonym_adjective,
    drop_article,
    invent_demonym,
    invent_places,
    load_known_places,
    plural_demonym,
    put_place,
)
from geobias.world.regions import Region, load_world, read_tree

WITH_ARTICLE = "AE AN AX BS CC CD CF CG CK DO FK FO GB GM IM IO KM KY MH MP MV NL PH PS SB TC UM US VA VG VI".split()


def test_countries_and_cities_take_their_article() -> None:
    tree = load_world(cities=5, countries=["US", "NL", "KE"])
    written = {region.name: region.in_sentence for region in tree.regions}
    assert written["United States"] == "the United States" and written["The Netherlands"] == "the Netherlands"
    assert written["The Hague"] == "The Hague" and written["Kenya"] == "Kenya"
    countries = [region for region in load_world(cities=0).regions if region.level == "country"]
    assert sorted(region.id for region in countries if region.in_sentence.startswith("the ")) == WITH_ARTICLE
    assert add_article("The Bronx") == "the Bronx" and add_article("Us") == "Us"  # a town in France
    assert drop_article("the Gambia") == "Gambia" and drop_article("Thessaly") == "Thessaly"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("People in {region} are kind.", "People in the Gambia are kind."),
        ("{region} is far.", "The Gambia is far."),
        ("I know it. {region}? No, “{region}”.", "I know it. The Gambia? No, “the Gambia”."),
        ("“{region} is far!”", "“The Gambia is far!”"),
    ],
)
def test_an_article_has_a_capital_letter_only_where_it_opens_a_sentence(sentence: str, expected: str) -> None:
    assert put_place(sentence, "the Gambia") == expected
    assert put_place(sentence, "{region} al-Sham") == sentence.replace("{region}", "{region} al-Sham")


def test_sentences_of_an_audit_have_the_article_on_both_sides_of_the_description() -> None:
    sentences = Sentences(["{region} is {description}. {region} is it."], ["the Gambia"], ["{region}"])
    assert sentences[0] == "The Gambia is {region}. The Gambia is it."
    assert list(sentences) == [sentences[0]]


def test_a_tree_of_ones_own_says_how_its_names_stand_in_sentences(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("id,name,parent,in_sentence\nw,W,,\nh,Highlands,w,the Highlands\nu,United States,w,\n", "utf-8")
    tree = read_tree(path)
    assert [region.in_sentence for region in tree.regions] == ["W", "the Highlands", "the United States"]
    plain = tree.drop_articles()
    assert [region.in_sentence for region in plain.regions] == ["W", "Highlands", "United States"]
    assert plain.digest != tree.digest
    assert Region("NL", "The Netherlands", "country", 0).in_sentence == "the Netherlands"


def test_invented_places_take_articles_as_often_as_those_they_are_drawn_after() -> None:
    countries = [region for region in load_world(cities=0).regions if region.level == "country"]
    plain = invent_places([drop_article(region.in_sentence) for region in countries], 60)
    names = invent_places([region.in_sentence for region in countries], 60)
    with_article = [name for name in names if name.startswith("the ")]
    assert 3 <= len(with_article) <= 15 and names == invent_places([region.in_sentence for region in countries], 60)
    assert tuple(map(drop_article, names)) == plain
    assert invent_demonym("the Drovania") == "Drovanians"


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
    known = {city.name.casefold() for city in load_cities()} | {
        name.casefold() for name in load_country_names().values()
    }
    assert "lyon" in known
    assert not {word.casefold() for word in words} & known
    assert not {name.casefold() for name in found} & known
    people = load_gazetteer("all")
    assert not any(people.is_first(word) or people.is_last(word) for word in words)


def test_what_is_to_be_avoided_is(found: tuple[str, ...], countries: list[str]) -> None:
    assert found[0] not in invent_places(countries, 60, avoid=[found[0].upper()])


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


@pytest.mark.parametrize(
    ("code", "plural", "adjective"),
    [
        ("KE", "Kenyans", "Kenyan"),
        ("NL", "the Dutch", "Dutch"),
        ("FR", "the French", "French"),
        ("PH", "Filipinos", "Filipino"),
        ("ES", "Spaniards", "Spanish"),
        ("AE", "Emiratis", "Emirati"),
        ("JP", "Japanese people", "Japanese"),
        ("NE", "Nigeriens", "Nigerien"),
        ("PG", "Papua New Guineans", "Papua New Guinean"),
        ("GW", "Bissau-Guineans", "Bissau-Guinean"),
        ("CD", "Congolese people", "Congolese"),
        ("CG", None, None),
        ("DO", "Dominicans", "Dominican"),
        ("DM", None, None),
        ("AQ", None, None),
    ],
)
def test_demonyms(code: str, plural: str | None, adjective: str | None) -> None:
    assert (plural_demonym(code), demonym_adjective(code)) == (plural, adjective)


def test_every_demonym_names_one_country() -> None:
    plurals = {code: plural_demonym(code) for code in load_country_names()}
    names = [plural for plural in plurals.values() if plural]
    assert len(names) == len(set(names)) == 231
    assert {code for code in UN_STATES if plurals[code] is None} == {"CG", "DM", "VA"}


def test_demonyms_are_plural_and_fit_within_a_sentence() -> None:
    plurals = [plural for code in load_country_names() if (plural := plural_demonym(code))]
    irregular = [plural for plural in plurals if not plural.endswith(("s", " people")) and plural[:4] != "the "]
    assert irregular == ["Batswana", "Basotho"]
    assert not [plural for plural in plurals if plural.endswith("ese") or plural.startswith("The ")]
