"""Commands that end early: signals interrupt them as Ctrl-C does, and nothing that they call can fake success."""

from __future__ import annotations

import functools
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn, Self

from geobias.errors import GeobiasError

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


_mask = threading.local()  # the signals that a forking thread blocked before


def _block_signals() -> None:
    """Hold signals back while forking: one that reaches a child before its handlers are the default ones is lost.

    A process pool that ends its processes by SIGTERM would then wait for that child forever.
    """
    _mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _mask.before)


def _restore_default_handlers() -> None:
    """Let SIGTERM end a forked child at once: process pools rely on it, and a Python handler may run too late."""
    for number in STOP_SIGNALS:
        if isinstance(getattr(signal.getsignal(number), "__self__", None), StopSignals):
            with suppress(ValueError):  # not the main thread: then no Python handler runs either
                signal.signal(number, signal.SIG_DFL)
    _unblock_signals()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(
        before=_block_signals, after_in_parent=_unblock_signals, after_in_child=_restore_default_handlers
    )


def refuse_early_exit(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command fail if code that it calls, such as a user's model, calls exit(): exit code 0 means done."""

    @functools.wraps(command)
    def run(**options: object) -> None:
        try:
            command(**options)
        except (SystemExit, GeneratorExit) as error:
            raise GeobiasError(
                f"A model or function called exit() before the command finished ({type(error).__name__}: {error}). "
                "Remove that call."
            ) from error

    return run
