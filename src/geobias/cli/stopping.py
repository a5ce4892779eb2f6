"""How a command may end early: signals stop it like Ctrl-C, and nothing that it calls can make it look finished."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

from geobias.errors import GeobiasError

INTERRUPTED = 130  # the exit code after Ctrl-C
STOPPING = ("SIGTERM", "SIGHUP")  # what clusters, containers and closing terminals send; Windows has no SIGHUP


class StopSignals:
    """Inside, SIGTERM and SIGHUP interrupt the command as Ctrl-C does; `received` is the first that came."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._handled: list[signal.Signals] = []

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
        if self.received is None:  # a second one must not disturb what is being saved
            self.received = signal.Signals(number)
            raise KeyboardInterrupt


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
