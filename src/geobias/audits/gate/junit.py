"""Judgements of a gate as JUnit XML, which most CI services show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from geobias.audits.gate.rules import Judgement

SUITE = "geobias gate"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n"


def is_junit(text: str) -> bool:
    """Whether a text is the judgements of a gate and nothing else: other suites may have been merged into it."""
    return text.count("<testsuite ") == 1 and f'<testsuite name="{SUITE}"' in text


def _xml(text: str) -> str:
    """Without the characters that no XML may hold."""
    return NOT_XML.sub("\ufffd", text)
