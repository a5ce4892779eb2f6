"""`docs/commands.md`: every command with its help, arguments and options, read from the command line itself.

    python docs/make_commands.py          # or: make docs

A test compares the file with `reference()`, so a changed option cannot leave it behind.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

import typer

from geobias.cli import make_app

FILE = Path(__file__).with_name("commands.md")
VALUES = {str: "TEXT", int: "INTEGER", float: "NUMBER", Path: "PATH"}
HEAD = """\
# Commands

Made by `make docs` from the command line itself; `geobias COMMAND --help` says the same. An option without a default is
off, or is explained where it stands. Options marked *repeatable* may be given several times.

Every command also has `--help`, and `--debug`, which shows the full traceback on failure. `geobias --version` shows the
version; `geobias --install-completion` lets the Tab key complete commands and options.
"""
FOOT = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | Done. `gate`: every rule holds. `evidence --check`: the bundle is unchanged. |
| 1 | `gate`: a rule does not hold. `evidence --check`: a file was changed, is missing or was added. |
| 2 | Bad input: an option, a file or a model cannot be used. The message says what to change. |
| 3 | Failed while running, such as a server that does not answer. The same command resumes. |
| 130, 143, 129 | Stopped by Ctrl-C, SIGTERM or SIGHUP. The same command resumes. |

Every failure is one line on standard error that starts with `geobias:`. Results go to standard output, so `--json` can
be piped. In Python, bad input raises `geobias.InputError`, everything else that fails `geobias.GeobiasError`.
"""


def reference() -> str:
    """The whole page; what it says does not depend on the terminal."""
    found: Any = typer.main.get_command(make_app())
    listed = [f"| [`geobias {name}`](#geobias-{name}) | {_first(command.help)} |" for name, command in _shown(found)]
    parts = [HEAD, "\n".join(["| command | |", "|---|---|", *listed, ""])]
    parts += [_section(name, command) for name, command in _shown(found)]
    parts.append(FOOT)
    return "\n".join(parts).replace(r"\[", "[")  # escaped for the terminal


def _shown(found: Any) -> list[tuple[str, Any]]:
    return [(name, command) for name, command in found.commands.items() if not command.hidden]


def _section(name: str, command: Any) -> str:
    hints = typing.get_type_hints(command.callback)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name not in ("debug", "help")]
    usage = " ".join(["geobias", name, *(one.metavar for one in arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"## geobias {name}", "", "```usage", usage, "```", "", command.help.strip(), ""]
    if arguments:
        lines += ["| argument | |", "|---|---|"]
        lines += [f"| `{one.metavar}` | {_cell(one.help)} |" for one in arguments] + [""]
    if options:
        lines += ["| option | default | |", "|---|---|---|"]
        lines += [_row(one, hints[one.name]) for one in options] + [""]
    return "\n".join(lines)


def _row(option: Any, hint: Any) -> str:
    kinds = list(_kinds(hint))
    value = "" if bool in kinds else f" {option.metavar or VALUES[kinds[0]]}"
    several = " *repeatable*" if _is_list(hint) else ""
    default = "" if option.default is None or option.default is False else f"`{option.default}`"
    return f"| `{', '.join(option.opts)}{value}`{several} | {default} | {_cell(option.help)} |"


def _kinds(hint: Any) -> Iterator[type]:
    """The types of one value: of `list[str] | None` it is str."""
    inner = typing.get_args(hint)
    if inner:
        for each in inner:
            yield from _kinds(each)
    elif hint is not type(None):
        yield hint


def _is_list(hint: Any) -> bool:
    parts = typing.get_args(hint) if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union else (hint,)
    return any(typing.get_origin(part) is list for part in parts)


def _first(text: str) -> str:
    return _cell(text.strip().split("\n\n")[0])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
