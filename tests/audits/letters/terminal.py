"""What `geobias letters` prints."""

from __future__ import annotations

from pathlib import Path

from geobias.report.tables import show_tables, titled_table
from tests.audits.letters.result import LettersResult


def show(result: LettersResult, folder: Path) -> None:
    table = titled_table("Letters")
    table.add_column("country")
    table.add_column("letters", justify="right")
    for entry in result.countries:
        table.add_row(entry.country, str(entry.letters))
    show_tables([table], [], [], f"Results: {folder}")
