"""The check of all arguments: what it must let pass, and how errors are printed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from geobias.cli import LONGEST_LINE, check_arguments, explain_error, format_error
from geobias.errors import InputError
from tests.conftest import Run


@pytest.mark.parametrize(
    "arguments",
    [
        ("names", "--countries", ",".join(["Bosnia and Herzegovina"] * 150)),
        ("names", "--labels", "a,b", "--prompt", "Is it good? " * 300 + "{text}"),
        ("names", "--prompt=" + "Is it good? " * 300 + "{text}"),
        ("regions", "models/" + "a" * 255, "--out", "~/runs"),
        ("names", "--texts", "été 北京 😀.csv"),
    ],
)
def test_long_sentences_and_unusual_names_pass(arguments: tuple[str, ...]) -> None:
    check_arguments(arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("nmaes", ["nmaes", "names", "geobias --help"]),
        ("names --countris FR", ["--countris", "--countries", "geobias names --help"]),
        ("names --draws=1.5", ["--draws", "valid integer"]),
        ("names --draws", ["--draws"]),
        ("names --quiet=3", ["--quiet"]),
        ("gate", ["RUN", "geobias gate --help"]),
        ("cache all", ["all", "geobias cache --help"]),
    ],
)
def test_wrong_usage_is_one_line_that_names_what_is_wrong_and_what_is_near(
    run: Run, arguments: str, named: list[str]
) -> None:
    code, out, err = run(*arguments.split())
    assert code == 2 and out == "" and err.count("\n") == 1 and err.startswith("geobias: ")
    assert all(name in err for name in named), err


def test_no_command_shows_the_help(run: Run) -> None:
    code, out, err = run()
    assert code == 2 and "Start with `geobias audit`" in out and err == ""


def test_a_path_that_the_system_refuses_is_an_input_error() -> None:
    explained = explain_error(OSError(errno.ENAMETOOLONG, "File name too long", "/runs/" + "x" * 300))
    assert isinstance(explained, InputError) and "too long" in str(explained)
    assert explain_error(OSError(errno.ENOSPC, "No space left")) is None


def test_an_error_is_one_printable_line_with_both_ends() -> None:
    line = format_error(f"The file\n{'x' * 5000}\x1b[31m\udcff is empty: fill it.")
    assert line.isprintable() and len(line) <= LONGEST_LINE + len("geobias: ")
    assert line.startswith("geobias: The file xxx") and line.endswith("\\x1b[31m\\xff is empty: fill it.")


def test_files_and_pipes_get_utf8() -> None:
    """Whatever the system's encoding is: on Windows it has no Δ."""
    command = [sys.executable, "-m", "geobias.cli", "names", "--texts", "Δ.csv"]
    error = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "cp1252"}).stderr
    assert error.decode() == "geobias: The text file Δ.csv does not exist. Check the path.\n"
