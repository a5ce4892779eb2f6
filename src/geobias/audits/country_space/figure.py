"""The countries as a model holds them, on a plane, beside the world's map in the same colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from geobias.report.colours import INK
from geobias.report.figures import continent_colour, continent_map, framed
from geobias.world.shapes import load_countries

PLANE, PURITY = "space.csv", "space-purity.csv"  # tables that join a run
SIDE = 380  # pixels of the square plane
MARGIN = 0.06  # of its side, left free around the points
LETTER, LINE = 5.4, 12  # pixels of an average letter of a label, and of its line


def space_chart(rows: Sequence[Mapping[str, Any]], title: str, lines: Sequence[str]) -> Any:
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
    scale = alt.Scale(domain=[0, SIDE], nice=False)
    colour = continent_colour(legend=alt.Legend(orient="top", symbolType="circle", symbolOpacity=1))
    plane = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("x:Q", scale=scale, axis=None), y=alt.Y("y:Q", scale=scale, axis=None)
    )
    dots = plane.mark_circle(size=42, opacity=0.9).encode(
        color=colour, tooltip=[alt.Tooltip("name:N"), alt.Tooltip("value:N", title="continent")]
    )
    labels = plane.mark_text(align="left", dx=5, fontSize=9, color=INK).encode(text="label:N")
    square = alt.layer(dots, labels).properties(width=SIDE, height=SIDE)
    world = continent_map({row["code"]: row["country"] for row in rows}, colour)
    return framed(alt.hconcat(square, world, spacing=24), title, lines)


def _pixels(points: np.ndarray) -> np.ndarray:
    """One scale for both axes, the cloud in the middle of the square."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = (1 - 2 * MARGIN) * SIDE / (high - low).max()
    return (points - (low + high) / 2) * size + SIDE / 2


def _with_room(rows: Sequence[Mapping[str, Any]], places: np.ndarray) -> set[int]:
    """Whose names can be written without touching another name or point; large countries first."""
    countries = load_countries()
    boxes: list[tuple[float, float, float, float]] = []
    labelled = set()
    for i in sorted(range(len(rows)), key=lambda i: -countries[rows[i]["code"]].area):
        x, y = places[i]
        left, right = x + 4, x + 8 + LETTER * len(rows[i]["country"])
        low, high = y - LINE / 2, y + LINE / 2
        inside = (places[:, 0] > left - 3) & (places[:, 0] < right) & (places[:, 1] > low) & (places[:, 1] < high)
        inside[i] = False
        clear = all(right < a or left > b or high < c or low > d for a, b, c, d in boxes)
        if clear and right < SIDE and not inside.any():
            boxes.append((left, right, low, high))
            labelled.add(i)
    return labelled
