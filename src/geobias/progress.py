"""How far a long piece of work has come, for whoever looks at the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(label: str, total: int, progress: bool | None) -> Iterator[Any]:
    """A progress bar with rate and time left on standard error; nothing where nobody looks, or nothing is to do."""
    shown = sys.stderr.isatty() if progress is None else progress
    if not shown or not total:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} texts/s"),
        TimeRemainingColumn(),
    )
    began, done = time.perf_counter(), 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, rate="...")

        def advance(count: int) -> None:
            nonlocal done
            done += count
            bar.update(task, advance=count, rate=f"{done / (time.perf_counter() - began):,.0f}")

        yield advance
