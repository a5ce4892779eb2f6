"""`geobias space`: how near the model holds the names of countries, beside where they lie (HERB's Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from geobias.audits.country_map.values import country_names
from geobias.audits.country_space.figure import PLANE, PURITY, space_chart
from geobias.audits.pages import read_run, write_page
from geobias.checks import HIGHEST_SEED, check_number
from geobias.errors import InputError
from geobias.measures.neighbours import Purity, nearest_neighbours, purity, unit_vectors
from geobias.measures.umap_plane import umap_plane
from geobias.models.load import load_weights
from geobias.models.scorer import ModelIdentity
from geobias.report.figures import save_chart
from geobias.report.run_folder import PAGE, add_to_run
from geobias.report.runs import shown
from geobias.report.tables import console, save_csv
from geobias.world.shapes import load_countries

MAX_NEIGHBOURS = 1_000  # more than there are countries
MIN_COUNTRIES = 8  # UMAP cannot lay out fewer


@dataclass(frozen=True)
class DrawnSpace:
    """How many of a country's nearest are on its continent, and the files that were written."""

    neighbours: int
    full_space: Purity
    plane: Purity
    files: list[Path]


def draw_space(folder: Path, *, neighbours: int = 10, seed: int = 0) -> DrawnSpace:
    """Add the plane of a model's representations of country names to a finished regions run."""
    run = read_run(folder, ["regions"])
    names = country_names(run.result)
    fewest = max(MIN_COUNTRIES, neighbours + 2)
    check_number("--neighbours", neighbours, 2, MAX_NEIGHBOURS)
    if len(names) < fewest:
        raise InputError(
            f"{len(names)} countries are too few for {neighbours} neighbours: give a run of at least {fewest}, or "
            "fewer --neighbours."
        )
    check_number("--seed", seed, 0, HIGHEST_SEED)
    points = _represent(run.result.model, list(names.values()))
    continents = [load_countries()[code].continent_name for code in names]
    positions = umap_plane(points, neighbours=neighbours, seed=seed)
    in_full_space = purity(nearest_neighbours(unit_vectors(points), neighbours), continents, seed=seed)
    on_plane = purity(nearest_neighbours(positions, neighbours), continents, seed=seed)
    rows = [
        {"code": code, "country": name, "continent": continent, "x": float(x), "y": float(y)}
        for (code, name), continent, (x, y) in zip(names.items(), continents, positions, strict=True)
    ]
    subtitle = [
        "Left: the model's representations of the countries' bare names, laid on a plane by UMAP, which distorts them. "
        "Right: the world.",
        _describe(in_full_space, neighbours),
    ]
    chart = space_chart(rows, f"Countries as {run.result.model.short_name} holds them, and as they lie", subtitle)
    purities = [
        {"space": space, "neighbours": neighbours, **asdict(measured)}
        for space, measured in (("full space", in_full_space), ("plane", on_plane))
    ]
    with add_to_run(folder) as staging:
        files = save_chart(chart, staging / "figures" / "space")
        for name, content in ((PLANE, rows), (PURITY, purities)):
            files.append(staging / "tables" / name)
            save_csv(files[-1], content)
    with add_to_run(folder) as page_staging:
        write_page(page_staging / PAGE, [run])  # which shows the plane too
    return DrawnSpace(neighbours, in_full_space, on_plane, [folder / file.relative_to(staging) for file in files])


def show(drawn: DrawnSpace) -> None:
    out = console()
    out.print(_describe(drawn.full_space, drawn.neighbours))
    out.print(f"On the plane of the figure, which is not to be trusted: {drawn.plane.purity:.0%}.", style="dim")
    for file in drawn.files:
        out.print(str(shown(file)), soft_wrap=True)


def _represent(identity: ModelIdentity, names: Sequence[str]) -> np.ndarray:
    """The vectors of the names by the run's model; another model of the same name is refused."""
    if identity.architecture is None or identity.dtype is None:
        raise InputError(
            f"This run asked a scorer of your own ({identity.name}), which has no hidden layers to look at."
        )
    try:
        model = load_weights(identity.name, dtype=identity.dtype)
    except InputError as error:
        raise InputError(f"{error} The run names its model as it was given then: go to that folder.") from None
    if model.scorer(identity.score).fingerprint != identity.fingerprint:
        raise InputError(f"{identity.name} is no longer the model of this run: run `geobias regions` anew with it.")
    points = model.representations(names)
    empty = [name for name, point in zip(names, points, strict=True) if np.isnan(point).any()]
    if empty:
        raise InputError(
            f"{identity.name} reads nothing in the name {empty[0]!r}: give a run with names that it can read."
        )
    return points


def _describe(measured: Purity, neighbours: int) -> str:
    return (
        f"Of the {neighbours} countries nearest to a country, {measured.purity:.0%} are on its continent; by chance it "
        f"would be {measured.chance:.0%} (p = {measured.p_value:.3f})."
    )
