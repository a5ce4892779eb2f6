"""`geobias map` and `geobias space`: figures of a finished run."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.cli.options import Debug, RegionsRun


def world_map(
    run: RegionsRun,
    word: Annotated[str | None, typer.Option(help="How likely this word is of each country's people.")] = None,
    topic: Annotated[str | None, typer.Option(help="The mean over this topic's words.")] = None,
    variant: Annotated[str | None, typer.Option(help="The score itself: c_w (default) or c_z.")] = None,
    debug: Debug = False,
) -> None:
    """A world map of a finished regions run: of one word, of a topic, or of the score (HERB's Figure 1).

    Leaves an SVG, a PNG and a page for the browser in RUN/figures, and the numbers in RUN/tables.
    """
    from geobias.commands.map import run_map

    run_map(run, word=word, topic=topic, variant=variant)


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
    from geobias.commands.space import run_space

    run_space(run, neighbours=neighbours, seed=seed)
