"""`geobias compare`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.options import Debug, Full, Json, Out, Quiet


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN RUN [RUN ...]", help="Folders of finished runs; the first is the baseline for the others."
        ),
    ],
    out: Out = None,
    full: Full = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare finished runs: which model is less biased, and where.

    The runs must be of the same audit with the same data: texts and names, or words. Otherwise the error says what
    differs.
    """
    from geobias.audits.compare.audit import compare as compare_runs
    from geobias.audits.show_results import View, show_result
    from geobias.report.runs import new_folder, place_for

    folder = place_for(out or new_folder("compare"))
    show_result(compare_runs(runs, out=folder), folder, View(full, quiet, json))
