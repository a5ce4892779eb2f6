"""The charts of the page: colours mean better or worse, what is not clear fades, what rests on little has no colour."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from geobias.report.colours import DARK_TONES, FADING, LIGHT_TONES, THEMES, mix
from geobias.report.page.blocks import Row
from geobias.report.page.charts import Valence, dots, heat, place_ratio_ticks, ratio_heat

KINDNESS = Valence(1, "kinder", "harsher")
PAPER = {"light": "#fdfdfb", "dark": "#191918"}  # of page.css


def dot(country: str, value: float, *, marked: bool) -> Row:
    return {
        "country": country,
        "value": value,
        "low": value - 1,
        "high": value + 1,
        "p_adjusted": 0.5,
        "marked": marked,
    }


def cell(label: str, value: float | None, *, marked: bool = False, text: str = "") -> Row:
    return {"country": "A", "class": label, "value": value, "low": None, "high": None, "p_adjusted": None,
            "marked": marked, "text": text}  # fmt: skip


def paint_dots(values: dict[str, tuple[float, bool]], valence: Valence, centre: float = 0) -> dict[str, Any]:
    """Of each row its stroke, and the lines of the legend with their colours."""
    rows = [dot(name, value, marked=marked) for name, (value, marked) in values.items()]
    spec = dots(rows, label="country", title="t", order=list(values), valence=valence, centre=centre)
    point = spec["layer"][-1]["encoding"]
    scale = point["stroke"]["scale"]
    colours = dict(zip(scale["domain"], (each["expr"] for each in scale["range"]), strict=True))
    hollow = {
        meaning: fill == "transparent"
        for meaning, fill in zip(point["fill"]["scale"]["domain"], point["fill"]["scale"]["range"], strict=True)
    }
    data = {row["country"]: row["meaning"] for rows in spec["datasets"].values() for row in rows if "country" in row}
    return {name: (meaning, colours[meaning], hollow[meaning]) for name, meaning in data.items()}


def test_dots_are_better_or_worse_and_fade_where_they_are_not_clear() -> None:
    values = {"A": (2.0, True), "B": (1.0, False), "C": (-1.0, False), "D": (-2.0, True)}
    assert paint_dots(values, KINDNESS) == {
        "A": ("kinder: clear", "better", False),
        "B": ("kinder: not clear", "pale_better", True),
        "C": ("harsher: not clear", "pale_worse", True),
        "D": ("harsher: clear", "worse", False),
    }


def test_more_of_a_bad_class_is_worse_and_a_class_without_valence_is_neutral() -> None:
    values = {"A": (2.0, True), "B": (-2.0, True)}
    hate = paint_dots(values, Valence(-1, "hate likelier", "hate less likely"))
    assert hate["A"][:2] == ("hate likelier: clear", "worse") and hate["B"][1] == "better"
    topic = paint_dots(values, Valence(0, "sports likelier", "sports less likely"))
    assert {colour for _, colour, _ in topic.values()} == {"neutral"}


def test_dots_are_judged_by_their_distance_from_the_centre() -> None:
    assert paint_dots({"A": (95.0, True), "B": (85.0, True)}, KINDNESS, centre=90)["B"][1] == "worse"


def test_without_a_valence_there_is_no_legend() -> None:
    spec = dots([dot("A", 1, marked=True)], label="country", title="t", order=["A"])
    assert spec["layer"][-1]["encoding"]["stroke"]["legend"] is None


def cells(rows: list[Row], tones: dict[str, int]) -> tuple[dict[str, Any], dict[str, float | None]]:
    """The chart, and the shade of every cell by class."""
    spec = heat(rows, across="class", down="country", columns=tones, order=["A"])
    return spec, {row["class"]: row["shade"] for rows in spec["datasets"].values() for row in rows}


def test_cells_have_the_tone_of_their_class_not_of_more() -> None:
    tones = {"negative": -1, "positive": 1, "neutral": 0}
    _, more = cells([cell(label, 10, marked=True) for label in tones], tones)
    assert more == {"negative": -1, "positive": 1, "neutral": 1}
    _, fewer = cells([cell(label, -10, marked=True) for label in tones], tones)
    assert fewer == {"negative": 1, "positive": -1, "neutral": 1}


def test_cells_that_are_not_clear_fade_below_the_palest_clear_one() -> None:
    _, shades = cells([cell("a", 20), cell("b", 0.1, marked=True), cell("c", 5)], {"a": 1, "b": 1, "c": 1})
    assert shades["b"] is not None and shades["a"] is not None and shades["c"] is not None
    assert 0 < shades["c"] < shades["a"] < 0.25 < shades["b"]


def test_a_cell_without_a_value_has_words_and_no_colour() -> None:
    spec, shades = cells([cell("a", None, text="too few"), cell("b", 3)], {"a": -1, "b": 1})
    assert shades["a"] is None
    rectangles = [layer for layer in spec["layer"] if layer["mark"]["type"] == "rect"]
    data = [row["class"] for layer in rectangles for row in spec["datasets"][layer["data"]["name"]]]
    assert data == ["b"]
    texts = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    assert [spec["datasets"][layer["data"]["name"]][0]["text"] for layer in texts] == ["", "too few"]


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(first: str, second: str) -> float:
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("theme", "tones"), [("light", LIGHT_TONES), ("dark", DARK_TONES)])
def test_clear_colours_stand_out_and_pale_ones_can_still_be_seen(theme: str, tones: dict[str, str]) -> None:
    paper, params = PAPER[theme], {each["name"]: each["value"] for each in THEMES[theme]["params"]}
    for tone, colour in tones.items():
        pale = params[f"pale_{tone}"]
        assert pale == mix(colour, paper, FADING)
        assert contrast(colour, paper) > 3 and 1.8 < contrast(pale, paper) < contrast(colour, paper)
    assert all(first != second for first, second in combinations(params.values(), 2))
    for ink in ("ink", "soft"):
        assert contrast(params[ink], paper) > 4.5


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.95, 1.04, [1.02**k for k in range(-3, 3)]),
        (0.6, 1.5, [1.2**k for k in range(-3, 4)]),
        (0.19, 6.2, [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8]),
        (3, 9, [1, 2, 4, 8, 16]),
        (1e-30, 1e30, [1e-32, 1e-28]),
    ],
)
def test_ticks_of_ratios_enclose_the_values_and_1(low: float, high: float, ticks: list[float]) -> None:
    placed = place_ratio_ticks(low, high)
    assert placed[: len(ticks)] == pytest.approx(ticks) and 1.0 in placed
    assert placed[0] <= low and placed[-1] >= high and len(placed) <= 17


def test_ratios_have_a_logarithmic_axis_around_1() -> None:
    rows = [dot("A", 4.0, marked=True), {**dot("B", 0.5, marked=True), "low": 0.4}]
    spec = dots(rows, label="country", title="t", order=["A", "B"], valence=KINDNESS, is_ratio=True)
    x = spec["layer"][-1]["encoding"]["x"]
    assert x["scale"]["type"] == "log" and x["scale"]["domain"] == pytest.approx([0.25, 8])
    paints = {row["country"]: row["paint"] for rows in spec["datasets"].values() for row in rows if "country" in row}
    assert paints == {"A": "better", "B": "worse"}


def test_cells_of_ratios_are_empty_unless_marked() -> None:
    values = {"a": (4.0, True), "b": (0.25, True), "c": (2.0, True), "d": (9.0, False)}
    rows = [cell(label, value, marked=marked, text=str(value)) for label, (value, marked) in values.items()]
    spec = ratio_heat(rows, across="class", down="country", columns=list(values), order=["A"])
    shades = {row["class"]: row["shade"] for row in next(iter(spec["datasets"].values()))}
    assert shades["a"] == 1 and shades["b"] == -1 and 0.45 < shades["c"] < 1 and shades["d"] == 0
