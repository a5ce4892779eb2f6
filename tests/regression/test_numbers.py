"""The numbers of small commands of every audit are those that were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.regression.commands import FUNCTIONS, GATES, MODELS, prepare, run_all
from tests.regression.record import differences, read_record


@pytest.mark.parametrize(
    ("commands", "tolerance"),
    [
        ({**FUNCTIONS, **GATES}, 1e-9),
        (MODELS, 1e-5),  # other processors round the products of float32 otherwise
    ],
    ids=["functions", "models"],
)
@pytest.mark.slow
def test_the_numbers_are_as_recorded(
    commands: dict[str, str], tolerance: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEOBIAS_CACHE", "")  # set by the commands, and restored afterwards
    prepare(tmp_path)
    assert differences(read_record(), run_all(tmp_path, commands), tolerance) == []


def test_every_command_is_recorded() -> None:
    assert set(read_record()) == {*FUNCTIONS, *GATES, *MODELS}
