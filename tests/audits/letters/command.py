"""`geobias letters`."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.options import Debug, Full, Json, Out, Quiet


def letters(
    countries: Annotated[list[str], typer.Argument(help="Names of countries.")],
    out: Out = None,
    full: Full = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Count the letters of each country's name."""
    from geobias.audits.show_results import View, show_result
    from geobias.report.runs import new_folder, place_for
    from tests.audits.letters.audit import audit_letters

    folder = place_for(out or new_folder("letters"))
    show_result(audit_letters(countries, out=folder), folder, View(full, quiet, json))
