"""The figures of papers as drawings: whole files, true to their numbers."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from geobias.papers.figures import (
    VIRIDIS,
    Lines,
    ValueMap,
    draw_figure,
    list_unmapped,
    list_without_data,
    mix_colours,
)
from geobias.world.countries import load_countries

LEFT_OUT = {"RU", "MT"}
NAMES = {code: f"name of {code}" for code in load_countries()}


def values() -> dict[str, float]:
    codes = [code for code in load_countries() if code not in LEFT_OUT]
    return {code: float(value) for code, value in zip(codes, np.linspace(-3, -1, len(codes)), strict=True)}


def test_a_map_has_every_country_in_the_colour_of_its_number() -> None:
    picture = ValueMap(values(), NAMES, "f", own_values={"EU": -1.5})
    text = draw_figure("A title", picture, [picture.describe()], [], "a/model")
    root = ElementTree.fromstring(text)
    tips = {part.findtext("{*}title"): part for part in root.iter() if part.find("{*}title") is not None}
    for code in ("FR", "TV"):  # a shape, and a circle
        mark = tips[f"name of {code}: {values()[code]:.4g}"]
        assert mark.attrib["style"] == f"fill:{picture.choose_colour(values()[code])}"
    assert tips["Russia"].attrib["class"] == "empty" and "Somaliland" in tips
    assert len(set(re.findall(r"fill:(#[0-9a-f]{6})", text))) > 100  # nearly a colour for each country
    assert tips["Malta"].attrib["class"] == "open" and tips["Europe: -1.5"].tag.endswith("polygon")
    words = " ".join("".join(part.itertext()) for part in root.iter() if part.tag.endswith("text"))
    assert "A title" in words and "no data (6)" in words and "Not on the map: 4" in words
    assert "a/model. Describes a model, not people." in words


def test_what_has_no_value_is_listed() -> None:
    assert list_without_data(values()) == [
        *("Malta", "Russia", "Somaliland", "N. Cyprus", "Indian Ocean Ter.", "Siachen Glacier")
    ]
    assert {country.code for country in list_unmapped(values())} == {"TK", "UM", "CS", "AN"}


def test_an_outlier_does_not_take_all_the_colours() -> None:
    picture = ValueMap(values() | {"FR": 1000.0}, NAMES, "f")
    assert picture.ends[1] < 0 and picture.choose_colour(1000) == VIRIDIS[-1] == picture.choose_colour(picture.ends[1])
    assert picture.describe().endswith("drawn at the end of the scale: 1.")


def test_around_a_centre_both_sides_are_as_wide() -> None:
    given = {"FR": -0.1, "DE": 0.3, "NG": 0.2}
    assert ValueMap(given, {}, "f", centre=0).ends == pytest.approx((-0.3, 0.3))
    worse, better = (ValueMap(given, {}, "f", centre=0, tone=tone) for tone in (-1, 1))
    assert worse.choose_colour(0.3) == better.choose_colour(-0.3) == "#a5330a"  # orange is worse
    assert worse.choose_colour(-0.3) == better.choose_colour(0.3) == "#14659f"


@pytest.mark.parametrize("given", [{"FR": 0.0}, {"FR": 0.0, "DE": 0.0, "NG": 0.0, "KE": 0.0, "TD": 2.0}])
def test_equal_values_still_have_a_range(given: dict[str, float]) -> None:
    for centre in (None, 0.0):
        low, high = ValueMap(given, {}, "f", centre=centre).ends
        assert low < high and low <= 0 <= high


def test_a_name_cannot_break_out_of_the_file() -> None:
    evil = "</title></svg><script>alert(1)</script>"
    picture = ValueMap({"FR": 1.0, "DE": 2.0}, {"FR": evil, "DE": "Germany"}, evil)
    text = draw_figure(evil, picture, [evil], [], evil)
    assert "<script" not in text and ElementTree.fromstring(text).tag.endswith("svg")


def test_a_continents_own_value_lies_on_the_axis() -> None:
    """Even where it is far beyond its countries'."""
    picture = ValueMap({"FR": 1.0, "DE": 2.0, "NG": 1.5}, {}, "f", own_values={"EU": 5.0, "AF": -3.0})
    root = ElementTree.fromstring(draw_figure("", picture, [], [], ""))
    corners = [part.attrib["points"] for part in root.iter() if part.tag.endswith("polygon")]
    tips = {part.findtext("{*}title"): part.attrib["points"] for part in root.iter() if part.tag.endswith("polygon")}
    assert len(corners) == 2 and set(tips) == {"Europe: 5", "Africa: -3"}
    left, right = (float(tips[name].split(",")[0]) for name in ("Africa: -3", "Europe: 5"))
    assert 0 < left < right < 900


def test_colours_between_two() -> None:
    assert [mix_colours(("#000000", "#ffffff"), share) for share in (0, 0.5, 1)] == ["#000000", "#808080", "#ffffff"]


def test_a_line_with_its_band_by_hand() -> None:
    """On logarithmic axes 1, 10 and 100 are equally far apart, and the band reaches from its low to its high."""
    points = {"a": [(1.0, 1.0), (10.0, 10.0), (100.0, 100.0)]}
    bounds = {"a": [(0.1, 10.0), (1.0, 100.0), (10.0, 1000.0)]}
    svg = Lines(points, bounds, {}, ("x", "y"), is_ratio=True).draw(400).svg
    band, line = (
        [tuple(map(float, pair.split())) for pair in path.strip("Mz").split("L")]
        for path in re.findall(r'<path d="([^"]+)"', svg)
    )
    (x0, y0), (x1, y1), (x2, y2) = line
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2) and y0 - y1 == pytest.approx(y1 - y2, abs=0.2) and y0 > y1
    assert band[0] == pytest.approx((x0, y0 + (y0 - y1)), abs=0.2) and band[-1] == pytest.approx((x0, y1), abs=0.2)
