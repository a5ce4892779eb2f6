"""HERB, Figure 3: the space of country names in a model, beside the world (section 4.3).

The representation of a country is the mean of the model's last hidden layer over its bare name. UMAP lays them on a
plane, which distorts distances. So the claim, that countries of a continent lie together, is measured in the whole
space: the share of a country's ten nearest neighbours, by cosine, that are on its continent, against chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.measures.grouping import nearest_neighbours, purity, unit_vectors
from geobias.models.load import load_weights
from geobias.papers.tables import Reproduction, choose_countries
from geobias.world.countries import load_countries

TITLE = "countries in the space of a model, and in the world"
NEIGHBOURS, FEWEST = 10, 12  # UMAP and the neighbours need a few more countries than neighbours
SIDE, MARGIN = 380, 0.06  # pixels of the plane, and the share of it left free around the points
LETTER, LINE = 5.4, 12  # pixels of an average letter of a label, and of its line


def measure(
    model: str = "bert-base-cased",
    *,
    countries: str | Sequence[str] = (),
    seed: int = 0,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """The plane of one model, and the purity of its neighbourhoods."""
    regions = choose_countries(countries)
    if len(regions) < FEWEST:
        raise InputError(f"{len(regions)} countries are too few for {NEIGHBOURS} neighbours. Use at least {FEWEST}.")
    lm = load_weights(model, device=device, dtype="float32")
    points = lm.representations([region.name for region in regions])
    for region, point in zip(regions, points, strict=True):
        if np.isnan(point).any():
            raise InputError(f"{model} has no tokens for the name {region.name!r}. Leave it out of --countries.")
    continents = [load_countries()[region.id].continent_name for region in regions]
    numbers = purity(nearest_neighbours(unit_vectors(points), NEIGHBOURS), continents, seed=seed)
    plane, method = lay_out(points, seed)
    description = (
        f"Of the {NEIGHBOURS} countries nearest to a country in the model's whole space, {numbers.purity:.0%} are on "
        f"its continent; by chance it would be {numbers.chance:.0%} (p = {numbers.p_value:.3f})."
    )
    rows = [
        {"code": region.id, "country": region.name, "continent": continent, "x": float(x), "y": float(y)}
        for region, continent, (x, y) in zip(regions, continents, plane, strict=True)
    ]
    return Reproduction(
        title=TITLE,
        models=[lm.scorer(None).identity()],
        numbers=rows,
        chart=draw(rows, f"Countries in the embedding space of {lm.name}, and on the map", [method, description]),
        notes=[description, method],
    )


def lay_out(points: np.ndarray, seed: int) -> tuple[np.ndarray, str]:
    """The points on a plane, by UMAP as in the paper; without it by the first two components (SVD)."""
    try:
        import umap  # slow to import, and an extra
    except ImportError:
        centred = unit_vectors(points) - unit_vectors(points).mean(axis=0)
        left, values, _ = np.linalg.svd(centred, full_matrices=False)
        return left[:, :2] * values[:2], (
            "The plane shows the first two components (SVD), since umap-learn is not installed, with which the paper's "
            "is drawn: pip install '.[papers]'. It distorts distances."
        )
    with warnings.catch_warnings(action="ignore"):  # that a seed means one thread
        reducer = umap.UMAP(n_neighbors=NEIGHBOURS, metric="cosine", random_state=seed)
        plane = np.asarray(reducer.fit_transform(points), dtype=np.float64)
    return plane, "The plane is laid out by UMAP, as in the paper; it distorts distances."


def draw(rows: Sequence[dict[str, Any]], title: str, lines: Sequence[str]) -> Any:
    """The plane on the left, with names where there is room, and the world in the same colours on the right."""
    import altair as alt

    from geobias.report.colours import INK
    from geobias.report.figures import continent_colour, continent_map, framed

    places = np.array([[row["x"], row["y"]] for row in rows])
    low, high = places.min(axis=0), places.max(axis=0)
    places = (places - (low + high) / 2) * (1 - 2 * MARGIN) * SIDE / (high - low).max() + SIDE / 2
    labelled = find_room(rows, places)
    points = [
        {"name": row["country"], "value": row["continent"], "x": x, "y": y, "label": row["country"] * (k in labelled)}
        for k, (row, (x, y)) in enumerate(zip(rows, places.tolist(), strict=True))
    ]
    colour = continent_colour(legend=alt.Legend(orient="top", symbolType="circle", symbolOpacity=1))
    scale = alt.Scale(domain=[0, SIDE], nice=False)
    x, y = alt.X("x:Q", scale=scale, axis=None), alt.Y("y:Q", scale=scale, axis=None)
    plane = alt.Chart(alt.InlineData(values=points)).encode(x=x, y=y)
    tooltip = [alt.Tooltip("name:N"), alt.Tooltip("value:N", title="continent")]
    dots = plane.mark_circle(size=42, opacity=0.9).encode(color=colour, tooltip=tooltip)
    labels = plane.mark_text(align="left", dx=5, fontSize=9, color=INK).encode(text="label:N")
    world = continent_map({row["code"]: row["country"] for row in rows}, colour)
    return framed(alt.hconcat((dots + labels).properties(width=SIDE, height=SIDE), world, spacing=24), title, lines)


def find_room(rows: Sequence[dict[str, Any]], places: np.ndarray) -> set[int]:
    """Whose names can be written without touching another name or point; large countries first."""
    boxes: dict[int, tuple[float, float, float, float]] = {}
    for k in sorted(range(len(rows)), key=lambda k: -load_countries()[rows[k]["code"]].area):
        x, y = places[k]
        left, right, low, high = x + 4, x + 8 + LETTER * len(rows[k]["country"]), y - LINE / 2, y + LINE / 2
        inside = (places[:, 0] > left - 3) & (places[:, 0] < right) & (places[:, 1] > low) & (places[:, 1] < high)
        inside[k] = False
        if right < SIDE and not inside.any() and all(
            right < a or left > b or high < c or low > d for a, b, c, d in boxes.values()
        ):  # fmt: skip
            boxes[k] = (left, right, low, high)
    return set(boxes)
