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
    from geobias.audits.compare.audit import compare as compare_runs
    from geobias.audits.compare.terminal import show
    from geobias.report.runs import new_folder, place_for
    from geobias.report.tables import print_json

    folder = place_for(out or new_folder("compare"))
    result = compare_runs(runs, out=folder)
    print_json(result) if json else show(result, folder)
