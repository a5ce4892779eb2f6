"""Wrong usage of the command line, such as an unknown option, as one line in the words of all other errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, cast

from geobias.checks import shorten, suggest
from geobias.errors import InputError

# What the parser calls a number, and what geobias does.
NUMBERS = {"integer": "a whole number", "number": "a number", "float": "a number"}


class UsageError(Protocol):
    """The usage errors of Typer and Click, which have no common class in all releases."""

    ctx: Any

    def format_message(self) -> str: ...


def explain_usage_error(error: BaseException, arguments: Sequence[str]) -> InputError | None:
    """The input error behind a usage error of the parser: what is wrong, and the nearest valid name. None for others.

    `arguments` are those after the program's name.
    """
    if not hasattr(error, "format_message"):
        return None
    usage = cast(UsageError, error)
    context = getattr(usage, "ctx", None)
    command = context.command_path if context else "geobias"
    message = usage.format_message()
    option = re.search(r"--?[\w-]+", message)
    name = option[0] if option else ""
    value = shorten(_find_value(name, arguments))
    if message.startswith("No such option"):
        known = [flag for parameter in context.command.params for flag in parameter.opts] if context else []
        message = f"`{command}` has no option {shorten(name)}.{_suggest_name(name, [*known, '--help'])}"
        remedy = f"`{command} --help` lists all options."
    elif match := re.match(r"No such command '(.*?)'\.", message, re.DOTALL):
        known = list(context.command.commands) if context else []
        message = f"There is no command '{shorten(match[1])}'.{_suggest_name(match[1], known)}"
        remedy = "`geobias --help` lists all commands."
    elif "requires an argument" in message:
        message, remedy = f"{name} needs a value.", f"`{_find_command(arguments)} --help` explains it."
    elif "does not take a value" in message:
        message, remedy = f"{name} takes no value.", f"Write {name} alone."
    elif message.startswith("Missing argument"):
        missing = message.removeprefix("Missing argument").strip(" .'")
        message, remedy = f"`{command}` needs {missing}.", f"`{command} --help` explains it."
    elif "unexpected extra argument" in message:
        extra = shorten(message.partition("(")[2].replace("s) (", "").strip(" ()."))
        message, remedy = f"`{command}` does not take the argument {extra!r}.", f"`{command} --help` shows its usage."
    elif number := re.search(r"valid (integer|number|float)", message):
        message, remedy = f"{name} must be {NUMBERS[number[1]]}, not {value!r}.", ""
    else:
        remedy = f"`{command} --help` explains the options."
    return InputError(f"{message} {remedy}".strip())


def _suggest_name(name: str, known: Sequence[str]) -> str:
    near = suggest(name, known)
    return f" Did you mean {near[0]}?" if near else ""


def _find_command(arguments: Sequence[str]) -> str:
    """The command as typed: options that lack a value come without their command."""
    return f"geobias {arguments[0]}" if arguments and not arguments[0].startswith("-") else "geobias"


def _find_value(option: str, arguments: Sequence[str]) -> str:
    """The value that was typed for an option, as `--option value` or `--option=value`."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument == option:
            return following
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return ""
