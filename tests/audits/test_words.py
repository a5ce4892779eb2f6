"""The words of every audit in one place: `pytest --snapshot-update` writes them again, and the difference is reviewed.

Other tests ask for evidence, subject and numbers of a finding, not for its wording.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

import geobias
from geobias.audits.reports import describe, draw_full, list_card_rows
from tests.finished_runs import AUDITS


@pytest.mark.parametrize("audit", AUDITS)
def test_findings(audit: str, finished_run: Callable[[str], Path], snapshot: SnapshotAssertion) -> None:
    findings = geobias.read_run(finished_run(audit)).findings
    fields = ("label_with_size", "question", "sentence", "limit", "next_step")
    assert findings and ["\n".join(getattr(each, name) for name in fields) for each in findings] == snapshot


@pytest.mark.parametrize("audit", ["downstream"])  # others follow with their `report.py`
def test_report(audit: str, finished_run: Callable[[str], Path], snapshot: SnapshotAssertion) -> None:
    """What --full prints below the findings, the sentence on the page, and the rows of the card."""
    result = geobias.read_run(finished_run(audit))
    console = Console(width=120, record=True, quiet=True, highlight=False, markup=False, emoji=False)
    for part in draw_full(result, 120):
        console.print(part)
    assert console.export_text() == snapshot(name="terminal")
    assert [describe(result).replace(str(finished_run(audit).parent), "FOLDER"), *list_card_rows(result)] == snapshot(
        name="page and card"
    )
