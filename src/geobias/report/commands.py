"""`geobias report`, `geobias open` and `geobias card`: what finished runs look like to others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.options import Debug

Runs = Annotated[list[Path], typer.Argument(metavar="RUN [RUN ...]", help="Folders of finished runs.")]


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page to write. Unless given: RUN/report.html; for several runs a new folder under runs/."
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """One page of finished runs, made again without the model: maps, charts, texts, and what they do not say.

    A single file that needs no network. Its charts are also left as SVG and PNG. Several runs share one page.
    """
    from geobias.report.command_report import run_report

    run_report(runs, out)


def open_page(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    debug: Debug = False,
) -> None:
    """Open the page of a finished run in the browser."""
    from geobias.report.command_report import run_open

    run_open(run)


def card(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a finished run of regions, names or downstream.")
    ],
    out: Annotated[Path | None, typer.Option(help="The file to write; the terminal unless given.")] = None,
    debug: Debug = False,
) -> None:
    """A short section for a model card, as Markdown: what was asked, the numbers with their intervals, and limits.

    Of a folder that holds several runs, all of them.
    """
    from geobias.report.command_card import run_card

    run_card(run, out)
