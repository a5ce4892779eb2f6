"""Judgements on the terminal, as plain text, and as JUnit XML, which most CI services show."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from geobias import __version__
from geobias.audits.gate.rules import Judgement
from geobias.report.tables import NOTHING, console, format_interval, titled_table

if TYPE_CHECKING:
    from geobias.audits.gate.audit import GateReport

WIDE = 160  # of a table that goes into a message
SUITE = "geobias gate"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MEANING = (
    "A rule with < is judged on the high end of the interval, one with > on the low end: an inconclusive "
    "run does not pass. For a number that can be negative, its absolute value is used. Findings that "
    "could not be tested do not pass either."
)


def show(report: GateReport) -> None:
    out = console()
    out.print(gate_table(report.judgements))
    for line in [*list_failures(report.judgements), *list_notes(report)]:
        out.print(line)
    out.print(MEANING, style="dim")


def gate_table(judgements: Sequence[Judgement]) -> Table:
    """A row for each rule and run; every rule is judged, also after one has failed."""
    failed = sum(not judgement.passed for judgement in judgements)
    runs = dict.fromkeys(judgement.run for judgement in judgements)
    title = f"{failed} of {len(judgements)} FAILED" if failed else f"all {len(judgements)} passed"
    table = titled_table(f"Gate: {title}")
    table.add_column("rule", overflow="fold")
    if len(runs) > 1:
        table.add_column("run", overflow="fold")
    for heading in ("value", "95 % interval", "judged"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for judgement in judgements:
        run = [judgement.run] if len(runs) > 1 else []
        numbers = _digits(judgement.value), format_interval(judgement, ".4g"), _digits(judgement.bound)
        table.add_row(str(judgement.rule), *run, *numbers, "passed" if judgement.passed else "FAILED")
    return table


def list_failures(judgements: Sequence[Judgement]) -> list[str]:
    """For each rule that does not hold a sentence that says why."""
    return [
        f"{judgement.rule} ({judgement.run}): {judgement.explain()}" for judgement in judgements if not judgement.passed
    ]


def list_notes(report: GateReport) -> list[str]:
    """Results of another version of geobias, and runs that no rule is about: neither fails a rule."""
    versions = [_describe_version(judgement) for judgement in report.judgements]
    return [*dict.fromkeys(filter(None, versions)), *(f"No rule is about {run}." for run in report.not_judged)]


def _describe_version(judgement: Judgement) -> str:
    if judgement.written_by is None:
        return ""
    return f"The results of {judgement.run} are of geobias {judgement.written_by}; this is geobias {__version__}."


def gate_text(report: GateReport) -> str:
    """The table, the failures and the notes as plain text."""
    text = io.StringIO()
    Console(file=text, width=WIDE, highlight=False, markup=False, emoji=False).print(gate_table(report.judgements))
    return "\n".join([text.getvalue().rstrip(), *list_failures(report.judgements), *list_notes(report)])


def _digits(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4g}"


def junit_xml(judgements: Sequence[Judgement]) -> bytes:
    """A test case for each rule and run."""
    failures = sum(not judgement.passed for judgement in judgements)
    counts = {"tests": str(len(judgements)), "failures": str(failures)}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": SUITE, "errors": "0", **counts})
    for judgement in judgements:
        names = {"classname": _xml(f"geobias.gate.{judgement.run}"), "name": _xml(str(judgement.rule)), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", names)
        if not judgement.passed:
            ElementTree.SubElement(case, "failure", {"message": _xml(judgement.explain()), "type": "gate"})
        if version := _describe_version(judgement):
            ElementTree.SubElement(case, "system-out").text = _xml(version)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n"


def is_junit(text: str) -> bool:
    """Whether a text is the judgements of a gate and nothing else: other suites may have been merged into it."""
    return text.count("<testsuite ") == 1 and f'<testsuite name="{SUITE}"' in text


def _xml(text: str) -> str:
    """Without the characters that no XML may hold."""
    return NOT_XML.sub("\ufffd", text)
