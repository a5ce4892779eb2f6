"""Pictures by hand-worked numbers: scales, ticks, text, dots, cells, bars and the world map."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from geobias.measures.estimates import Estimate
from geobias.report.page.bars import Bars, Change
from geobias.report.page.blocks import MapMeasure, Row
from geobias.report.page.charts import NEUTRAL, Valence, dots, heat, ratio_heat
from geobias.report.page.svg import (
    Picture,
    Scale,
    count_places,
    draw_frame,
    measure_text,
    place_ratio_ticks,
    place_ticks,
    shorten_text,
    wrap_text,
)
from geobias.report.page.swarm import Swarm, place_dots
from geobias.report.page.world_map import MapPicture, choose_limits, find_land, list_size, place_labels, place_point

KINDNESS = Valence(1, "kinder", "harsher")
HATE = Valence(-1, "hate likelier", "hate less likely")


def dot(place: str, value: float, *, marked: bool, p: float | None = 0.5, **more: Any) -> Row:
    return {
        "place": place,
        "value": value,
        "low": value - 1,
        "high": value + 1,
        "p_adjusted": p,
        "marked": marked,
        **more,
    }


def draw(picture: Picture, width: float = 640) -> ElementTree.Element:
    return ElementTree.fromstring(f"<svg>{picture.draw(width).svg}</svg>")


def marks(picture: Picture, names: str = "circle") -> list[str]:
    return [each.attrib["class"] for each in draw(picture).iter(names)]


def test_scales_by_hand() -> None:
    scale = Scale(-10, 30, 100, 500)
    assert [scale(value) for value in (-10, 0, 30)] == [100, 200, 500]
    ratios = Scale(0.5, 2, 0, 100, is_ratio=True)
    assert ratios(0.5) == 0 and ratios(1) == pytest.approx(50) and ratios(2) == pytest.approx(100)
    assert Scale(3, 3, 0, 10)(3) == 0  # one value only


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0, 10, 5, [0, 2, 4, 6, 8, 10]),
        (-0.031, 0.052, 5, [-0.02, 0, 0.02, 0.04]),
        (7, 7, 4, [7]),
        (0.2, 1.1, 4, [0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_ticks_are_round(low: float, high: float, most: int, expected: list[float]) -> None:
    assert place_ticks(low, high, most) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.95, 1.04, [1.02**k for k in range(-3, 3)]),
        (0.19, 6.2, [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8]),
        (3, 9, [1, 2, 4, 8, 16]),
        (1e-30, 1e30, [1e-32, 1e-28]),
    ],
)
def test_ticks_of_ratios_enclose_the_values_and_1(low: float, high: float, ticks: list[float]) -> None:
    placed = place_ratio_ticks(low, high)
    assert placed[: len(ticks)] == pytest.approx(ticks) and 1.0 in placed
    assert placed[0] <= low and placed[-1] >= high and len(placed) <= 17


def test_text_is_measured_wrapped_and_cut() -> None:
    assert measure_text("Ai", 10) == pytest.approx(6.67 + 2.22) and measure_text("A", 10, bold=True) > 6.67
    assert wrap_text("aaa bbb ccc", measure_text("aaa bbb", 10), 10) == ["aaa bbb", "ccc"]
    assert wrap_text("5 % of it", 1, 10) == ["5\u00a0%", "of", "it"] and wrap_text("", 9, 10) == []
    assert shorten_text("Liechtenstein", 40, 12).endswith("…") and shorten_text("Chad", 400, 12) == "Chad"
    assert [count_places(values) for values in ([12.3], [1.2], [0.08], [0.0012], [])] == [1, 1, 3, 4, 1]


def test_colour_is_direction_and_shape_is_certainty() -> None:
    rows = [
        dot("A", 2, marked=True),
        dot("B", 1, marked=False),
        dot("C", -2, marked=True),
        dot("D", 0.5, marked=False, p=None),
    ]

    def kinds(valence: Valence, centre: float = 0) -> list[str]:
        return marks(dots(rows, label="place", title="t", order=list("ABCD"), valence=valence, centre=centre))

    assert kinds(KINDNESS) == ["better", "open", "worse", "untested"]
    assert kinds(HATE) == ["worse", "open", "better", "untested"] and kinds(NEUTRAL)[0] == "neutral"
    assert kinds(KINDNESS, centre=3)[0] == "worse"


def test_a_dot_stands_at_its_value() -> None:
    rows = [dot("A", 0, marked=True), dot("B", 10, marked=False), dot("C", 5, marked=False)]
    a, b, c = (
        float(each.attrib["cx"]) for each in draw(dots(rows, label="place", title="", order=list("ABC"))).iter("circle")
    )
    assert c == pytest.approx((a + b) / 2, abs=0.1)
    tip = next(draw(dots(rows, label="place", title="", order=list("ABC"))).iter("circle"))[0].text
    assert tip is not None and "A" in tip and "distinguishable" in tip


def test_ratios_have_a_logarithmic_axis_around_1() -> None:
    rows = [
        dot("A", 4, marked=True, low=2, high=8),
        dot("B", 0.25, marked=True, low=0.2, high=0.5),
        dot("C", 1, marked=False),
    ]
    rows = [row | {"low": None, "high": None} for row in rows]
    picture = dots(rows, label="place", title="t", order=list("ABC"), valence=KINDNESS, is_ratio=True)
    a, b, c = (float(each.attrib["cx"]) for each in draw(picture).iter("circle"))
    assert c == pytest.approx((a + b) / 2, abs=0.1) and marks(picture)[:2] == ["better", "worse"]


def test_series_have_shapes_and_many_have_panels() -> None:
    def compare(models: str) -> Picture:
        rows = [dot(place, k, marked=False, model=model) for k, model in enumerate(models) for place in "AB"]
        return dots(rows, label="place", title="t", order=list("AB"), colour="model")

    shapes = draw(compare("xyz"))
    assert len(list(shapes.iter("circle"))) == 3 and len(list(shapes.iter("polygon"))) == 6  # with those of the legend
    panels = [each.text for each in draw(compare("uvwxyz")).iter("text")]
    assert [text for text in panels if text in list("uvwxyz")] == list("uvwxyz") and panels.count("A") == 6


def test_cells_have_a_colour_only_where_they_are_marked() -> None:
    rows = [
        {"place": "A", "class": label, "value": value, "marked": marked, "text": text}
        for label, value, marked, text in (
            ("bad", 9.0, True, "+9*"),
            ("good", 9.0, False, "+9"),
            ("other", None, False, "too few"),
        )
    ]
    columns = {"bad": -1, "good": 1, "other": 0}
    picture = heat(rows, across="class", down="place", columns=columns, order=["A"])
    assert marks(picture, "rect") == ["cell worse", "cell", "cell"]
    ratios = ratio_heat(rows, across="class", down="place", columns=list(columns), order=["A"])
    assert marks(ratios, "rect") == ["cell neutral", "cell", "cell"]
    assert "+9" not in [each.text for each in draw(ratios).iter("text")]


def test_bars_are_as_long_as_their_values() -> None:
    bars = Bars([Change("small", 1), Change("large", -4, -6, -2, "worse")], "points")
    short, long = (float(each.attrib["width"]) for each in draw(bars).iter("rect"))
    assert long == pytest.approx(4 * short, abs=0.3) and marks(bars, "rect") == ["bar", "worse"]


def test_no_dot_of_a_swarm_covers_another() -> None:
    places = place_dots([5.0] * 40 + [8.0, 30.0], 3, most=10)
    assert len(places) == 42 and places[-1] == (30.0, 0.0)
    close = [(a, b) for k, a in enumerate(places) for b in places[:k] if (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 < 36]
    assert close == []


@pytest.mark.parametrize("marked", [0, 5])
def test_a_swarm_names_what_is_distinguishable(marked: int) -> None:
    rows = [dot(f"P{k}", k / 10, marked=k < marked) for k in range(60)]
    texts = [each.text or "" for each in draw(Swarm(rows, "place", "t", KINDNESS)).iter("text")]
    named = [text for text in texts if re.match(r"P\d+ ", text)]
    assert len(named) == (3 if marked else 1)
    assert ("better" in marks(Swarm(rows, "place", "t", KINDNESS))) == bool(marked)


@pytest.mark.parametrize("width", [1000, 640, 350])
def test_names_of_a_swarm_stay_inside_and_off_their_intervals(width: int) -> None:
    wide = {"low": -60.0, "high": 60.0}
    rows = [dot(f"A country of a long name, {k}", k - 100, marked=False) | wide for k in range(200)]
    drawing = draw(Swarm(rows, "place", "t", KINDNESS), width)
    named = [each for each in drawing.iter("text") if (each.text or "").startswith("A country")]
    lines = [float(each.attrib["y1"]) for each in drawing.iter("line") if each.attrib["class"] == "mute"]
    for text in named:
        ends = float(text.attrib["x"]) + measure_text(text.text or "", 13.5, bold=True)
        assert float(text.attrib["x"]) >= 0 and ends <= width + 1
        assert all(abs(float(text.attrib["y"]) - y) > 4 for y in lines)
    assert len(named) == 2 and Swarm(rows, "place", "t", KINDNESS).draw(width).height < 400


def test_a_swarm_of_shares_stands_where_the_shares_are() -> None:
    rows = [dot("P", 0.2, marked=True) | {"low": 0.1, "high": 0.3, "after": 0.5}]
    rows += [dot(f"Q{k}", 0.0, marked=False) | {"after": 0.3} for k in range(30)]
    texts = [each.text for each in draw(Swarm(rows, "place", "t", HATE, "after", 0.3)).iter("text")]
    assert "P 50.0 %" in texts and "30 %" in texts


def test_nothing_has_a_colour_where_nothing_is_distinguishable() -> None:
    for count in (3, 60):
        rows = [dot(f"P{k}", k - 1.0, marked=False) for k in range(count)]
        order = [row["place"] for row in rows]
        pictures: list[Picture] = [
            dots(rows, label="place", title="t", order=order, valence=HATE),
            Swarm(rows, "place", "t", HATE),
        ]
        for picture in pictures:
            assert {each.attrib["class"] for each in draw(picture).iter() if "class" in each.attrib}.isdisjoint(
                {"worse", "better"}
            )


def test_a_shorter_picture_keeps_what_stands_out_and_both_ends() -> None:
    rows = [dot(f"P{k}", -k, marked=k in (7, 8)) for k in range(17)]
    picture = dots(rows, label="place", title="t", order=[row["place"] for row in rows])
    assert picture.shorten(6).order == ["P0", "P1", "P7", "P8", "P15", "P16"]
    assert picture.shorten(6).ends == picture.ends and picture.shorten(17) is picture
    assert picture.shorten(1).order == ["P7"]


def test_the_frame_holds_title_caveat_and_source() -> None:
    frame = draw_frame(
        Bars([Change("a", 1)], "t"), 350, title="A <title>", note="A caveat.", source="here", claim="Quote me."
    )
    texts = [each.text for each in ElementTree.fromstring(f"<svg>{frame.svg}</svg>").iter("text")]
    assert {"A <title>", "A caveat.", "Source: here", "Quote me."} <= set(texts) and frame.height > 80


def measure(*estimates: tuple[str, float, float | None]) -> MapPicture:
    rows = {code: Estimate(value, value - 1, value + 1, p, p) for code, value, p in estimates}
    return MapPicture(
        MapMeasure("m", "points", "", rows, "the mean", centre=0, tone=-1), {"FR": "France", "TD": "Chad"}
    )


def test_a_map_has_colours_only_where_something_stands_out() -> None:
    svg = draw(measure(("FR", 9.0, 0.01), ("TD", -2.0, 0.01), ("BR", 5.0, 0.4)))
    kinds = {each.attrib["href"]: each.attrib["class"] for each in svg.iter("use")}
    assert kinds["#shape-FR"] == "worse-3" and kinds["#shape-TD"] == "better-1"
    assert kinds["#shape-BR"] == "land" and kinds["#shape-AU"] == "empty"
    assert any((each.text or "").startswith("France") for each in svg.iter("text"))


@pytest.mark.parametrize(("p", "said"), [(0.9, "No country stands out"), (None, "Not tested")])
def test_a_null_is_written_on_the_map(p: float | None, said: str) -> None:
    texts = [each.text for each in draw(measure(("FR", 9.0, p))).iter("text")]
    assert said in texts and not any((text or "").startswith("France") for text in texts)


def test_steps_and_labels_of_a_map() -> None:
    assert choose_limits([0.3, -9.0]) == [2.5, 5.0] and choose_limits([]) == []
    (x, y), (width, height) = place_point((0, 0)), list_size()
    assert 0.4 * width < x < 0.55 * width and 0.4 * height < y < 0.7 * height
    sahara, atlantic = place_point((15, 20)), place_point((-35, 25))
    assert (
        find_land()[int(sahara[1] / 4), int(sahara[0] / 4)]
        and not find_land()[int(atlantic[1] / 4), int(atlantic[0] / 4)]
    )
    spots = place_labels([sahara, sahara], [60, 60], 12)
    assert None not in spots and spots[0] != spots[1]
