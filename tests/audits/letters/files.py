"""The files of a letters run."""

from __future__ import annotations

from pathlib import Path

from geobias.report.tables import write_csv
from tests.audits.letters.result import LettersResult


def write_files(folder: Path, result: LettersResult) -> None:
    write_csv(folder / "tables" / "letters.csv", result.rows())
