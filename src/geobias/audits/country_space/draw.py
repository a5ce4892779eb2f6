"""`geobias space`: the model's embeddings of country names next to the world map (HERB's Figure 3)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from huggingface_hub.constants import HF_HUB_CACHE
from huggingface_hub.file_download import repo_folder_name

from geobias.audits.country_map.draw import country_names
from geobias.audits.country_space.charts import PLANE, PURITY, describe_purity, space_figure
from geobias.audits.pages import read_run, reads_runs, write_page
from geobias.checks import HIGHEST_SEED, check_number
from geobias.errors import InputError
from geobias.measures.neighbours import nearest_neighbours, purity, umap_plane, unit_vectors
from geobias.models.load import load_weights
from geobias.models.scorer import ModelIdentity
from geobias.models.sources import locate_weights
from geobias.report.figures import save_chart
from geobias.report.run_folder import PAGE, add_to_run
from geobias.report.runs import shown
from geobias.report.tables import console, save_csv
from geobias.world.shapes import load_countries

MAX_NEIGHBOURS = 1_000  # more than there are countries
MIN_COUNTRIES = 8  # UMAP cannot lay out fewer


@reads_runs
def draw_space(folder: Path, *, neighbours: int = 10, seed: int = 0) -> None:
    """Add the plane of a model's representations of country names to a finished regions run, and print its purity."""
    run = read_run(folder, ["regions"])
    names = country_names(run.result)
    fewest = max(MIN_COUNTRIES, neighbours + 2)
    check_number("--neighbours", neighbours, 2, MAX_NEIGHBOURS)
    if len(names) < fewest:
        raise InputError(
            f"{len(names)} countries are too few for {neighbours} neighbours. Use a run with at least {fewest}, or "
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
    description = describe_purity(in_full_space, neighbours)
    method = (
        "Left: the model's representations of the countries' bare names, laid on a plane by UMAP, which distorts them. "
        "Right: the world."
    )
    title = f"Countries in the embedding space of {run.result.model.short_name}, and on the map"
    purities = [
        {"space": space, "neighbours": neighbours, **asdict(numbers)}
        for space, numbers in (("full space", in_full_space), ("plane", on_plane))
    ]
    with add_to_run(folder) as staging:
        files = save_chart(space_figure(rows, title, [method, description]), staging / "figures" / "space")
        for name, content in ((PLANE, rows), (PURITY, purities)):
            files.append(staging / "tables" / name)
            save_csv(files[-1], content)
    with add_to_run(folder) as page_staging:
        write_page(page_staging / PAGE, [run])  # which shows the plane too
    out = console()
    out.print(description)
    out.print(f"In the two-dimensional plot, which distorts distances: {on_plane.purity:.0%}.", style="dim")
    for file in files:
        out.print(str(shown(folder / file.relative_to(staging))), soft_wrap=True)


def _refuse_download(name: str) -> None:
    """Refuse a model of the hub that was never downloaded: the run, a file, must not choose what is."""
    if locate_weights(name) != name or os.path.exists(name):  # bundled, or on this machine
        return
    repository = name.partition(":")[0]  # of owner/name:file.gguf
    if not Path(HF_HUB_CACHE, repo_folder_name(repo_id=repository, repo_type="model")).is_dir():
        raise InputError(f"The model of this run is not on this machine: download it with `hf download {repository}`.")


def _represent(identity: ModelIdentity, names: Sequence[str]) -> np.ndarray:
    """The vectors of the names by the run's model; another model of the same name is refused."""
    if identity.architecture is None or identity.dtype is None:
        raise InputError(f"This run used your own scorer ({identity.name}), which has no hidden layers.")
    try:
        _refuse_download(identity.name)
        model = load_weights(identity.name, dtype=identity.dtype)
    except InputError as error:
        raise InputError(
            f"{error} If the run used a relative path, change to the folder where it was started."
        ) from None
    if model.fingerprint != (identity.fingerprint or "").split(":")[0]:  # of the weights, whatever their scores
        raise InputError(f"{identity.name} has changed since this run. Run `geobias regions` again.")
    points = model.representations(names)
    empty = [name for name, point in zip(names, points, strict=True) if np.isnan(point).any()]
    if empty:
        raise InputError(f"{identity.name} has no tokens for the name {empty[0]!r}. Use a run without it.")
    return points
