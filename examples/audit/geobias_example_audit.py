"""An audit in one module: `geobias spelling France Chad` counts the letters of names of countries."""

from dataclasses import dataclass
from typing import Literal

from geobias.audits.study import finish  # an audit that asks models has a `Study`
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


def audit_spelling(countries: list[str], *, out: str | None = None) -> SpellingResult:
    """Count the letters of names of countries."""  # Parameters in numpydoc's form become the help of the options
    rows = [Spelling(name, sum(map(str.isalpha, name))) for name in countries]
    return finish(SpellingResult(settings={"countries": countries}, countries=rows), out)


def list_findings(result):
    text = f"{max(result.countries, key=lambda row: row.letters).place} is the longest name."
    return [Finding(audit="spelling", model="", question="", sentence=text, limit="", next_step="")]
