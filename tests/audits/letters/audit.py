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
    from geobias.audits.study import RunOptions, execute
    from tests.audits.letters.study import LettersStudy

    return execute(LettersStudy(RunOptions(out=out), {"countries": list(countries)}))
