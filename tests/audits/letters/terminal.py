"""What `geobias letters` prints below its findings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from geobias.report.tables import titled_table
from tests.audits.letters.result import Letters, LettersResult

SUMMARY_ROWS = 5


def summary_table(result: LettersResult, width: int) -> Table:
    """The longest names."""
    longest = sorted(result.countries, key=lambda entry: -entry.letters)
    return _letters_table("Longest names", longest[:SUMMARY_ROWS])


def full_report(result: LettersResult, width: int) -> Iterator[Table]:
    """Every name; `width` is for audits whose tables may have to drop columns."""
    yield _letters_table("Letters", result.countries)


def _letters_table(title: str, entries: list[Letters]) -> Table:
    table = titled_table(title)
    table.add_column("country", overflow="fold")
    table.add_column("letters", justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(entry.country, str(entry.letters))
    return table
