"""Judgements of a gate: as a table, as JSON, and as JUnit XML, which most CI services show."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from geobias.audits.gate.rules import Judgement
from geobias.report.tables import NOTHING, titled_table

WIDE = 160  # of a table that goes into a message
JUNIT_SUITE = "geobias gate"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_table(judgements: Sequence[Judgement]) -> Table:
    """A row for each rule and run; every rule is judged, also after one has failed."""
    failed = sum(not judged.passed for judged in judgements)
    runs = dict.fromkeys(judged.run for judged in judgements)
    title = f"{failed} of {len(judgements)} FAILED" if failed else f"all {len(judgements)} passed"
    table = titled_table(f"Gate: {title}")
    table.add_column("rule", overflow="fold")
    if len(runs) > 1:
        table.add_column("run", overflow="fold")
    for heading in ("value", "95 % interval", "judged"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for judged in judgements:
        run = [judged.run] if len(runs) > 1 else []
        interval = NOTHING if judged.low is None or judged.high is None else f"{judged.low:.4g} to {judged.high:.4g}"
        table.add_row(
            str(judged.rule),
            *run,
            _digits(judged.value),
            interval,
            _digits(judged.bound),
            "passed" if judged.passed else "FAILED",
        )
    return table


def failures(judgements: Sequence[Judgement]) -> list[str]:
    """For each rule that does not hold a sentence that says why."""
    return [f"{judged.rule} ({judged.run}): {_why(judged)}" for judged in judgements if not judged.passed]


def gate_text(judgements: Sequence[Judgement]) -> str:
    """The table and the failures as plain text."""
    written = io.StringIO()
    Console(file=written, width=WIDE, highlight=False, markup=False, emoji=False).print(gate_table(judgements))
    return "\n".join([written.getvalue().rstrip(), *failures(judgements)])


def gate_dict(judgements: Sequence[Judgement]) -> dict[str, Any]:
    passed = all(judged.passed for judged in judgements)
    return {"schema_version": 1, "passed": passed, "judgements": [judged.to_dict() for judged in judgements]}


def junit(judgements: Sequence[Judgement]) -> bytes:
    """A test case for each rule and run."""
    counts = {"tests": str(len(judgements)), "failures": str(sum(not judged.passed for judged in judgements))}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": JUNIT_SUITE, "errors": "0", **counts})
    for judged in judgements:
        about = {"classname": _xml(f"geobias.gate.{judged.run}"), "name": _xml(str(judged.rule)), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", about)
        if not judged.passed:
            ElementTree.SubElement(case, "failure", {"message": _xml(_why(judged)), "type": "gate"})
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n"


def is_junit(text: str) -> bool:
    """Whether a text is the judgements of a gate and nothing else: other suites may have been merged into it."""
    return text.count("<testsuite ") == 1 and f'<testsuite name="{JUNIT_SUITE}"' in text


def _why(judged: Judgement) -> str:
    return judged.why + (f" ({judged.rule.reason})" if judged.rule.reason else "")


def _digits(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4g}"


def _xml(text: str) -> str:
    """Without the characters that no XML may hold."""
    return NOT_XML.sub("\ufffd", text)
