"""An audit in one module: `geobias spelling France Chad` counts the letters of names of countries."""

from dataclasses import dataclass
from typing import Literal

from geobias.audits.study import RunOptions, Study, execute
from geobias.report.findings import Finding
from geobias.report.results import AuditResult


@dataclass(frozen=True)
class Spelling:
    place: str
    letters: int


@dataclass(frozen=True, kw_only=True, repr=False)
class SpellingResult(AuditResult):
    audit: Literal["spelling"] = "spelling"
    countries: list[Spelling]  # a list of rows: it is in every table, in CSV, to_frame and the paths of a gate


class SpellingStudy(Study):
    audit = "spelling"

    def ask(self, scorers):  # of an audit of models, `load(device, dtype)` returns these
        return [Spelling(name, sum(map(str.isalpha, name))) for name in self.design["countries"]]

    def measure(self, answers):
        return SpellingResult(settings=self.settings(), countries=answers)


def audit_spelling(countries: list[str], *, out: str | None = None) -> SpellingResult:
    """Count the letters of names of countries."""  # Parameters in numpydoc's form become the help of the options
    return execute(SpellingStudy(RunOptions(out=out), {"countries": countries}))


def list_findings(result):
    longest = max(result.countries, key=lambda row: row.letters).place
    text = {"sentence": f"{longest} is the longest name.", "limit": "Letters are no bias.", "next_step": "None."}
    return [Finding(audit="spelling", model="alphabet", question="Which name is longest?", **text)]
