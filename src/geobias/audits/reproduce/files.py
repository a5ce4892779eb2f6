"""The files of a reproduced paper: a CSV file for each table."""

from __future__ import annotations

from pathlib import Path

from geobias.audits.reproduce.result import ReproduceResult
from geobias.report.tables import write_csv


def write_files(folder: Path, result: ReproduceResult) -> None:
    for table in result.tables:
        write_csv(folder / "tables" / f"reproduce-{result.settings.paper}-{table.table}.csv", table.cells())
