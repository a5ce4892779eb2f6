"""`audit_letters`: the audit as a Python function, from which the command is made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def audit_letters(countries: Sequence[str], *, out: str | Path | None = None) -> Any:
    """Count the letters of each country's name.

    Parameters
    ----------
    countries : list of str
        Names of countries.
    out : str or Path, optional
        Folder to write the results to. Default: nothing is saved.
    """
    from geobias.audits.study import finish
    from tests.audits.letters.result import Letters, LettersResult

    rows = [Letters(name, sum(map(str.isalpha, name))) for name in countries]
    return finish(LettersResult(settings={"countries": list(countries)}, countries=rows), out)
