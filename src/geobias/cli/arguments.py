"""What is checked of every argument before any command sees it, and how errors are printed: one line, never a flood."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from geobias.checks import escape, find_unusable_character, shorten, shorten_middle
from geobias.errors import InputError

LONGEST_ARGUMENT = 4096  # characters; the longest path that Linux takes
LONGEST_LINE = 600  # characters of an error


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse arguments that no command could use: empty, not UTF-8, or absurdly long.

    `arguments` are those after the program's name. A file name that is not UTF-8 could be read, but not be named in
    results.json or on the terminal; so it is refused before anything is done.
    """
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if not argument.strip() or (option.startswith("--") and equals and not value.strip()):
            place = option if equals else "An argument"
            raise InputError(f"{place} is empty. Remove it, or check the shell variable that it comes from.")
        shown = f"'{escape(shorten(argument))}'"
        if find_unusable_character(argument):
            raise InputError(f"The argument {shown} is not valid UTF-8. Type it in UTF-8, or rename the file.")
        if len(argument) > LONGEST_ARGUMENT:
            raise InputError(
                f"The argument {shown} has {len(argument):,} characters; the limit is {LONGEST_ARGUMENT:,}. "
                "Shorten it, or put a long prompt into a file."
            )


def explain_error(error: BaseException) -> InputError | None:
    """The input error behind an exception of the system or of the parser; None for any other.

    A name may be too long for the system, a home folder unknown, or an option, a command or a value wrong; the parser
    says what, and what is near.
    """
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = shorten(os.path.basename(str(error.filename or "")))
        return InputError(f"The path of {name!r} is too long for this system. Choose a shorter one.")
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # of Path.expanduser
        return InputError("A path starts with ~ and a name that has no home folder here. Write the path without ~.")
    if hasattr(error, "format_message"):  # Typer's usage errors, which have no common class in all releases
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "geobias COMMAND"
        return InputError(f"{error.format_message().removesuffix('.')}. `{command} --help` explains the usage.")
    return None


def format_error(message: str) -> str:
    """An error as one line that any terminal can show; the middle of a very long one is left out."""
    return f"geobias: {shorten_middle(escape(' '.join(message.split())), LONGEST_LINE)}"
