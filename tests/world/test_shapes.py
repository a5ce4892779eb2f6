"""The shapes of countries and the points that stand for them."""

from __future__ import annotations

import numpy as np
import pytest

from geobias.world.countries import load_countries, load_shapes, load_topology
from geobias.world.regions import load_world


def test_every_country_of_the_tree_is_known_with_its_continent() -> None:
    tree = load_world(cities=0)
    known = load_countries()
    in_tree = {region.id: region for region in tree.regions if region.level == "country"}
    assert set(in_tree) == set(known)
    for code, region in in_tree.items():
        assert region.parent is not None and known[code].continent == tree.regions[region.parent].id
        assert known[code].name == region.name


def test_shapes_have_the_codes_of_their_countries() -> None:
    codes = {shape.name: shape.code for shape in load_shapes()}
    assert (codes["France"], codes["Namibia"], codes["Kosovo"], codes["Afghanistan"]) == ("FR", "NA", "XK", "AF")
    assert {name for name, code in codes.items() if code is None} == {
        "Somaliland", "N. Cyprus", "Indian Ocean Ter.", "Siachen Glacier",
    }  # fmt: skip
    assert "Antarctica" not in codes


def test_countries_without_a_shape_are_known_and_have_a_point_where_they_have_a_city() -> None:
    without = {code for code, country in load_countries().items() if not country.area}
    assert without == set("BQ CC CX GF GI GP MQ RE SJ TK TV UM YT CS AN".split())
    assert {code for code in load_countries() if load_countries()[code].point is None} == {"TK", "UM", "CS", "AN"}
    assert load_countries()["FR"].point == pytest.approx((2.35, 48.85), abs=0.01)  # Paris


@pytest.mark.parametrize(("code", "square_kilometres"), [("FR", 643_801), ("ZA", 1_221_037), ("RU", 17_098_242)])
def test_decoded_outlines_enclose_the_area_of_the_country(code: str, square_kilometres: float) -> None:
    """South Africa has a hole (Lesotho), Russia goes on beyond 180 degrees."""
    degree = 111.2
    assert load_countries()[code].area * degree**2 == pytest.approx(square_kilometres, rel=0.12)


def test_outlines_are_closed_and_never_jump() -> None:
    for shape in load_shapes():
        for ring in shape.rings:
            assert np.allclose(ring[0], ring[-1]), shape.name
            assert np.abs(np.diff(ring[:, 0])).max() < 180, shape.name
    assert len(load_topology()["objects"]["countries"]["geometries"]) == 241
