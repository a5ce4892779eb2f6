"""How a command may end early: signals stop it like Ctrl-C, and nothing that it calls can make it look finished."""

from __future__ import annotations

import functools
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Self

from geobias.errors import GeobiasError

INTERRUPTED = 130  # the exit code after Ctrl-C
SECONDS_BETWEEN = 5.0  # a second signal at once must not disturb what is being saved; a later one is meant
STOPPING = ("SIGTERM", "SIGHUP")  # what clusters, containers and closing terminals send; Windows has no SIGHUP


class StopSignals:
    """Inside, SIGTERM and SIGHUP interrupt the command as Ctrl-C does; `received` is the last that counted."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._handled: list[signal.Signals] = []
        self._raised_at = -math.inf

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # no other thread may handle signals
            present = [getattr(signal, name) for name in STOPPING if hasattr(signal, name)]
            # A signal that is ignored stays ignored: that is what nohup asks for.
            self._handled = [number for number in present if signal.getsignal(number) == signal.SIG_DFL]
        for number in self._handled:
            signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        for number in self._handled:
            signal.signal(number, signal.SIG_DFL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self._raised_at > SECONDS_BETWEEN:
            self.received, self._raised_at = signal.Signals(number), time.monotonic()
            raise KeyboardInterrupt


def _restore_defaults() -> None:
    """Undo the above in a forked child: a pool ends its processes by SIGTERM, and a handler may come too late there."""
    for number in (getattr(signal, name) for name in STOPPING if hasattr(signal, name)):
        if isinstance(getattr(signal.getsignal(number), "__self__", None), StopSignals):
            with suppress(ValueError):  # not the main thread: then no handler runs either
                signal.signal(number, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_restore_defaults)


def reach_the_end(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command fail if code that it calls, such as a user's model, ends the program: exit code 0 means done."""

    @functools.wraps(command)
    def run(**options: object) -> None:
        try:
            command(**options)
        except (SystemExit, GeneratorExit) as error:
            raise GeobiasError(
                f"Code that this command called ended the program ({type(error).__name__}: {error}) before there was a "
                "result: remove the call of exit() from it."
            ) from error

    return run
