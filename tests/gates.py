"""A gate in a test: it fails with the table of all rules."""

from __future__ import annotations

from pathlib import Path

import geobias
from geobias.audits.gate.report import gate_text
from geobias.report.results import AuditResult


def assert_gate(run: AuditResult | str | Path, *rules: str) -> None:
    report = geobias.gate(run, rules)
    assert report.passed, "\n" + gate_text(report)
