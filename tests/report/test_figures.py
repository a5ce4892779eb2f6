"""Figures: whole files, true to their numbers, and no network."""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import numpy as np
import pytest

from geobias.errors import InputError
from geobias.report.colours import HATCH
from geobias.report.figures import save_chart, unmapped, without_data, world_map
from geobias.world.countries import load_countries

pytestmark = pytest.mark.figures

LEFT_OUT = {"RU", "MT"}


def values() -> dict[str, float]:
    codes = [code for code in load_countries() if code not in LEFT_OUT]
    return {code: float(value) for code, value in zip(codes, np.linspace(-3, -1, len(codes)), strict=True)}


def names() -> dict[str, str]:
    return {code: f"name of {code}" for code in load_countries()}


def drawn(given: dict[str, float], **options: Any) -> Any:
    return world_map(given, names(), title="A title", subtitle="What it is.", legend="f", **options)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    stem = tmp_path_factory.mktemp("new") / "figures" / "map-1.5"
    return {path.suffix: path for path in save_chart(drawn(values(), own_values={"EU": -1.5}), stem)}


def shades(png: bytes) -> int:
    """How many different bytes its rows hold; a blank sheet has a handful."""
    parts, at = [], 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IDAT":
            parts.append(png[at + 8 : at + 8 + length])
        at += length + 12
    return len(set(zlib.decompress(b"".join(parts))))


def test_the_three_files_lie_side_by_side_and_nothing_else(files: dict[str, Path]) -> None:
    assert {path.name for path in files[".svg"].parent.iterdir()} == {"map-1.5.svg", "map-1.5.png", "map-1.5.html"}


def test_the_svg_is_drawn_with_colours_hatching_and_words(files: dict[str, Path]) -> None:
    text = files[".svg"].read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg") and 1100 < float(root.attrib["width"]) < 1300
    assert len(set(re.findall(r'fill="(rgb[^"]+|#[0-9a-f]{6})"', text))) > 100  # nearly a colour for each country
    assert HATCH in text and "A title" in text and "Europe" in text
    assert "Hatched, or an empty circle: no data (6)" in text and "Not on the map: 4" in text


def test_the_png_is_twice_the_size_and_not_blank(files: dict[str, Path], tmp_path: Path) -> None:
    png = files[".png"].read_bytes()
    svg = ElementTree.fromstring(files[".svg"].read_text(encoding="utf-8"))
    size = struct.unpack(">II", png[16:24])
    assert size == pytest.approx([2 * float(svg.attrib[side]) for side in ("width", "height")], abs=2)
    blank = alt.Chart(alt.InlineData(values=[])).mark_point().properties(width=300, height=300)
    empty = next(path for path in save_chart(blank, tmp_path / "blank") if path.suffix == ".png")
    assert shades(empty.read_bytes()) < 50 < 150 < shades(png)


def test_the_page_needs_no_network(files: dict[str, Path]) -> None:
    page = files[".html"].read_text(encoding="utf-8")
    for tag in re.findall(r"<(?:script|link|img)\b[^>]*>", page):
        assert "http" not in tag, tag
    assert "cdn." not in page and "import(" not in page.split("</head>")[-1]
    assert "name of FR" in page and '"editor":false' in page.replace(" ", "")  # tooltips; no button to send it away


def datasets(chart: Any) -> list[Any]:
    return [json.loads(data) if isinstance(data, str) else data for data in chart.to_dict()["datasets"].values()]


def test_what_has_no_value_is_hatched_and_counted() -> None:
    given = values()
    assert without_data(given) == ["Malta", "Russia", "Somaliland", "N. Cyprus", "Indian Ocean Ter.", "Siachen Glacier"]
    assert {country.code for country in unmapped(given)} == {"TK", "UM", "CS", "AN"}
    parts = datasets(drawn(given))
    topology = next(part for part in parts if isinstance(part, dict))
    shaped = {
        each["properties"]["name"]: each["properties"]["value"]
        for each in topology["objects"]["countries"]["geometries"]
    }
    assert shaped["name of FR"] == given["FR"] and shaped["name of RU"] is None and shaped["Somaliland"] is None
    lines = next(part for part in parts if isinstance(part, list) and "geometry" in part[0])[0]["geometry"][
        "coordinates"
    ]
    points = np.array([line[0] for line in lines])
    russia = (points[:, 0] > 19) & (points[:, 1] > 35)
    assert russia.sum() > 50 and len(lines) > russia.sum()  # and Somaliland's
    dots = next(part for part in parts if isinstance(part, list) and "x" in part[0])
    by_name = {dot["name"]: dot["value"] for dot in dots}
    assert by_name["name of MT"] is None and by_name["name of TV"] == given["TV"]
    assert "name of FR" not in by_name and "name of TK" not in by_name


def scale(chart: Any) -> dict[str, Any]:
    ticks: dict[str, Any] = chart.to_dict()["hconcat"][1]["layer"][0]["encoding"]
    assert ticks["x"]["scale"]["domain"] == ticks["color"]["scale"]["domain"]
    return dict(ticks["color"]["scale"])


def test_an_outlier_does_not_take_all_the_colours() -> None:
    given = values() | {"FR": 1000.0}
    chart = drawn(given)
    assert scale(chart)["scheme"] == "viridis"
    assert scale(chart)["domain"][1] < 0
    assert chart.to_dict()["title"]["subtitle"][-1].endswith("drawn at the end of the scale: 1.")


def test_around_a_centre_both_sides_are_as_wide() -> None:
    found = scale(drawn({"FR": -0.1, "DE": 0.3, "NG": 0.2}, centre=0))
    assert found["scheme"] == "purplegreen" and found["domain"] == [pytest.approx(-0.3), pytest.approx(0.3)]


@pytest.mark.parametrize("given", [{"FR": 0.0}, {"FR": 0.0, "DE": 0.0, "NG": 0.0, "KE": 0.0, "TD": 2.0}])
def test_equal_values_still_have_a_range(given: dict[str, float]) -> None:
    for centre in (None, 0.0):
        low, high = scale(drawn(given, centre=centre))["domain"]
        assert low < high and low <= 0 <= high


def test_continents_own_values_are_marked() -> None:
    side = drawn({"FR": 1.0, "DE": 2.0}, own_values={"EU": 1.5}).to_dict()
    marks = side["datasets"][side["hconcat"][1]["layer"][2]["data"]["name"]]
    assert marks == [{"name": "Europe", "continent": "Europe", "value": 1.5}]
    assert len(drawn({"FR": 1.0}).to_dict()["hconcat"][1]["layer"]) == 2


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("a file")
    with pytest.raises(InputError, match="Cannot write"):
        save_chart(alt.Chart(alt.InlineData(values=[])).mark_point(), tmp_path / "figures" / "map")


@pytest.mark.slow
def test_a_text_cannot_end_the_script_of_the_page(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    chart = world_map({"FR": 1.0, "DE": 2.0}, {"FR": evil, "DE": "Germany"}, title=evil, subtitle="", legend=evil)
    page = next(path for path in save_chart(chart, tmp_path / "map") if path.suffix == ".html").read_text()
    assert "\\u003c/script>\\u003cimg src=x" in page and "</script><img" not in page


def test_a_continents_own_value_lies_on_the_axis() -> None:
    spec = world_map(
        {"FR": 1.0, "DE": 2.0, "NG": 1.5}, {}, title="", subtitle="", legend="", own_values={"EU": 5.0, "AF": -3.0}
    ).to_dict()
    strip = spec["hconcat"][1]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert strip == [-3.0, 5.0]
