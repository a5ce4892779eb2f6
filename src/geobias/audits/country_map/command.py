"""`geobias map`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.options import Debug, RegionsRun


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
    from geobias.audits.country_map.draw import draw_map, show

    show(draw_map(run, word=word, topic=topic, variant=variant))
