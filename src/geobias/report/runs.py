"""Runs as folders: how they are named, saved and read.

A run is run.json, results.json, report.html, tables/*.csv, figures of some, and the answers behind them as Parquet.
run.json is written last: a folder without it is no finished run. `run_folder` says which folders may be written.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from geobias.errors import InputError
from geobias.report.run_folder import (
    INDEX,
    PAGE,
    RESULTS,
    RUN,
    RunFolder,
    index_settings,
    model_fingerprints,
    read_json,
    write_json,
)

if TYPE_CHECKING:
    from geobias.report.page.build import Finished

log = logging.getLogger("geobias")


class Result(Protocol):
    """What every audit gives: the content of results.json, and what it had to compute for it."""

    @property
    def work(self) -> dict[str, int]: ...

    def to_dict(self) -> dict[str, Any]: ...


AnyResult = TypeVar("AnyResult", bound=Result)


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
        raise InputError(f"{folder} is a file: give --out a folder.")
    standing = next(path for path in (folder, *folder.parents) if path.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK):
        raise InputError(f"Nothing can be written in {standing}: choose another --out.")
    return folder


def shown(folder: Path) -> Path:
    """A folder as a person at the terminal would name it."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def read_run(folder: Path, *audits: str) -> dict[str, Any]:
    """The results of a finished run of one of these audits; whatever else the folder may hold is one sentence."""
    needed = " or ".join(f"`geobias {audit}`" for audit in audits)
    if (folder / INDEX).is_file():
        paths = ", ".join(str(folder / str(run.get("path"))) for run in read_json(folder / INDEX).get("runs", []))
        raise InputError(f"{folder} holds several runs: name one of {paths}.")
    if not (folder / RUN).is_file():
        raise InputError(f"{folder} holds no finished run: give the folder that {needed} left.")
    results = read_json(folder / RESULTS)
    if results.get("audit") not in audits:
        raise InputError(f"{folder} is a run of `geobias {results.get('audit')}`: one of {needed} is needed.")
    return results


def read_about(folder: Path) -> dict[str, Any]:
    """What run.json says of a finished run: when it was made, how long it took, and how it was asked."""
    return read_json(folder / RUN)


def runs_in(folder: Path) -> list[Path]:
    """The folder itself, or those of the runs that it holds."""
    if not (folder / INDEX).is_file():
        return [folder]
    return [folder / str(run.get("path")) for run in read_json(folder / INDEX).get("runs", [])]


def save_run(
    run: RunFolder, result: AnyResult, write_files: Callable[[Path, AnyResult], None], *, seconds: float
) -> None:
    """Write the run's files and its page aside and move them into place, run.json last."""
    results = result.to_dict()
    described = ("schema_version", "audit", "settings", "model", "models", "versions")
    description = {key: results[key] for key in described if key in results}
    description |= {"finished": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "seconds": seconds, "work": result.work}
    description |= {"command": typed_command()}
    run.check(model_fingerprints(results))
    with run.stage() as staging:
        (staging / "tables").mkdir()
        write_json(staging / RESULTS, results)
        write_files(staging, result)
        run.move_in(staging)
        _write_page(staging / PAGE, run.path, lambda: _finished(run.path, description))
        run.move_in(staging)
        run.finish(description)


def save_index(run: RunFolder, index: Mapping[str, Any]) -> None:
    """Write what ties several runs together, and the page of them all."""
    with run.stage() as staging:
        folders = [run.path / str(entry["path"]) for entry in index["runs"]]
        _write_page(staging / PAGE, run.path, lambda: [each for folder in folders for each in _read_finished(folder)])
        run.move_in(staging)
        run.finish(index)


def index_folder(path: Path, runs: Sequence[str]) -> RunFolder:
    """The folder of several runs, which lie below it."""
    return RunFolder(path, index_settings(runs), description=INDEX)


def _write_page(page: Path, folder: Path, find: Callable[[], Sequence[Finished]]) -> None:
    """What was measured may have taken days: a page that cannot be made costs a sentence, not the run."""
    from geobias.report.page.build import write_page  # the page reads runs, so it knows this module

    try:
        write_page(page, find())
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        log.warning("the run is saved, but not its page (%s); try `geobias report %s`", why, folder)


def _finished(folder: Path, description: Mapping[str, Any]) -> list[Finished]:
    from geobias.report.page.build import Finished

    return [Finished(folder, read_json(folder / RESULTS), description)]


def _read_finished(folder: Path) -> list[Finished]:
    from geobias.report.page.build import read

    return read(folder)


def typed_command() -> str | None:
    """The command that a user typed, if it was one."""
    program, *arguments = sys.argv
    return shlex.join(["geobias", *arguments]) if Path(program).name == "geobias" else None
