"""Words in brackets, such as the extra of `pip install '.[papers]'`, are printed: rich takes them for markup."""

from __future__ import annotations

import re

import pytest
import typer

from geobias.checks import need
from geobias.cli import format_error, make_app
from geobias.errors import InputError
from geobias.report.tables import console
from tests.conftest import Run


def test_a_missing_package_is_named_with_its_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    need("json", extra="no", user="nothing")
    with pytest.raises(InputError) as error:
        need("json", "not_there_at_all", extra="papers", user="Figure 3")
    message = "Figure 3 needs the package not_there_at_all: pip install '.[papers]'."
    assert str(error.value) == message
    assert message in format_error(message)
    console().print(message)
    assert message in capsys.readouterr().out


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
