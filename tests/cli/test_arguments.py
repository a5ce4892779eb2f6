"""The check of all arguments: what it must let pass, and how errors are printed."""

from __future__ import annotations

import errno

import pytest
import typer

from geobias.cli import app
from geobias.cli.arguments import LONGEST_LINE, TEXT_OPTIONS, check_arguments, explain_error, format_error
from geobias.errors import InputError


@pytest.mark.parametrize(
    "arguments",
    [
        ("names", "--countries", ",".join(["Bosnia and Herzegovina"] * 150)),
        ("names", "--labels", "a,b", "--prompt", "Is it good? " * 300 + "{text}"),
        ("names", "--prompt=" + "Is it good? " * 300 + "{text}"),
        ("regions", "--begin", ""),
        ("regions", "models/" + "a" * 255, "--out", "~/runs"),
        ("names", "--texts", "été 北京 😀.csv"),
    ],
)
def test_long_sentences_and_unusual_names_pass(arguments: tuple[str, ...]) -> None:
    check_arguments(arguments)


def test_options_that_take_sentences_exist() -> None:
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    assert {option for command in commands for parameter in command.params for option in parameter.opts} >= TEXT_OPTIONS


def test_a_path_that_gets_too_long_on_the_way_is_an_input_error() -> None:
    explained = explain_error(OSError(errno.ENAMETOOLONG, "File name too long", "/runs/" + "x" * 300))
    assert isinstance(explained, InputError) and "is too long for this system" in str(explained)
    assert explain_error(OSError(errno.ENOSPC, "No space left")) is None
    assert explain_error(ValueError("other")) is None


def test_an_error_is_one_printable_line_with_both_ends() -> None:
    line = format_error(f"The file\n{'x' * 5000}\x1b[31m\udcff is empty: fill it.")
    assert line.isprintable() and len(line) <= LONGEST_LINE + len("geobias: ")
    assert line.startswith("geobias: The file xxx") and line.endswith("\\x1b[31m\\xff is empty: fill it.")
