"""Places within sentences: articles of bundled and invented places, and capital letters where one opens a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from geobias.texts.templates import Sentences
from geobias.world.places import add_article, drop_article, invent_demonym, invent_places, put_place
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
    assert [sentences[0][slice(*span)] for span in sentences.region_spans(0, 0, 0)] == ["The Gambia"] * 2


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
