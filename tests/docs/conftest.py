"""Pages of the documentation ask the bundled models the same questions: their scores are kept for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One store for all pages, and for all processes of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "store-of-docs"
    monkeypatch.setenv("GEOBIAS_CACHE", str(folder))
    return folder
