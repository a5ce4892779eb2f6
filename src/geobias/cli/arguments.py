"""What is checked of every argument before any command sees it, and how errors are printed: one line, never a flood."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from geobias.checks import escape, find_unusable_character, shorten, shorten_middle
from geobias.errors import InputError

LONGEST_ARGUMENT = 4096  # characters; the longest path that Linux takes
LONGEST_PATH = 1024  # bytes; the longest that macOS takes, and a run adds folders
LONGEST_FILE_NAME = 255  # bytes, on every usual file system
LONGEST_LINE = 600  # characters of an error
# Options whose values are sentences, lists or column names. All other values are numbers, or name a file or a model.
TEXT_OPTIONS = frozenset(
    "--ablate --begin --column --continents --control --countries --domains --endpoint --label --labels --levels "
    "--method --negative --origin --positive --prefix --prompt --rule --score --spans --subset --system --template "
    "--topic --without --word".split()
)


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse arguments that no command could use: not UTF-8, absurdly long, or names that no file system takes.

    `arguments` are those after the program's name. A file name that is not UTF-8 could be read, but not be named in
    results.json or on the terminal; so it is refused before anything is done.
    """
    before = ""
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if not (argument.startswith("--") and equals):
            option, value = before, argument
        before = argument
        shown = f"'{escape(shorten(argument))}'"
        if "\0" in argument:
            raise InputError(f"The argument {shown} has a NUL character: remove it.")
        if find_unusable_character(argument):
            remedy = "Type it in UTF-8" if option in TEXT_OPTIONS else "Rename the file or folder"
            raise InputError(f"The argument {shown} is not valid UTF-8. {remedy}.")
        if len(argument) > LONGEST_ARGUMENT:
            raise InputError(
                f"The argument {shown} has {len(argument):,} characters; the limit is {LONGEST_ARGUMENT:,}. "
                "Shorten it, or put a long prompt into a file."
            )
        if option not in TEXT_OPTIONS:
            if not value.strip():
                place = option if option.startswith("--") else "An argument"
                raise InputError(f"{place} is empty. Remove it, or check the shell variable that it comes from.")
            _check_name(value)


def _check_name(name: str) -> None:
    """Refuse what cannot be the name of a file, a folder or a model."""
    longest = max(name.split("/"), key=lambda part: len(part.encode()))
    if len(longest.encode()) > LONGEST_FILE_NAME:
        raise InputError(
            f"The name '{escape(shorten(longest))}' has {len(longest.encode()):,} bytes; the limit for "
            f"files, folders and models is {LONGEST_FILE_NAME}. Shorten it."
        )
    if len(name.encode()) > LONGEST_PATH:
        raise InputError(
            f"The path '{escape(shorten(name))}' has {len(name.encode()):,} bytes; the limit is {LONGEST_PATH:,}. "
            "Choose a shorter path."
        )
    if name.startswith("~") and os.path.expanduser(name).startswith("~"):
        raise InputError(f"No home folder exists for '{escape(shorten(name))}'. Write the path without ~.")


def explain_error(error: BaseException) -> InputError | None:
    """The input error behind an exception of the system: a path that got too long on the way. None for any other."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = shorten(os.path.basename(str(error.filename or "")))
        return InputError(f"The path of {name!r} is too long for this system. Choose a shorter one.")
    return None


def format_error(message: str) -> str:
    """An error as one line that any terminal can show; the middle of a very long one is left out."""
    return f"geobias: {shorten_middle(escape(' '.join(message.split())), LONGEST_LINE)}"
