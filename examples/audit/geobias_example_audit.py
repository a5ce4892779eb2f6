"""An audit in one module: `geobias spelling France Chad` counts the letters of names of countries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from geobias.audits.study import RunOptions, Study
from geobias.report.findings import Finding
from geobias.report.results import AuditResult


@dataclass(frozen=True, kw_only=True, repr=False)
class SpellingResult(AuditResult):
    audit: Literal["spelling"] = "spelling"
    letters: dict[str, int]
    model_identities = ()  # an audit of models lists them here

    def summarise(self):
        return [f"the letters of {len(self.letters)} names"]

    def list_tidy_rows(self):
        return [{"country": name, "measure": "letters", "value": count} for name, count in self.letters.items()]


class SpellingStudy(Study):
    audit = "spelling"

    def __init__(self, countries, out):
        super().__init__(RunOptions(out=out))
        self.countries = countries

    def settings(self):
        return {"countries": self.countries}

    def load(self, device, dtype):
        return []  # loads them here (geobias.load, geobias.load_classifier)

    def ask(self, scorers):
        return {name: sum(map(str.isalpha, name)) for name in self.countries}  # and scores texts here

    def measure(self, answers):
        return SpellingResult(settings=self.settings(), letters=answers)


def audit_spelling(countries: list[str], *, out: Path | None = None) -> SpellingResult:
    """Count the letters of names of countries."""  # Parameters in numpydoc's form become the help of the options
    return SpellingStudy(countries, out).run()


def list_findings(result):
    longest = max(result.letters, key=result.letters.__getitem__)
    about = {"role": "overall", "audit": "spelling", "model": "alphabet", "question": "Which name is longest?"}
    text = {"sentence": f"{longest} is the longest name.", "limit": "Letters are no bias.", "next_step": "None."}
    return [Finding(evidence="not testable", **about, **text)]
