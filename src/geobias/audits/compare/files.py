"""The files of a comparison."""

from __future__ import annotations

from pathlib import Path

from geobias.audits.compare.result import CompareResult
from geobias.report.tables import write_csv


def write_files(folder: Path, result: CompareResult) -> None:
    write_csv(folder / "tables" / "compare.csv", result.rows())
