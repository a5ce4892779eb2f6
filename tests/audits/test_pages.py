"""Finished runs are read into typed results; what is not one is refused in one line that says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.audits.pages import read_run
from geobias.report.results import SCHEMA_VERSION
from tests.conftest import sign_results


def even(texts: list[str]) -> list[dict[str, float]]:
    return [{"bad": 0.5, "good": 0.5} for _ in texts]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    geobias.audit_downstream(even, ["a text", "another"], countries="FR,DE", out=tmp_path / "run")
    return tmp_path / "run"


def change(folder: Path, **fields: Any) -> None:
    path = folder / "results.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | fields), encoding="utf-8")
    sign_results(folder)


def test_a_run_is_read_as_it_was_measured(folder: Path) -> None:
    run = read_run(folder)
    assert run.result.counts.places == 2 and run.result.to_dict() == json.loads((folder / "results.json").read_text())
    assert run.description.work == {"texts_scored": 2, "prefixed_texts_scored": 50}


def test_results_of_version_1_are_refused_with_what_to_do(folder: Path) -> None:
    change(folder, schema_version=1)
    message = rf"results of version 1; this geobias reads version {SCHEMA_VERSION}\. Run the audit again"
    with pytest.raises(geobias.InputError, match=message):
        read_run(folder)


@pytest.mark.parametrize("fields", [{"classifiers": "many"}, {"counts": {"texts": 1}}, {"settings": None}])
def test_damaged_results_are_refused(folder: Path, fields: dict[str, Any]) -> None:
    change(folder, **fields)
    with pytest.raises(geobias.InputError, match=r"results\.json is damaged \(.+\)\. Run the audit again"):
        read_run(folder)
