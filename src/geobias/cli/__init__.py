"""The command line: parse, call a command, say what went wrong.

Exit codes: 0 done, 1 a gate failed or a bundle was changed, 2 bad input, 3 failed while running, 130 interrupted; 143
and 129: stopped by SIGTERM and SIGHUP.

The options of a command are in the `command` module of its audit; what it does is imported when it runs, so that
`geobias --help` answers at once.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from geobias import __version__
from geobias.audits.gate.command import gate
from geobias.audits.overview.command import audit
from geobias.audits.registry import AUDITS, BUNDLED
from geobias.cli.arguments import check_arguments, explain_error, format_error
from geobias.cli.early_exit import INTERRUPTED, StopSignals, refuse_early_exit
from geobias.cli.evidence import evidence
from geobias.cli.explain import explain
from geobias.cli.exports import export, push_card
from geobias.cli.finished_runs import card, open_page, report
from geobias.cli.models_cache_schema import cache, models, schema
from geobias.cli.usage_errors import explain_usage_error
from geobias.errors import GeobiasError, InputError
from geobias.options import keep_brackets
from geobias.papers.command import reproduce

app = typer.Typer(
    name="geobias",
    help="Audit language models and text classifiers for bias by place and nationality.\n\n"
    "Start with `geobias audit` for the bundled models, or `geobias audit MODEL` for yours. Then run `geobias open` to "
    "see the findings in your browser.",
    pretty_exceptions_enable=False,
)
AUDITS_PANEL, RUNS_PANEL = "Audits", "Finished runs"
# Commands that are no audits, by their group in `geobias --help`.
OTHER_COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    RUNS_PANEL: {
        "open": open_page,
        "report": report,
        "gate": gate,
        "card": card,
        "evidence": evidence,
        "push-card": push_card,
        "export": export,
    },
    "Papers": {"reproduce": reproduce},
    "Other": {"explain": explain, "models": models, "cache": cache, "schema": schema},
}


def register_commands() -> None:
    """Register `geobias audit`, then the command of every audit in the registry, then all others."""
    audits = dict(_load_commands())
    finished_runs = {"compare": audits.pop("compare"), **OTHER_COMMANDS[RUNS_PANEL]}
    panels = {AUDITS_PANEL: {"audit": audit, **audits}, **OTHER_COMMANDS, RUNS_PANEL: finished_runs}
    for panel, commands in panels.items():
        for name, command in commands.items():
            text = keep_brackets(_join_lines(command.__doc__ or ""))
            app.command(name, help=text, rich_help_panel=panel)(refuse_early_exit(command))


def _load_commands() -> Iterator[tuple[str, Callable[..., None]]]:
    """The command of every audit. One of another package that cannot be loaded must not break all others."""
    names = {"audit", *(name for commands in OTHER_COMMANDS.values() for name in commands)}
    for row in list(AUDITS):
        try:
            if row.name in names:
                raise InputError("geobias has a command of this name")
            yield row.name, row.load("command", row.name)
        except Exception as error:
            if row.name in BUNDLED:
                raise
            AUDITS.remove(row)
            reason = " ".join(str(error).split())
            print(f"geobias: The audit {row.name!r} of another package cannot be loaded: {reason}", file=sys.stderr)


def _join_lines(text: str) -> str:
    """Paragraphs without the line breaks of the source: the terminal breaks lines where they end."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


register_commands()


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"geobias {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(InputError.exit_code)


def main() -> None:
    """Run a command; every failure is one line on standard error, unless --debug asks for the traceback."""
    _open_closed_streams()
    _restart_in_utf8()
    for stream in (sys.stdout, sys.stderr):  # files and pipes get UTF-8, also on Windows; an old terminal may show "?"
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("geobias: %(message)s"))
    logging.getLogger("geobias").handlers = [handler]
    signals = StopSignals()
    try:
        with signals:
            check_arguments(sys.argv[1:])
            # The name also for `python -m geobias.cli`: shell completion is bound to it. Not standalone: Typer would
            # print usage errors in a box.
            sys.exit(app(prog_name="geobias", standalone_mode=False) or 0)
    except SystemExit as error:  # done, a gate failed, or interrupted
        if error.code == INTERRUPTED or (error.code and signals.received):
            signals.exit()
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or signals.received:
            signals.exit()
        if "--debug" in sys.argv:
            raise
        known = error if isinstance(error, GeobiasError) else explain_error(error)
        known = known or explain_usage_error(error, sys.argv[1:])
        message = str(known) if known else f"failed: {type(error).__name__}: {error} (--debug shows the traceback)"
        print(format_error(message), file=sys.stderr)
        sys.exit(known.exit_code if known else GeobiasError.exit_code)


def _open_closed_streams() -> None:
    """Open the null device for standard streams that are closed, as for `geobias ... <&-`.

    The next file or folder to be opened would take the number of the stream, and the library that draws charts fails
    with a folder as its standard input.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8"))


def _restart_in_utf8() -> None:
    """Start Python again in its UTF-8 mode if the locale is ASCII, as for `LC_ALL=C PYTHONUTF8=0`.

    Arguments and names of files, which Python has decoded by then, and files that other packages read would not be
    UTF-8 otherwise. `-X utf8` wins over the variable, so this happens once.
    """
    if sys.getfilesystemencoding() == "ascii":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
