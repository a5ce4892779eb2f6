"""Commands made from public functions: what a signature and a docstring become on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from geobias.cli import make_app
from geobias.cli.commands import SHOW, make_command

SHARED = {*SHOW, "help", "debug", "out", "plan", "device", "dtype", "ray"}


def weigh(
    things: str | Sequence[str],
    scale: str,
    *,
    unit: str = "kg",
    times: int | None = None,
    rounded: bool = False,
    tared: bool = True,
    places: str | Sequence[str] = (),
    progress: bool | None = None,
) -> None:
    """Weigh things.

    They are weighed as `audit_names` would.

    Parameters
    ----------
    things : str or list of str
        What to weigh. Heavy things too.
    scale : str
        Scale to use.
    unit : {"kg", "lb"}, default "kg"
        Unit of `places`. Never stones.
    times : int, optional
        Weigh so often (a.b:c). Default: once, or
        twice. Then stop.
    rounded : bool, default False
        Whether to round.
    tared : bool, default True
        Whether to tare.
    places : str or list of str, optional
        Places with scales[small].
    progress : bool, optional
        Never shown.

    Raises
    ------
    InputError
        Never.
    """


@pytest.fixture
def values() -> dict[str, Any]:
    return {}


@pytest.fixture
def app(values: dict[str, Any]) -> typer.Typer:
    app = typer.Typer()
    app.command("weigh")(make_command(weigh, values.update, "plan"))
    return app


def test_a_signature_becomes_arguments_and_options(app: typer.Typer, values: dict[str, Any]) -> None:
    given = ["a", "b", "small", "--times", "3", "--rounded", "--no-tared", "--places", "x,y", "--unit", "lb", "--debug"]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert values == {
        "things": ["a", "b"], "scale": "small", "times": 3, "rounded": True, "tared": False, "places": "x,y",
        "unit": "lb", "plan": False,
    }  # fmt: skip
    values.clear()
    CliRunner().invoke(app, ["a", "small"], catch_exceptions=False)
    assert values == {"things": ["a"], "scale": "small", "rounded": False, "tared": True, "unit": "kg", "plan": False}
    assert CliRunner().invoke(app, ["a", "small", "--progress"]).exit_code == 2


def test_a_docstring_becomes_the_help(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    help = " ".join(CliRunner().invoke(app, ["--help"]).output.replace("│", " ").split())
    for text in (
        "Weigh things. They are weighed as `geobias names` would.",
        "THING",
        "What to weigh.",
        "--unit kg|lb Unit of --places (default: kg).",
        "--times N Weigh so often (a.b:c) (default: once, or twice).",
        "Round.",
        "Tare (default: yes).",
        "--places TEXT,... Places with scales[small].",
    ):
        assert text in help, (text, help)
    assert "Heavy" not in help and "stones" not in help and "Parameters" not in help


def list_commands() -> dict[str, Any]:
    return dict(typer.main.get_command(make_app()).commands)  # type: ignore[attr-defined]


def test_every_option_of_a_command_says_what_it_is_for() -> None:
    for name, command in list_commands().items():
        for option in command.params:
            assert option.name == "help" or option.help, (name, option.name)
