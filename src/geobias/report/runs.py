"""A run is a folder: run.json, results.json, tables/*.csv, figures of some, and the answers behind them as Parquet.

Its files are written aside (in `.partial`) and moved into place, run.json last: a folder without it is no run. Only
files of these names are ever replaced; whatever else lies in the folder stays.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from geobias.errors import InputError
from geobias.files import write_whole, writing

RUN, RESULTS, INDEX, PARTIAL, PAGE = "run.json", "results.json", "index.json", ".partial", "report.html"
log = logging.getLogger("geobias")
MODELS = "models"  # of a study that trains some: their weights and their own runs
ANSWERS = {"likelihoods.parquet", "counterfactuals.parquet", "predictions.parquet"}
TRAINING, MODEL = "training", "model"  # a training that goes on between commands, and what came out of it
OURS = {RUN, RESULTS, PARTIAL, PAGE, MODELS, TRAINING, MODEL, "tables", "figures", *ANSWERS}


class Result(Protocol):
    """What every audit gives: the content of results.json, and what it had to compute for it."""

    @property
    def work(self) -> dict[str, int]: ...

    def to_dict(self) -> dict[str, Any]: ...


Found = TypeVar("Found", bound=Result)


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


def refuse_foreign(folder: Path, settings: Mapping[str, Any], fingerprints: Sequence[str | None] = ()) -> None:
    """Refuse a folder that holds a run of other settings (or other models, once they are known), or things not ours."""
    held = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if INDEX in held:
        raise InputError(f"{folder} holds several finished runs of other settings: choose another --out, or remove it.")
    if RUN not in held:
        if held - OURS:
            raise InputError(f"{folder} is not empty and holds no run of geobias: choose another --out.")
        return
    run = _read_json(folder / RUN)
    same = run.get("settings") == json.loads(json.dumps(settings))
    same &= not fingerprints or _fingerprints(run) == list(fingerprints)
    if not same:
        raise InputError(f"{folder} holds a finished run of other settings: choose another --out, or remove it.")


def refuse_other_index(folder: Path, runs: Sequence[str]) -> None:
    """The same for a folder of several runs: it may hold nothing, or just these runs."""
    held = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if RUN in held:
        raise InputError(f"{folder} holds a finished run of other settings: choose another --out, or remove it.")
    if INDEX in held:
        paths = [run.get("path") for run in _read_json(folder / INDEX).get("runs", [])]
        if paths != list(runs):
            raise InputError(f"{folder} holds other runs ({', '.join(map(str, paths))}): choose another --out.")
    elif held - {PAGE, *(run.split("/")[0] for run in runs)}:
        raise InputError(f"{folder} is not empty and holds no run of geobias: choose another --out.")


def read_run(folder: Path, *audits: str) -> dict[str, Any]:
    """The results of a finished run of one of these audits; whatever else the folder may hold is one sentence."""
    needed = " or ".join(f"`geobias {audit}`" for audit in audits)
    if (folder / INDEX).is_file():
        paths = ", ".join(str(folder / str(run.get("path"))) for run in _read_json(folder / INDEX).get("runs", []))
        raise InputError(f"{folder} holds several runs: name one of {paths}.")
    if not (folder / RUN).is_file():
        raise InputError(f"{folder} holds no finished run: give the folder that {needed} left.")
    results = _read_json(folder / RESULTS)
    if results.get("audit") not in audits:
        raise InputError(f"{folder} is a run of `geobias {results.get('audit')}`: one of {needed} is needed.")
    return results


def read_about(folder: Path) -> dict[str, Any]:
    """What run.json says of a finished run: when it was made, how long it took, and how it was asked."""
    return _read_json(folder / RUN)


def runs_in(folder: Path) -> list[Path]:
    """The folder itself, or those of the runs that it holds."""
    if not (folder / INDEX).is_file():
        return [folder]
    return [folder / str(run.get("path")) for run in _read_json(folder / INDEX).get("runs", [])]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged, or not of geobias: choose another folder, or remove it.")
    return content


def _fingerprints(results: Mapping[str, Any]) -> list[str | None]:
    models = results.get("models") or [results.get("model", {})]
    return [model.get("fingerprint") for model in models]


def save_run(folder: Path, result: Found, write_files: Callable[[Path, Found], None], *, seconds: float) -> None:
    """Write the run's files aside and move them into place; then its page, without which it is a run all the same."""
    results = result.to_dict()
    refuse_foreign(folder, results["settings"], _fingerprints(results))
    described = ("schema_version", "audit", "settings", "model", "models", "versions")
    run = {key: results[key] for key in described if key in results}
    run |= {"finished": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "seconds": seconds, "work": result.work}
    run |= {"command": asked_as()}
    aside, is_new = folder / PARTIAL, not folder.exists()
    with writing(folder):
        try:
            shutil.rmtree(aside, ignore_errors=True)  # of a run that was killed while it wrote
            (aside / "tables").mkdir(parents=True)
            write_json(aside / RESULTS, results)
            write_files(aside, result)
            write_json(aside / RUN, run)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            if is_new and folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
            raise
        _move_in(aside, folder)
    _write_page(folder)


def _write_page(folder: Path) -> None:
    """What was measured may have taken days: a page that cannot be made costs a sentence, not the run."""
    from geobias.report.page.build import read, write_page  # the page reads runs, so it knows this module

    try:
        write_page(folder / PAGE, read(folder))
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        log.warning("the run is saved, but not its page (%s); try `geobias report %s`", why, folder)


def _move_in(aside: Path, folder: Path) -> None:
    """Every file to its place, the one that makes it a run last."""
    (folder / RUN).unlink(missing_ok=True)
    for file in sorted(aside.rglob("*"), key=lambda path: path.name == RUN):
        if file.is_file():
            place = folder / file.relative_to(aside)
            place.parent.mkdir(exist_ok=True)
            file.replace(place)
    shutil.rmtree(aside)


def asked_as() -> str | None:
    """The command that a user typed, if it was one."""
    program, *arguments = sys.argv
    return shlex.join(["geobias", *arguments]) if Path(program).name == "geobias" else None


def save_index(folder: Path, index: Mapping[str, Any]) -> None:
    """What ties several runs together, and the page of them all."""
    with writing(folder / INDEX):
        write_json(folder / INDEX, index)
    _write_page(folder)


def write_json(path: Path, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text.encode())
