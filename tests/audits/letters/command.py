"""`geobias letters`."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.options import Debug, Out


def letters(
    countries: Annotated[list[str], typer.Argument(help="Names of countries.")], out: Out = None, debug: Debug = False
) -> None:
    """Count the letters of each country's name."""
    from geobias.report.runs import new_folder, place_for
    from tests.audits.letters.audit import audit_letters
    from tests.audits.letters.terminal import show

    folder = place_for(out or new_folder("letters"))
    show(audit_letters(countries, out=folder), folder)
