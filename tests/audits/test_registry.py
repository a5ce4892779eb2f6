"""One folder and one row of the registry make an audit: command line, findings, page, card and gate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import geobias
from geobias import cli, extensions
from geobias.audits.registry import BUNDLED, get_audit, list_audits
from geobias.audits.show_results import View, show_result
from geobias.report.results import AuditResult

LETTERS = EntryPoint("letters", "tests.audits.letters.result:LettersResult", extensions.AUDITS)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[typer.Typer]:
    """The command line where another package declares one audit more."""
    monkeypatch.setattr(extensions, "entry_points", lambda group: [LETTERS] if group == extensions.AUDITS else [])
    for cached in (extensions.list_extensions, list_audits):
        cached.cache_clear()
    yield cli.make_app()
    for cached in (extensions.list_extensions, list_audits):
        cached.cache_clear()


def run(app: typer.Typer, *arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_new_audit_is_everywhere(app: typer.Typer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of rows, and what is concluded of them, is all that it has."""
    folder = tmp_path / "run"
    assert "letters" in run(app, "--help") and "Count the letters" in run(app, "letters", "--help")
    out = run(app, "letters", "Chad", "France", "--out", str(folder))
    sentence = "France has the longest of 2 names: 6 letters."
    assert out.startswith(f"{sentence}\n") and "Chad" in out and "Page: " in out
    result = geobias.read_run(folder)
    assert result.countries[0].letters == 4 and repr(result).startswith("LettersResult: 2 countries")
    for view, has_table in ((View(full=True), True), (View(quiet=True), False)):
        show_result(result, folder, view)
        assert ("Chad" in capsys.readouterr().out) == has_table
    assert json.loads((folder / "results.json").read_text())["countries"][1] == {"place": "France", "letters": 6}
    assert (folder / "tables/countries.csv").read_text() == "place,letters\nChad,4\nFrance,6\n"
    assert result.to_frame()[["place", "measure", "value"]].values.tolist()[0] == ["Chad", "letters", 4]
    assert "This run audited 2 countries." in (folder / "report.html").read_text(encoding="utf-8")
    card = run(app, "export", str(folder))
    assert "| Chad | 4 |" in card and f"- *not testable*: {sentence}" in card
    assert "all 1 passed" in run(app, "gate", str(folder), "--rule", "letters.Chad < 5")
    assert not geobias.gate(result, "letters.France < 5").passed
    report = geobias.gate(result, "letters.findings.clear <= 0")
    assert not report.passed and sentence in report.judgements[0].why  # what was not tested does not pass
    run(app, "report", str(folder))


def test_every_audit_of_the_registry_has_its_parts() -> None:
    for audit in BUNDLED:
        assert issubclass(audit.result_type, AuditResult)
        assert callable(audit.function)
        assert callable(audit.load("findings", "list_findings"))


def test_an_unknown_audit_is_refused() -> None:
    with pytest.raises(geobias.InputError, match=r"Unknown audit 'weather'\. Choose from: regions, names"):
        get_audit("weather")
