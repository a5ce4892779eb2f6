"""`geobias audit` as a user types it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from geobias.audits.overview import command
from geobias.audits.regions import audit
from tests.conftest import Run


@pytest.mark.figures
@pytest.mark.slow
def test_audit_shows_both_and_leaves_both(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "audit_regions", partial(audit.audit_regions, countries="FR,DE,NG,KE"))
    monkeypatch.setattr(command, "TEXTS", 2)
    monkeypatch.setattr(command, "DRAWS", 1)
    code, out, err = run("audit", "--out", "here")
    assert code == 0, err
    assert "Earth" in out and "embedded/offensive" in out and "Chosen so that it fits" in out
    for part in ("regions", "names"):
        assert (tmp_path / "here" / part / "run.json").is_file()
    assert [entry["path"] for entry in json.loads((tmp_path / "here/index.json").read_text())["runs"]] == [
        "regions",
        "names",
    ]
    code, _, err = run("audit", "--out", "here")
    assert code == 0, err
