"""The examples of all pages share one store of scores: most of them score the same invented names."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One folder for all tests of this folder, in every worker of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "documentation-store"
    monkeypatch.setenv("GEOBIAS_CACHE", str(folder))
    return folder
