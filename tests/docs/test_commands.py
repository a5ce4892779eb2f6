"""docs/commands.md says what the command line says."""

from __future__ import annotations

import pytest

from docs.make_commands import FILE, reference
from geobias.cli import list_commands


def test_the_reference_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == reference(), "docs/commands.md is stale: run `make docs`"


def test_it_has_every_command_and_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    narrow = reference()
    monkeypatch.setenv("COLUMNS", "200")
    assert narrow == reference()
    assert all(f"## geobias {name}\n" in narrow for commands in list_commands().values() for name in commands)
    assert "| `--seed N` | Random seed for drawing names (default: 0). |" in narrow  # a default that is 0 is one
    assert "| `--texts [LANGUAGE=]FILE` *repeatable* |" in narrow
