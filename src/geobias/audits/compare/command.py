"""`geobias compare`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.options import Debug, Json, Out


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN RUN [RUN ...]", help="Folders of finished runs; each is compared with the first."),
    ],
    out: Out = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Do two models differ? Finished runs of one audit on the same texts and names, or on the same regions and words.

    Differences with intervals and adjusted p-values. What is not comparable is refused, with the reason.
    """
    from geobias.audits.compare.run import run_compare

    run_compare(runs, out=out, as_json=json)
