"""An audit in one module: `geobias spelling France Chad` counts the letters of names of countries.

A larger audit is a package with one module for each of these parts (CONTRIBUTING.md, "Add an audit").
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from geobias.audits.study import RunOptions, Study
from geobias.report.findings import Finding
from geobias.report.page.blocks import Section, Table
from geobias.report.results import AuditResult
from geobias.report.runs import new_folder
from geobias.report.tables import titled_table, write_csv


@dataclass(frozen=True, kw_only=True, repr=False)
class SpellingResult(AuditResult):
    audit: Literal["spelling"] = "spelling"
    settings: dict[str, list[str]]
    letters: dict[str, int]
    model_identities: Any = field(default=(), init=False)

    def summarise(self):
        return [f"the letters of {len(self.letters)} names"]

    def list_tidy_rows(self):
        return [{"country": name, "measure": "letters", "value": count} for name, count in self.letters.items()]


class SpellingStudy(Study):
    audit = "spelling"

    def __init__(self, countries, options):
        super().__init__(options)
        self.countries = list(countries)

    def settings(self):
        return {"countries": self.countries}

    def load(self, device, dtype):
        return []  # an audit of models loads them here: geobias.load, geobias.load_classifier

    def ask(self, scorers):
        return [sum(map(str.isalpha, name)) for name in self.countries]  # and scores texts here

    def measure(self, answers):
        return SpellingResult(settings=self.settings(), letters=dict(zip(self.countries, answers, strict=True)))


def spelling(countries: list[str], out: Path | None = None) -> None:
    """Count the letters of names of countries."""
    from geobias.audits.show_results import View, show_result

    folder = out or new_folder("spelling")
    show_result(SpellingStudy(countries, RunOptions(out=folder)).run(), folder, View())


def list_findings(result):
    longest = max(result.letters, key=result.letters.__getitem__)
    text = {"sentence": f"{longest} is the longest name.", "limit": "Letters are no bias.", "next_step": "None."}
    about = {"role": "overall", "audit": "spelling", "model": "alphabet", "question": "Which name is longest?"}
    return [Finding(evidence="not testable", **about, **text)]


def write_files(folder, result):
    write_csv(folder / "tables" / "letters.csv", result.list_tidy_rows())


def summary_table(result, width):
    table = titled_table("Letters")
    for heading in ("country", "letters"):
        table.add_column(heading)
    for name, count in result.letters.items():
        table.add_row(name, str(count))
    return table


def full_report(result, width):
    yield summary_table(result, width)


def describe(result):
    return f"The letters of {len(result.letters)} names were counted."


def section(run, name):
    rows = run.result.list_tidy_rows()
    return Section(id=name, title="Spelling", lead="An example.", blocks=[Table(f"{name}-t", "Letters", "", rows)])
