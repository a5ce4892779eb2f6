"""The letters audit on the page."""

from __future__ import annotations

from geobias.report.page.blocks import Section, Table
from geobias.report.runs import FinishedRun
from tests.audits.letters.result import LettersResult


def describe(result: LettersResult) -> str:
    return f"The letters of {len(result.countries)} countries were counted."


def section(run: FinishedRun[LettersResult], name: str) -> Section:
    rows = [{"country": entry.country, "letters": str(entry.letters)} for entry in run.result.countries]
    return Section(
        id=name,
        title="Letters",
        lead="A longer name is not a larger country.",
        blocks=[Table(f"{name}-table", "All countries", "One row each.", rows)],
    )
