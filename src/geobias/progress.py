"""Progress of long work: bars in terminals and notebooks, plain lines in logs."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

NOTEBOOK_WIDTH = 100  # characters
LINE_PERCENT, LINE_SECONDS = 10, 30.0  # a log gets a line after both have passed: short work leaves none

Advance = Callable[[int], None]


@contextmanager
def progress_bar(label: str, total: int, progress: bool | None) -> Iterator[Advance]:
    """Show how far a work is; yield the function that moves it on by a count.

    Terminals and notebooks get a bar with rate and time left, everything else plain lines on standard error. With
    `progress` False, or without anything to do, nothing is shown.
    """
    if progress is False or not total:
        yield lambda count: None
    elif sys.stderr.isatty() or is_notebook():
        with _bar(label, total) as advance:
            yield advance
    else:
        yield _lines(label, total)


@contextmanager
def _bar(label: str, total: int) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    label_column = TextColumn("{task.description}", markup=False)  # a model's name may have brackets
    rate_column = TextColumn("{task.fields[rate]} texts/s")
    columns = (label_column, BarColumn(), MofNCompleteColumn(), rate_column, TimeRemainingColumn())
    began, done = time.perf_counter(), 0
    with Progress(*columns, console=make_console(), transient=True) as bar:
        task = bar.add_task(label, total=total, rate="...")

        def advance(count: int) -> None:
            nonlocal done
            done += count
            bar.update(task, advance=count, rate=f"{done / (time.perf_counter() - began):,.0f}")

        yield advance


def _lines(label: str, total: int) -> Advance:
    """For logs: a line for each tenth of the work, but none within half a minute after the one before."""
    done, last_percent, last_time = 0, 0, time.perf_counter()

    def advance(count: int) -> None:
        nonlocal done, last_percent, last_time
        done += count
        percent, now = 100 * done // total, time.perf_counter()
        if percent - last_percent >= LINE_PERCENT and now - last_time >= LINE_SECONDS:
            print(f"{label}: {percent} % ({done:,} of {total:,} texts)", file=sys.stderr, flush=True)
            last_percent, last_time = percent - percent % LINE_PERCENT, now

    return advance


def is_notebook() -> bool:
    """Whether this runs in a Jupyter kernel, whose standard error is no terminal but is shown."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def make_console() -> Console:
    """The console of progress bars.

    In a notebook rich draws its bars with ipywidgets. Without that package it draws none and warns: there the bar is
    one line of text, which notebooks overwrite as terminals do.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not is_notebook() or (console.is_jupyter and importlib.util.find_spec("ipywidgets")):
        return console
    return Console(stderr=True, force_jupyter=False, force_terminal=True, width=NOTEBOOK_WIDTH)
