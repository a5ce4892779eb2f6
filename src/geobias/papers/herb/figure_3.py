"""HERB, Figure 3: the space of country names in a model, beside the world (section 4.3).

The representation of a country is the mean of the model's last hidden layer over its bare name. UMAP lays them on a
plane, which distorts distances. So the claim, that countries of a continent lie together, is measured in the whole
space: the share of a country's ten nearest neighbours, by cosine, that are on its continent, against chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.errors import InputError
from geobias.measures.grouping import nearest_neighbours, purity, unit_vectors
from geobias.models.load import load_weights
from geobias.papers.tables import Reproduction, choose_countries
from geobias.world.countries import load_countries

if TYPE_CHECKING:
    from geobias.report.page.svg import Part

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
    title = f"Countries in the embedding space of {lm.name}, and on the map"
    return Reproduction(
        title=TITLE,
        models=[lm.scorer(None).identity()],
        numbers=rows,
        chart=draw(rows, title, [method, description], lm.name),
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


def draw(rows: list[dict[str, Any]], title: str, lines: Sequence[str], model: str) -> str:
    """The plane on the left, with names where there is room, and the world in the same colours on the right."""
    from geobias.papers.figures import CONTINENT_COLOURS, Beside, ColouredWorld, draw_figure

    colours = {row["code"]: CONTINENT_COLOURS[row["continent"]] for row in rows}
    world = ColouredWorld(colours, {row["code"]: f"{row['country']}, {row['continent']}" for row in rows})
    return draw_figure(title, Beside([(0.46, Plane(rows)), (0.54, world)]), lines, rows, model)


@dataclass(frozen=True)
class Plane:
    """Countries as dots in the colours of their continents."""

    rows: Sequence[dict[str, Any]] = field(repr=False)

    def draw(self, width: float) -> Part:
        from geobias.papers.figures import CONTINENT_COLOURS, paint_circle
        from geobias.report.page.svg import Part, draw_text, measure_text

        places = np.array([[row["x"], -row["y"]] for row in self.rows])
        low, high = places.min(axis=0), places.max(axis=0)
        places = (places - (low + high) / 2) * (1 - 2 * MARGIN) * SIDE / (high - low).max() + SIDE / 2
        parts, x, y = list[str](), 6.0, 8.0
        for continent in sorted({row["continent"] for row in self.rows}):
            needed = measure_text(continent, 12) + 26
            if x > 6 and x + needed > width:
                x, y = 6.0, y + 18
            parts.append(paint_circle(x, y, 4.4, CONTINENT_COLOURS[continent], continent))
            parts.append(draw_text(x + 9, y + 4, continent, "soft", 12))
            x += needed
        top, named = y + 12, find_room(self.rows, places)
        for k, (row, place) in enumerate(zip(self.rows, places.tolist(), strict=True)):
            tip, colour = f"{row['country']}, {row['continent']}", CONTINENT_COLOURS[row["continent"]]
            parts.append(paint_circle(place[0], top + place[1], 3.7, colour, tip))
            if k in named:
                parts.append(draw_text(place[0] + 5, top + place[1] + 3, row["country"], "ink", 9))
        return Part("".join(parts), top + SIDE)


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
