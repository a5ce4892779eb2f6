"""run.json says which parts of the fast path each model used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.models.fast import PARTS, VARIABLE


def run(folder: Path, **options: Any) -> dict[str, list[str]]:
    geobias.audit_names(
        "embedded/sentiment",
        ["Mary is here."],
        countries="FR,MA",
        draws=2,
        perplexity="embedded/lm",
        out=folder,
        **options,
    )
    parts: dict[str, list[str]] = json.loads((folder / "run.json").read_text(encoding="utf-8"))["fast"]
    return parts


def test_the_parts_in_use_are_recorded(tmp_path: Path) -> None:
    parts = run(tmp_path / "run")
    assert set(parts) == {"embedded/sentiment", "embedded/lm pll"}
    assert "packed_linear" in parts["embedded/sentiment"] and "read_positions" in parts["embedded/lm pll"]
    assert set(parts["embedded/lm pll"]) <= set(PARTS)


def test_a_plain_run_records_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    assert run(tmp_path / "run") == {"embedded/sentiment": [], "embedded/lm pll": []}
