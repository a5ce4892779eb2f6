"""The command line: parse, call a command, say what went wrong.

Exit codes: 0 done, 1 a gate failed or a bundle was changed, 2 bad input, 3 failed while running, 130 interrupted; 143
and 129: stopped by SIGTERM and SIGHUP.

Commands are made from public functions (`commands.py`). What they do is imported when they run, so that `geobias
--help` answers at once.

Signals end a command as Ctrl-C does.
"""

from __future__ import annotations

import io
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Annotated, NoReturn, Self

import typer

from geobias import __version__
from geobias.checks import escape, find_unusable_character, shorten, shorten_middle
from geobias.cli.commands import SHOW, keep_brackets, make_audit_command, make_command, run_overview
from geobias.errors import GeobiasError, InputError

HELP = (
    "Audit language models and text classifiers for bias by place and nationality.\n\n"
    "Start with `geobias audit` for the bundled models, or `geobias audit MODEL` for yours. Then run `geobias report "
    "--open` to see the findings in your browser."
)
Commands = dict[str, Callable[..., None]]


def make_app() -> typer.Typer:
    """The command line: `geobias audit`, the command of every audit, then all others."""
    app = typer.Typer(name="geobias", help=HELP, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_show_version_or_help)
    for panel, commands in list_commands().items():
        for name, command in commands.items():
            text = keep_brackets(_join_lines(command.__doc__ or ""))
            app.command(name, help=text, rich_help_panel=panel)(command)
    return app


def list_commands() -> dict[str, Commands]:
    """All commands by their group in `geobias --help`."""
    from geobias.audits.finished_runs import gate, write_evidence, write_report
    from geobias.audits.overview.audit import audit as audit_everything
    from geobias.cli import other_commands
    from geobias.integrations import export
    from geobias.papers.reproduce import reproduce

    audit = make_command(audit_everything, partial(run_overview, audit_everything), "plan", *SHOW)
    runs: Commands = {
        "report": make_command(write_report, other_commands.run_report, "open"),
        "gate": make_command(gate, other_commands.run_gate, "json"),
        "evidence": make_command(write_evidence, other_commands.run_evidence, "check"),
        "export": make_command(export, other_commands.run_export),
    }
    papers: Commands = {"reproduce": make_command(reproduce, other_commands.run_reproduce, "quiet", "json")}
    others: Commands = {"explain": other_commands.explain, "cache": other_commands.cache}
    audits = dict(_load_commands({"audit", *runs, *papers, *others}))
    runs = {"compare": audits.pop("compare"), **runs}
    return {"Audits": {"audit": audit, **audits}, "Finished runs": runs, "Papers": papers, "Other": others}


def _load_commands(taken: Collection[str]) -> Iterator[tuple[str, Callable[..., None]]]:
    """The command of every audit. One of another package that cannot be loaded must not break all others."""
    from geobias.audits.registry import BUNDLED, list_audits

    for row in list_audits():
        try:
            if row.name in taken:
                raise InputError("geobias has a command of this name")
            yield row.name, make_audit_command(row.name, row.function)
        except Exception as error:
            if row in BUNDLED:
                raise
            reason = " ".join(str(error).split())
            print(f"geobias: The audit {row.name!r} of another package cannot be loaded: {reason}", file=sys.stderr)


def _join_lines(text: str) -> str:
    """Paragraphs without the line breaks of the source: the terminal breaks lines where they end."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _show_version_or_help(
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
            sys.exit(make_app()(prog_name="geobias", standalone_mode=False) or 0)
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
        message = str(known) if known else f"failed: {type(error).__name__}: {error} (--debug shows the traceback)"
        print(format_error(message), file=sys.stderr)
        sys.exit(known.exit_code if known else GeobiasError.exit_code)


LONGEST_LINE = 600  # characters of an error


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse arguments that no command could use: empty, or not UTF-8.

    `arguments` are those after the program's name. A file name that is not UTF-8 could be read, but not be named in
    results.json or on the terminal; so it is refused before anything is done.
    """
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if not argument.strip() or (option.startswith("--") and equals and not value.strip()):
            place = option if equals else "An argument"
            raise InputError(f"{place} is empty. Remove it, or check the shell variable that it comes from.")
        if find_unusable_character(argument):
            shown = f"'{escape(shorten(argument))}'"
            raise InputError(f"The argument {shown} is not valid UTF-8. Type it in UTF-8, or rename the file.")


def explain_error(error: BaseException) -> InputError | None:
    """The input error behind an exception of the system or of the parser; None for any other.

    A file may be none that the system takes, a home folder unknown, or an option, a command or a value wrong; the
    parser says what, and what is near.
    """
    if isinstance(error, OSError) and error.filename:
        name = shorten(os.path.basename(str(error.filename)))
        return InputError(f"{error.strerror}: {name!r}. Choose another path.")
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


INTERRUPTED = 130  # the exit code after Ctrl-C
SECONDS_BETWEEN_INTERRUPTS = 5.0  # a second signal at once must not disturb saving; a later one is meant
# Clusters, containers and closing terminals send these. Windows has no SIGHUP.
STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class StopSignals:
    """Context in which SIGTERM and SIGHUP raise KeyboardInterrupt; `received` is the last signal that did."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._handled: list[signal.Signals] = []
        self._last_interrupt = -math.inf

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # no other thread may set handlers
            # A signal that is ignored stays ignored: that is what nohup asks for.
            self._handled = [number for number in STOP_SIGNALS if signal.getsignal(number) == signal.SIG_DFL]
        for number in self._handled:
            signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        for number in self._handled:
            signal.signal(number, signal.SIG_DFL)

    def exit(self) -> NoReturn:
        """End the process after an interrupt, with one line and the usual exit code."""
        cause = f" by {self.received.name}" if self.received else ""
        print(f"geobias: stopped{cause}. The scores so far are saved; run the same command to resume.", file=sys.stderr)
        sys.exit(128 + self.received if self.received else INTERRUPTED)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self._last_interrupt > SECONDS_BETWEEN_INTERRUPTS:
            self.received, self._last_interrupt = signal.Signals(number), time.monotonic()
            raise KeyboardInterrupt


def _restore_default_handlers() -> None:
    """Let SIGTERM end a forked child at once and in silence: process pools rely on it."""
    for number in STOP_SIGNALS:
        if isinstance(getattr(signal.getsignal(number), "__self__", None), StopSignals):
            with suppress(ValueError):  # not the main thread: then no Python handler runs either
                signal.signal(number, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_restore_default_handlers)
