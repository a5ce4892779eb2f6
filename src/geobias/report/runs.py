"""Runs as folders: how they are named, saved, read and opened. Nothing heavy is imported: `report --open` is quick.

A run is run.json, results.json, report.html, tables/*.csv, figures of some, and the answers behind them as Parquet.
run.json is written last: a folder without it is no finished run. `run_folder` says which folders may be written.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from geobias.errors import InputError
from geobias.report.run_folder import INDEX, RUN, RunFolder, read_json, read_run_paths

if TYPE_CHECKING:
    from geobias.report.results import AuditResult

AnyResult = TypeVar("AnyResult", bound="AuditResult", covariant=True)


@dataclass(frozen=True)
class RunDescription:
    """What run.json has in addition to the settings: when and how a run was made."""

    finished: str
    seconds: float
    work: dict[str, int]
    """How many texts had to be scored; the rest was in the store."""
    fast: dict[str, list[str]]
    """For each model the parts of the fast path that it used, by name; none with GEOBIAS_FAST=0."""
    command: str | None = None
    """The command as it was typed; null for a run made from Python."""
    texts_left_out: bool = False
    """Whether this is a copy without the texts that were scored, in a bundle of evidence."""
    results_sha256: str | None = None
    """The SHA-256 of results.json, which every reader checks: it shows that the file was edited by accident."""


@dataclass(frozen=True)
class FinishedRun(Generic[AnyResult]):
    """A finished run: its folder, its results, and how it was made."""

    folder: Path
    result: AnyResult
    description: RunDescription


def slug(name: str) -> str:
    """A model's name as a folder's: the last parts of a path, letters that any file system takes."""
    tail = "/".join(Path(name).parts[-2:])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", tail).strip("-.") or "model"


def new_folder(label: str) -> Path:
    """A folder under runs/ that is not there yet, named by time and label."""
    stem = f"{datetime.now():%Y-%m-%d-%H%M%S}-{label}"
    candidates = (Path("runs") / (stem if n == 1 else f"{stem}-{n}") for n in range(1, 1000))
    return next(path for path in candidates if not path.exists())


def place_for(out: str | Path) -> Path:
    """The folder that `--out` means, written out; refused at once where nothing could be written."""
    folder = Path(out).expanduser().resolve()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. --out must be a folder.")
    standing = next(path for path in (folder, *folder.parents) if path.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK):
        raise InputError(f"Cannot write to {standing}. Choose another --out.")
    return folder


def shown(folder: Path) -> Path:
    """A folder as a person at the terminal would name it."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def runs_in(folder: Path) -> list[Path]:
    """The folder itself, or those of the runs that it holds."""
    if not (folder / INDEX).is_file():
        return [folder]
    return read_run_paths(folder)


def index_folder(path: Path, runs: Sequence[str]) -> RunFolder:
    """The folder of several runs, which lie below it."""
    return RunFolder(path, {"runs": list(runs)}, description=INDEX)


def typed_command() -> str | None:
    """The command that a user typed, if it was one."""
    program, *arguments = sys.argv
    return shlex.join(["geobias", *arguments]) if Path(program).name == "geobias" else None


def open_page(page: Path) -> None:
    """Open a page in the browser; where there is none, say where the page is."""
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"Cannot start a browser. Open {page} yourself.")


def find_latest_run(folder: Path) -> Path:
    """The run below a folder that was finished last; one that holds several runs counts by its last one."""
    finished = [(time, run) for run in sorted(folder.glob("*/")) for time in _list_times(run)]
    if not finished:
        raise InputError(
            f"There is no finished run in {folder}/. Run `geobias audit` first, or pass the folder of a run."
        )
    return max(finished)[1]


def _list_times(folder: Path) -> Iterator[str]:
    """When the runs in a folder were finished, as run.json says; none for a folder of something else."""
    for path in read_run_paths(folder) if (folder / INDEX).is_file() else [folder]:
        if (path / RUN).is_file():
            yield str(read_json(path / RUN).get("finished", ""))
