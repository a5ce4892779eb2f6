"""What the letters audit concludes. An audit with a test grades its p-value by `grade_evidence`."""

from geobias.report.findings import Finding
from tests.audits.letters.result import LettersResult


def list_findings(result: LettersResult) -> list[Finding]:
    longest = max(result.countries, key=lambda row: row.letters)
    sentence = f"{longest.place} has the longest of {len(result.countries)} names: {longest.letters} letters."
    return [
        Finding(
            audit="letters",
            model="alphabet",
            sentence=sentence,
            question="Which name is longest?",
            limit="Names are English.",
            next_step="Count other names.",
        )
    ]
