"""What the letters audit concludes."""

from __future__ import annotations

from geobias.report.findings import Finding, Size
from tests.audits.letters.result import LettersResult


def list_findings(result: LettersResult) -> list[Finding]:
    """Which name is longest. An audit with a test grades its p-value by `grade_evidence`."""
    longest = max(result.countries, key=lambda entry: entry.letters)
    return [
        Finding(
            role="overall",
            audit="letters",
            model="alphabet",
            question="Which country has the longest name?",
            subject=longest.country,
            size=Size(longest.letters, None, None, "letters"),
            evidence="not testable",
            sentence=f"{longest.country} has the longest of {len(result.countries)} names: {longest.letters} letters.",
            limit="Letters are counted in English names.",
            next_step="Count the names in another language.",
        )
    ]
