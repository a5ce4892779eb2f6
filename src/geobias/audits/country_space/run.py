"""`geobias space`: how near the model holds the names of countries, beside where they lie (HERB's Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.country_map.values import countries_of, model_name
from geobias.audits.country_space.figure import PLANE, PURITY, space_chart
from geobias.checks import HIGHEST_SEED, check_number
from geobias.errors import InputError
from geobias.measures.neighbours import Purity, directions, nearest, purity
from geobias.measures.plane import plane
from geobias.models.fast import PLAIN_SUFFIX
from geobias.models.scorer import load_weights
from geobias.report import runs
from geobias.report.charts import save_chart
from geobias.report.page.build import read, write_page
from geobias.report.run_folder import PAGE, add_to_run
from geobias.report.tables import console, save_csv
from geobias.world.shapes import countries

MOST_NEIGHBOURS = 1_000  # more than there are countries
FEWEST = 8  # countries; UMAP cannot lay out fewer


def run_space(run: Path, *, neighbours: int, seed: int) -> None:
    results = runs.read_run(run, "regions")
    names = countries_of(results)
    fewest = max(FEWEST, neighbours + 2)
    check_number("--neighbours", neighbours, 2, MOST_NEIGHBOURS)
    if len(names) < fewest:
        raise InputError(
            f"{len(names)} countries are too few for {neighbours} neighbours: give a run of at least {fewest}, or "
            "fewer --neighbours."
        )
    check_number("--seed", seed, 0, HIGHEST_SEED)
    points = _representations(results["model"], list(names.values()))
    continents = [countries()[code].continent_name for code in names]
    laid = plane(points, neighbours=neighbours, seed=seed)
    found = {
        "full space": purity(nearest(directions(points), neighbours), continents, seed=seed),
        "plane": purity(nearest(laid, neighbours), continents, seed=seed),
    }
    rows = [
        {"code": code, "country": name, "continent": continent, "x": float(x), "y": float(y)}
        for (code, name), continent, (x, y) in zip(names.items(), continents, laid, strict=True)
    ]
    lines = [
        "Left: the model's representations of the countries' bare names, laid on a plane by UMAP, which distorts them. "
        "Right: the world.",
        _said(found["full space"], neighbours),
    ]
    chart = space_chart(rows, f"Countries as {model_name(results)} holds them, and as they lie", lines)
    numbers = [{"space": space, "neighbours": neighbours, **asdict(each)} for space, each in found.items()]
    with add_to_run(run) as staging:
        files = save_chart(chart, staging / "figures" / "space")
        for name, content in ((PLANE, rows), (PURITY, numbers)):
            files.append(staging / "tables" / name)
            save_csv(files[-1], content)
    with add_to_run(run) as page_staging:
        write_page(page_staging / PAGE, read(run))  # which shows the plane too
    out = console()
    out.print(_said(found["full space"], neighbours))
    out.print(f"On the plane of the figure, which is not to be trusted: {found['plane'].purity:.0%}.", style="dim")
    for file in files:
        out.print(str(runs.shown(run / file.relative_to(staging))), soft_wrap=True)


def _representations(about: Mapping[str, Any], names: Sequence[str]) -> np.ndarray:
    """What the run's own model makes of the names; another model of the same name is refused."""
    if "architecture" not in about:
        raise InputError(
            f"This run asked a scorer of your own ({about['name']}), which has no hidden layers to look at."
        )
    try:
        model = load_weights(about["name"], dtype=about["dtype"])
    except InputError as error:
        raise InputError(f"{error} The run names its model as it was given then: go to that folder.") from None
    fingerprints = (model.scorer(about["score"]).fingerprint, about["fingerprint"])
    if len({str(fingerprint).removesuffix(PLAIN_SUFFIX) for fingerprint in fingerprints}) > 1:
        raise InputError(f"{about['name']} is no longer the model of this run: run `geobias regions` anew with it.")
    points = model.representations(names)
    empty = [name for name, point in zip(names, points, strict=True) if np.isnan(point).any()]
    if empty:
        raise InputError(
            f"{about['name']} reads nothing in the name {empty[0]!r}: give a run with names that it can read."
        )
    return points


def _said(found: Purity, neighbours: int) -> str:
    return (
        f"Of the {neighbours} countries nearest to a country, {found.purity:.0%} are on its continent; by chance it "
        f"would be {found.chance:.0%} (p = {found.p_value:.3f})."
    )
