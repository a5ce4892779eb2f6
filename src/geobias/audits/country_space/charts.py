"""The model's embeddings of country names on a plane: a figure next to the world map, and a chart of the run's page."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from geobias.errors import InputError
from geobias.measures.neighbours import Purity
from geobias.report.colours import INK
from geobias.report.figures import continent_colour, continent_map, framed
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.charts import bare_spec
from geobias.world.shapes import load_countries

PLANE, PURITY = "space.csv", "space-purity.csv"  # tables that join a run
SIDE = 380  # pixels of the square plane
MARGIN = 0.06  # of its side, left free around the points
LETTER, LINE = 5.4, 12  # pixels of an average letter of a label, and of its line
PAGE_HEIGHT = 460
COLOUR = continent_colour(legend=alt.Legend(orient="top", symbolType="circle", symbolOpacity=1))


def space_figure(rows: Sequence[Mapping[str, Any]], title: str, lines: Sequence[str]) -> Any:
    """`rows` have code, country, continent, x and y. Names stand where there is room; the page's tooltips have all."""
    places = _pixels(np.array([[row["x"], row["y"]] for row in rows]))
    labelled = _with_room(rows, places)
    points = [
        {
            "name": row["country"],
            "value": row["continent"],
            "x": float(x),
            "y": float(y),
            "label": row["country"] if i in labelled else "",
        }
        for i, (row, (x, y)) in enumerate(zip(rows, places, strict=True))
    ]
    plane = _plane(points, alt.Scale(domain=[0, SIDE], nice=False))
    labels = plane.mark_text(align="left", dx=5, fontSize=9, color=INK).encode(text="label:N")
    square = alt.layer(_dots(plane, "name", 42), labels).properties(width=SIDE, height=SIDE)
    world = continent_map({row["code"]: row["country"] for row in rows}, COLOUR)
    return framed(alt.hconcat(square, world, spacing=24), title, lines)


def space_charts(folder: Path, name: str) -> Iterator[Chart]:
    """One chart for the page, where `geobias space` has left a plane in the run."""
    plane, purity = folder / "tables" / PLANE, folder / "tables" / PURITY
    if not plane.is_file():
        return
    points: list[Row] = [
        {**row, "x": float(row["x"]), "y": float(row["y"])} for row in _read(plane, "country", "continent", "x", "y")
    ]
    summary = ""
    if purity.is_file():
        full_space = _read(purity, "neighbours", "purity", "chance", "p_value")[0]  # the second row's plane distorts
        numbers = Purity(*(float(full_space[key]) for key in ("purity", "chance", "p_value")))
        summary = describe_purity(numbers, full_space["neighbours"], " in the model's whole space")
    values = [{"country": row["country"], "value": row["continent"], "x": row["x"], "y": row["y"]} for row in points]
    dots = _dots(_plane(values, alt.Scale(zero=False, padding=16)), "country", 70)
    yield Chart(
        f"{name}-space",
        "Countries in the model's embedding space",
        "Each point is the model's embedding of a country's name, projected to a plane, which distorts distances. "
        + summary,
        f"{len(points)} countries as points, coloured by continent. {summary}",
        bare_spec(dots.properties(width="container", height=PAGE_HEIGHT)),
        points,
    )


def describe_purity(numbers: Purity, neighbours: int | str, where: str = "") -> str:
    return (
        f"Of the {neighbours} countries nearest to a country{where}, {numbers.purity:.0%} are on its continent; by "
        f"chance it would be {numbers.chance:.0%} (p = {numbers.p_value:.3f})."
    )


def _plane(points: Sequence[Row], scale: alt.Scale) -> alt.Chart:
    x, y = alt.X("x:Q", scale=scale, axis=None), alt.Y("y:Q", scale=scale, axis=None)
    return alt.Chart(alt.InlineData(values=points)).encode(x=x, y=y)


def _dots(plane: alt.Chart, name: str, size: int) -> alt.Chart:
    tooltip = [alt.Tooltip(f"{name}:N"), alt.Tooltip("value:N", title="continent")]
    return plane.mark_circle(size=size, opacity=0.9).encode(color=COLOUR, tooltip=tooltip)


def _pixels(points: np.ndarray) -> np.ndarray:
    """One scale for both axes, the cloud in the middle of the square."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = (1 - 2 * MARGIN) * SIDE / (high - low).max()
    return (points - (low + high) / 2) * size + SIDE / 2


def _with_room(rows: Sequence[Mapping[str, Any]], places: np.ndarray) -> set[int]:
    """Whose names can be written without touching another name or point; large countries first."""
    countries = load_countries()
    boxes: dict[int, tuple[float, float, float, float]] = {}
    for i in sorted(range(len(rows)), key=lambda i: -countries[rows[i]["code"]].area):
        x, y = places[i]
        left, right = x + 4, x + 8 + LETTER * len(rows[i]["country"])
        low, high = y - LINE / 2, y + LINE / 2
        inside = (places[:, 0] > left - 3) & (places[:, 0] < right) & (places[:, 1] > low) & (places[:, 1] < high)
        inside[i] = False
        clear = all(right < a or left > b or high < c or low > d for a, b, c, d in boxes.values())
        if clear and right < SIDE and not inside.any():
            boxes[i] = (left, right, low, high)
    return set(boxes)


def _read(path: Path, *needed: str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or any(key not in rows[0] for key in needed):
        raise InputError(f"{path} is damaged. Run `geobias space` again.")
    return rows
