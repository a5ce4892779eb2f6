"""`docs/commands.md`: every command with its help, arguments and options, read from the command line itself.

    python docs/make_commands.py          # or: make docs

A test compares the file with `reference()`, so a changed option cannot leave it behind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from geobias.cli import make_app

FILE = Path(__file__).with_name("commands.md")
HEAD = """\
# Commands

Made by `make docs` from the command line itself; `geobias COMMAND --help` says the same. Options marked
*repeatable* may be given several times.

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
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name not in ("debug", "help")]
    usage = " ".join(["geobias", name, *map(_usage, arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"## geobias {name}", "", "```usage", usage, "```", "", command.help.strip(), ""]
    if arguments:
        lines += ["| argument | |", "|---|---|"]
        lines += [f"| `{one.metavar}` | {_cell(one.help)} |" for one in arguments] + [""]
    if options:
        lines += ["| option | |", "|---|---|", *map(_row, options), ""]
    return "\n".join(lines)


def _usage(argument: Any) -> str:
    metavar = argument.metavar if argument.required else f"[{argument.metavar}]"
    return f"{metavar}{'...' if argument.nargs == -1 else ''}"


def _row(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or 'TEXT'}"
    several = " *repeatable*" if option.multiple else ""
    return f"| `{', '.join(option.opts)}{value}`{several} | {_cell(option.help)} |"


def _first(text: str) -> str:
    return _cell(text.strip().split("\n\n")[0])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
