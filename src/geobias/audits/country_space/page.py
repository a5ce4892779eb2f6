"""What `geobias space` left in a regions run, on the page: the countries as the model holds them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import altair as alt

from geobias.audits.country_space.figure import PLANE, PURITY
from geobias.errors import InputError
from geobias.report.figures import continent_colour
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.charts import bare_spec

HEIGHT = 460


def space_charts(folder: Path, name: str) -> Iterator[Chart]:
    """One chart, where the run has a plane."""
    plane, purity = folder / "tables" / PLANE, folder / "tables" / PURITY
    if not plane.is_file():
        return
    points: list[Row] = [
        {**row, "x": float(row["x"]), "y": float(row["y"])} for row in _rows(plane, "country", "continent", "x", "y")
    ]
    numbers = list(_rows(purity, "neighbours", "purity", "chance", "p_value")) if purity.is_file() else []
    summary = _describe_purity(numbers[0]) if numbers else ""  # of the full space: the plane distorts
    yield Chart(
        f"{name}-space",
        "Countries as the model holds them",
        "Each point is a country's bare name, as the model represents it, laid on a plane that distorts distances. "
        + summary,
        f"{len(points)} countries as points, coloured by continent. {summary}",
        _spec(points),
        points,
    )


def _rows(path: Path, *needed: str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or any(key not in rows[0] for key in needed):
        raise InputError(f"{path} is damaged: make it again with `geobias space`.")
    return rows


def _describe_purity(row: dict[str, str]) -> str:
    purity, chance, p = (float(row[key]) for key in ("purity", "chance", "p_value"))
    return (
        f"Of the {row['neighbours']} countries nearest to a country in the model's whole space, {purity:.0%} are on "
        f"its continent; by chance it would be {chance:.0%} (p = {p:.3f})."
    )


def _spec(points: list[Row]) -> Row:
    scale = alt.Scale(zero=False, padding=16)
    values = [{"country": row["country"], "value": row["continent"], "x": row["x"], "y": row["y"]} for row in points]
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_circle(size=70, opacity=0.9)
        .encode(
            x=alt.X("x:Q", scale=scale, axis=None),
            y=alt.Y("y:Q", scale=scale, axis=None),
            color=continent_colour(legend=alt.Legend(orient="top", symbolType="circle", symbolOpacity=1)),
            tooltip=[alt.Tooltip("country:N"), alt.Tooltip("value:N", title="continent")],
        )
        .properties(width="container", height=HEIGHT)
    )
    return bare_spec(chart)
