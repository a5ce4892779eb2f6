"""The check of all arguments: what it must let pass, and how errors are printed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import get_args, get_type_hints

import pytest
from typer.models import OptionInfo

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


# Options whose values name a file, a model, a method or a choice: they are as long as a file name at most.
NAME_OPTIONS = frozenset(
    "--allow --benchmark --cities --classifier --developer --device --doubtful --dtype --entity --finder --format --lm "
    "--model --names-are --organization --perplexity --perplexity-form --ray --regions --relationship --scripts "
    "--subject --substitute --table --texts --variant".split()
)


def test_every_option_that_takes_a_string_is_a_text_or_a_name() -> None:
    strings = set()
    for command in app.registered_commands:
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            kind, *info = get_args(hint) or (hint,)
            if {str, list[str]} & {kind, *get_args(kind)} and isinstance(info[0], OptionInfo):
                strings.add("--" + name.replace("_", "-"))
    assert strings == TEXT_OPTIONS | NAME_OPTIONS
    assert not TEXT_OPTIONS & NAME_OPTIONS


def test_a_path_that_gets_too_long_on_the_way_is_an_input_error() -> None:
    explained = explain_error(OSError(errno.ENAMETOOLONG, "File name too long", "/runs/" + "x" * 300))
    assert isinstance(explained, InputError) and "is too long for this system" in str(explained)
    assert explain_error(OSError(errno.ENOSPC, "No space left")) is None
    assert explain_error(ValueError("other")) is None


def test_an_error_is_one_printable_line_with_both_ends() -> None:
    line = format_error(f"The file\n{'x' * 5000}\x1b[31m\udcff is empty: fill it.")
    assert line.isprintable() and len(line) <= LONGEST_LINE + len("geobias: ")
    assert line.startswith("geobias: The file xxx") and line.endswith("\\x1b[31m\\xff is empty: fill it.")


@pytest.mark.slow
def test_files_and_pipes_get_utf8() -> None:
    """Whatever the system's encoding is: on Windows it has no Δ."""
    command = [sys.executable, "-m", "geobias.cli", "names", "--texts", "Δ.csv"]
    error = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "cp1252"}).stderr
    assert error.decode() == "geobias: The text file Δ.csv does not exist. Check the path.\n"
