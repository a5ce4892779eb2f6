"""The tree of regions: the world as GeoNames has it, and trees of the user's own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from geobias.errors import InputError
from geobias.world.regions import RegionTree, load_world, read_tree


def by_level(tree: RegionTree) -> Counter[str]:
    return Counter(region.level for region in tree.regions)


def children_of(tree: RegionTree, level: str, key: str) -> list[str]:
    (position,) = [i for i, r in enumerate(tree.regions) if (r.level, r.id) == (level, key)]
    return [tree.regions[i].name for i in tree.children[position]]


def test_the_whole_world() -> None:
    tree = load_world(cities=None)
    levels = by_level(tree)
    assert (levels["earth"], levels["continent"], levels["country"]) == (1, 6, 247)
    below = {tree.regions[i].id: len(tree.children[i]) for i in tree.children[0]}
    assert below == {"AF": 58, "AS": 51, "EU": 54, "NA": 42, "OC": 28, "SA": 14}
    cities = [len(tree.children[i]) for i, r in enumerate(tree.regions) if r.level == "country"]
    assert (
        sum(cities) == levels["city"] == 34006 - 2
    )  # two stand in Antarctic territories, which have no continent here
    assert cities.count(0) == 5 and cities.count(1) == 46


def test_every_region_stands_after_its_parent() -> None:
    tree = load_world(cities=3)
    assert tree.regions[0].parent is None
    assert all(r.parent is not None and r.parent < i for i, r in enumerate(tree.regions) if i)


def test_the_largest_cities_are_kept() -> None:
    tree = load_world(cities=2, countries=["Japan", "fr"])
    assert children_of(tree, "country", "FR") == ["Paris", "Marseille"]
    assert len(children_of(tree, "country", "JP")) == 2
    assert by_level(load_world(cities=0))["city"] == 0


def test_countries_that_no_longer_exist_are_in_herbs_tree_and_can_be_left_out() -> None:
    def codes(**options: Any) -> set[str]:
        return {region.id for region in load_world(cities=0, **options).regions if region.level == "country"}

    assert codes() - codes(dissolved=False) == {"AN", "CS"}
    assert codes(dissolved=False, countries=["AN", "France"]) == {"AN", "FR"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"countries": ["Frnace"]}, r"Unknown country 'Frnace'. Did you mean France \(FR\)\?"),
        ({"countries": ["Antarctica"]}, r"Antarctica \(AQ\) is not among the regions: .*\. Remove it"),
        (
            {"continents": ["Atlantis"]},
            r"Unknown continent 'Atlantis'. Choose from: Africa \(AF\), .*, South America \(SA\)",
        ),
        ({"countries": ["FR"], "continents": ["AF"]}, "No country is left"),
        ({"cities": -1}, "cannot be -1"),
    ],
)
def test_what_does_not_exist_is_refused(options: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_world(**options)  # type: ignore[arg-type]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_tree_of_ones_own_of_any_depth(tmp_path: Path) -> None:
    file = write(
        tmp_path / "tree.csv",
        "id,name,parent\nd2,District B,s1\nus,Land,\ns1,State,us\ns2,State,us\nd1,District A,s1\nq,Quarter,d1\n",
    )
    tree = read_tree(file)
    assert [(r.id, r.level) for r in tree.regions] == [
        ("us", "root"),
        ("s1", "level 1"),
        ("s2", "level 1"),
        ("d2", "level 2"),
        ("d1", "level 2"),
        ("q", "level 3"),
    ]
    assert children_of(tree, "level 1", "s1") == ["District B", "District A"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,name,parent\nr,Root,\na,A,b\nb,B,a\n", "cycle through 'a'"),
        ("id,name,parent\nr,Root,\na,A,x\n", "the parent 'x' of 'a' is not an id"),
        ("id,name,parent\nr,Root,\nq,Root,\n", "2 roots"),
        ("id,name,parent\nr,Root,\na,A,r\na,B,r\n", "repeats the id 'a' in line 4"),
        ("id,name,parent\nr,Root,\na,,r\n", "no name in line 3"),
    ],
)
def test_bad_trees_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_tree(write(tmp_path / "tree.csv", text))
