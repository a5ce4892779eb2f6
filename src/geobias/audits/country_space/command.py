"""`geobias space`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.options import Debug, RegionsRun


def space(
    run: RegionsRun,
    neighbours: Annotated[int, typer.Option(help="How many nearest countries are looked at.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the layout and of what chance gives.")] = 0,
    debug: Debug = False,
) -> None:
    """Does the model of a finished regions run hold countries of one continent together? (HERB's Figure 3)

    Its representations of their names on a plane, beside the real map; and how many of a country's nearest are on
    its continent. Needs umap-learn, which the extra "space" installs.
    """
    from geobias.audits.country_space.draw import draw_space, show

    show(draw_space(run, neighbours=neighbours, seed=seed))
