"""One folder and one row of the registry make an audit: it is in the command line, the page, the card and the gate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import geobias
from geobias import cli
from geobias.audits.pages import read_run
from geobias.audits.registry import AUDITS, Audit, audits_with, get_audit
from geobias.report.results import AuditResult

LETTERS = Audit("letters", "LettersResult", package="tests.audits.letters")


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[typer.Typer]:
    """The command line with one row more in the registry."""
    monkeypatch.setattr(cli, "app", typer.Typer())
    AUDITS.append(LETTERS)
    try:
        cli.register_commands()
        yield cli.app
    finally:
        AUDITS.remove(LETTERS)


def run(app: typer.Typer, *arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_new_audit_is_everywhere(app: typer.Typer, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert "letters" in run(app, "--help") and "Count the letters" in run(app, "letters", "--help")
    assert "Chad" in run(app, "letters", "Chad", "France", "--out", str(folder))
    assert json.loads((folder / "results.json").read_text())["countries"][1] == {"country": "France", "letters": 6}
    assert (folder / "tables/letters.csv").read_text() == "country,letters\nChad,4\nFrance,6\n"
    assert "A longer name is not a larger country." in (folder / "report.html").read_text(encoding="utf-8")
    assert "| Chad | 4 |" in run(app, "card", str(folder))
    assert "all 1 passed" in run(app, "gate", str(folder), "--rule", "letters.Chad < 5")
    assert not geobias.gate(folder, "letters.France < 5").passed
    run(app, "report", str(folder))
    assert read_run(folder).result.rows()[0] == {"country": "Chad", "letters": 4}


def test_every_audit_of_the_registry_has_its_parts() -> None:
    for audit in AUDITS:
        assert issubclass(audit.result_type, AuditResult)
        for module, name in (
            ("command", audit.name),
            ("files", "write_files"),
            ("page", "describe"),
            ("page", "section"),
        ):
            assert callable(audit.load(module, name)), (audit.name, module, name)
    assert {"regions", "names", "downstream"} <= set(audits_with("compare", "compare_runs"))
    assert {"regions", "names", "downstream", "finetune", "drift"} <= set(audits_with("gate_and_card", "gate_numbers"))


def test_an_unknown_audit_is_refused() -> None:
    with pytest.raises(geobias.InputError, match="no audit 'weather': there are regions, names"):
        get_audit("weather")
