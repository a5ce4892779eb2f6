"""The command line: parse, call a command, say what went wrong.

Exit codes: 0 done, 1 a gate failed, 2 bad input, 3 failed while running, 130 interrupted; 143 and 129: stopped by
SIGTERM and SIGHUP.

The options of a command are in the `command` module of its audit; what it does is imported when it runs, so that
`geobias --help` answers at once.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from geobias import __version__
from geobias.audits.country_map.command import world_map
from geobias.audits.country_space.command import space
from geobias.audits.gate.command import gate
from geobias.audits.overview.command import audit
from geobias.audits.registry import AUDITS
from geobias.cli.arguments import check_arguments, explain_error, format_error
from geobias.cli.early_exit import INTERRUPTED, StopSignals, refuse_early_exit
from geobias.cli.finished_runs import card, open_page, report
from geobias.cli.models_and_cache import cache, models
from geobias.cli.schema import schema
from geobias.errors import GeobiasError

app = typer.Typer(
    name="geobias",
    help="Audit language models and text classifiers for bias by place and nationality.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
# Commands that measure nothing of their own: they run audits, or read finished runs.
OTHER_COMMANDS: dict[str, Callable[..., None]] = {
    "report": report,
    "open": open_page,
    "card": card,
    "gate": gate,
    "map": world_map,
    "space": space,
    "schema": schema,
    "models": models,
    "cache": cache,
}


def register_commands() -> None:
    """`geobias audit`, then the command of every audit in the registry, then all others."""
    commands = {"audit": audit}
    commands |= {row.name: row.load("command", row.name) for row in AUDITS}
    for name, command in (commands | OTHER_COMMANDS).items():
        app.command(name)(refuse_early_exit(command))


register_commands()


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"geobias {__version__}")
        raise typer.Exit


def main() -> None:
    """Run a command; every failure is one line on standard error, unless --debug asks for the traceback."""
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
            app()
    except SystemExit as error:  # how Typer ends every command: done, wrong usage, or interrupted
        if error.code == INTERRUPTED or (error.code and signals.received):
            signals.exit()
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or signals.received:
            signals.exit()
        if "--debug" in sys.argv:
            raise
        known = error if isinstance(error, GeobiasError) else explain_error(error)
        message = str(known) if known else f"failed: {type(error).__name__}: {error} (--debug shows where)"
        print(format_error(message), file=sys.stderr)
        sys.exit(known.exit_code if known else GeobiasError.exit_code)
