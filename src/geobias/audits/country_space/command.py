"""`geobias space`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.options import Debug, RegionsRun


def space(
    run: RegionsRun,
    neighbours: Annotated[int, typer.Option(help="Number of nearest countries to count.")] = 10,
    seed: Annotated[int, typer.Option(help="Random seed for the layout and the permutations.")] = 0,
    debug: Debug = False,
) -> None:
    """Measure whether a model represents countries of one continent close together (HERB's Figure 3).

    Reports how many of a country's nearest neighbours are on its continent, and plots the representations of a finished
    regions run next to the real map. Needs umap-learn: pip install 'geobias[space]'.
    """
    from geobias.audits.country_space.draw import draw_space

    draw_space(run, neighbours=neighbours, seed=seed)
