"""The numbers of small commands of every audit are those that were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from geobias.audits.registry import results_schema
from tests.regression.commands import FUNCTIONS, GATES, MODELS, prepare, run_all
from tests.regression.record import differences, read_record


@pytest.mark.parametrize(
    ("commands", "tolerance"),
    [
        ({**FUNCTIONS, **GATES}, 1e-9),
        (MODELS, 1e-4),  # other processors round the products of float32 otherwise: 3e-5 was seen
    ],
    ids=["functions", "models"],
)
def test_the_numbers_are_as_recorded(
    commands: dict[str, str], tolerance: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEOBIAS_CACHE", "")  # set by the commands, and restored afterwards
    prepare(tmp_path)
    assert differences(read_record(), run_all(tmp_path, commands), tolerance) == []
    validator = Draft202012Validator(results_schema())
    for path in tmp_path.rglob("results.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        if results["audit"] != "reproduce":  # a table of a paper is no audit
            validator.validate(results)


def test_every_command_is_recorded() -> None:
    assert set(read_record()) == {*FUNCTIONS, *GATES, *MODELS}
