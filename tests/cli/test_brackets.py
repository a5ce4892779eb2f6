"""Words in brackets, such as the extra of `pip install '.[papers]'`, are printed: rich takes them for markup."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer

from geobias.cli import format_error, make_app
from geobias.errors import InputError
from geobias.report.tables import console
from tests.conftest import Run

ROOT = Path(__file__).parents[2]
EXTRA = re.compile(r"\.\[\w+\]")
MESSAGES = [  # f-strings in their pieces
    node.value
    for path in sorted((ROOT / "src").rglob("*.py"))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and EXTRA.search(node.value)
]


def test_every_message_keeps_its_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    assert len(MESSAGES) >= 6
    for message in MESSAGES:
        expected = EXTRA.findall(message)
        assert EXTRA.findall(format_error(str(InputError(message)))) == expected
        console().print(message)
        assert EXTRA.findall(capsys.readouterr().out) == expected


def test_every_help_keeps_what_is_in_brackets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("TERMINAL_WIDTH", "300")
    commands = typer.main.get_command(make_app()).commands  # type: ignore[attr-defined]
    seen = 0
    for name, command in commands.items():
        texts = [command.help or "", *(getattr(parameter, "help", None) or "" for parameter in command.params)]
        expected = [match for text in texts for match in re.findall(r"\w*\[\[?\w[^\]]*\]", text.replace("\\[", "["))]
        if expected:
            code, out, _ = run(name, "--help")
            shown = re.sub(r"[\s│]+", " ", out)
            assert code == 0 and [match for match in expected if match not in shown] == [], name
            seen += len(expected)
    assert seen >= 4
