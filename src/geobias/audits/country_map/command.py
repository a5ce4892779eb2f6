"""`geobias map`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.options import Debug, RegionsRun


def world_map(
    run: RegionsRun,
    word: Annotated[str | None, typer.Option(help="Map the likelihood of this word.")] = None,
    topic: Annotated[str | None, typer.Option(help="Map the mean over the words of this topic.")] = None,
    variant: Annotated[str | None, typer.Option(help="Map the bias score: c_w or c_z (default: c_w).")] = None,
    debug: Debug = False,
) -> None:
    """Draw a world map of a finished regions run: bias score, word or topic (HERB's Figure 1).

    Writes an SVG, a PNG and an HTML page to RUN/figures, and the numbers to RUN/tables.
    """
    from geobias.audits.country_map.draw import draw_map

    draw_map(run, word=word, topic=topic, variant=variant)
