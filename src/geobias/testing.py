"""Gates inside a test suite: `assert_gate` of a result or of a run's folder."""

from __future__ import annotations

from pathlib import Path

from geobias.audits.gate.audit import gate
from geobias.audits.gate.terminal import gate_text
from geobias.report.results import AuditResult


def assert_gate(run: AuditResult | str | Path, *rules: str) -> None:
    """Fail, with the table of all judgements as the message, unless every rule holds (docs/gate.md).

    `run` is what an audit returned or the folder that it left; a rule is such as "names.sentiment.delta.worst < 2.0".
    """
    report = gate(run, rules)
    if not report.passed:
        raise AssertionError("\n" + gate_text(report.judgements))
