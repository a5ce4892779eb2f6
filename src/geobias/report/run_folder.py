"""Which files of a folder geobias may replace or delete: those that it wrote and recorded, and no others.

A folder is written only if it is absent, empty, or already holds the same run. Every file of a run is recorded: in
run.json (index.json where a folder holds several runs) once it is finished, in `.geobias-run.json` until then.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from geobias.checks import shorten
from geobias.errors import InputError
from geobias.files import TEMPORARY_FILE, remove_temporary_files, write_whole, writing

try:
    import fcntl
except ImportError:  # Windows has no flock: there, two processes must not write one folder at the same time
    fcntl = None  # type: ignore[assignment]

RUN, RESULTS, INDEX, PAGE = "run.json", "results.json", "index.json", "report.html"
RECORD = ".geobias-run.json"
STAGING = ".geobias-partial"  # a folder of files on their way
IGNORED = {".DS_Store", "Thumbs.db", "desktop.ini", ".gitkeep"}  # what systems leave in a folder that looks empty
MODEL, MODELS = "model", "models"  # what a study trained
ANSWERS = ("answers.parquet", "likelihoods.parquet", "counterfactuals.parquet")
RESERVED = {RUN, RESULTS, INDEX, PAGE, RECORD, MODEL, MODELS, "tables", "figures", *ANSWERS}
LOCK_SECONDS = 60.0  # longer than it takes another process to save its run


class RunFolder:
    """The folder of one run, or of several with an index.

    `check` it before the work. To write, `stage` files and `move_in` what was staged; `hold` it around a long work that
    writes into it.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, description: str = RUN) -> None:
        self.path = path
        self.settings = json.loads(json.dumps(settings))
        self.description = description
        self._locked = False
        self._created: list[Path] = []  # by this process: the folder and those above it

    def check(self, fingerprints: Sequence[str | None] = ()) -> set[str]:
        """Return the recorded files; raise InputError unless this run (with these models) may be written here."""
        names = {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()
        entries = {name for name in names - IGNORED if not TEMPORARY_FILE.fullmatch(name)}
        if not entries:
            return set()
        remedy = "Choose another --out, or remove the folder"
        records = _read_records(self.path)
        if not records:
            raise InputError(
                f"{self.path} is not empty and not a geobias run (it has {min(entries)}). Choose another --out."
            )
        if self.description != INDEX and INDEX in records:
            raise InputError(f"{self.path} has several finished runs with other settings. {remedy}.")
        if RECORD in records and records[RECORD].get("settings") != self.settings:
            raise InputError(f"{self.path} has an unfinished run with other settings. {remedy}.")
        if {RUN, INDEX} & records.keys():
            description = records.get(self.description, {})
            if _described_settings(description) != self.settings:
                raise InputError(f"{self.path} has a finished run with other settings. {remedy}.")
            if "files" not in description:
                raise InputError(f"{self.path} was written by an earlier version of geobias. Choose another --out.")
            models = description.get("models") or [description.get("model", {})]
            if fingerprints and [model.get("fingerprint") for model in models] != list(fingerprints):
                raise InputError(f"{self.path} has a finished run with other models. {remedy}.")
        files = _recorded_files(records.get(RECORD) or records[self.description])
        for name in sorted(entries & RESERVED - {RECORD, self.description}):
            self._check_entry(Path(name), files)
        return files

    def claim(self, *subfolders: str) -> None:
        """Create the folder and record whose it is; `subfolders` may then be written and deleted as a whole."""
        with writing(self.path), self.lock():
            self._record(self.check() | {f"{name}/" for name in subfolders})

    @contextmanager
    def hold(self, *subfolders: str) -> Iterator[None]:
        """Claim the folder for a long work, and refuse at once if another process has it."""
        with self.lock(seconds=0):
            self.claim(*subfolders)
            try:
                yield
            finally:
                self._release()

    def _release(self) -> None:
        """Undo a claim that came to nothing: nothing was written but the record."""
        with suppress(OSError):
            if [entry.name for entry in self.path.iterdir()] == [RECORD]:
                (self.path / RECORD).unlink()  # `lock` deletes the folder, if it was new

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """Give a temporary folder inside this one for `move_in`; it is gone afterwards, whatever happens."""
        with writing(self.path), self.lock():
            files = self.check()
            # Under the lock nobody else is writing: what is temporary was left by a process that was killed.
            staging = self.path / STAGING
            self._check_entry(Path(STAGING), files)
            shutil.rmtree(staging, ignore_errors=True)
            remove_temporary_files(self.path)
            self._record(files | {f"{STAGING}/"})
            staging.mkdir()
            try:
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
                self._record(self._files_on_record() - {f"{STAGING}/"})
                if self.description != RECORD and (self.path / self.description).is_file():
                    (self.path / RECORD).unlink()  # a finished run needs no separate record
                self._release()

    def move_in(self, staging: Path, *, keep_description: bool = False) -> list[Path]:
        """Move everything in `staging` to its place and record it; refuse before the first file if one is not ours.

        Until `finish` describes the new files there is no description of the old ones, unless `keep_description`.
        """
        files = self._files_on_record()
        moves = [file.relative_to(staging) for file in sorted(staging.rglob("*")) if file.is_file()]
        names = {file.as_posix() for file in moves}
        for file in moves:
            self._check_entry(file, files)
            for parent in file.parents[:-1]:
                self._check_entry(parent, files)
        self._record(files | names)
        if keep_description:
            description = read_json(self.path / self.description)
            description["files"] = _lasting(_recorded_files(description) | names)
            write_json(self.path / self.description, description)
        else:
            (self.path / self.description).unlink(missing_ok=True)
        for file in moves:
            (self.path / file).parent.mkdir(parents=True, exist_ok=True)
            (staging / file).replace(self.path / file)
        return [self.path / file for file in moves]

    @contextmanager
    def add(self) -> Iterator[Path]:
        """Give a temporary folder; what is written there joins the files that are described already."""
        with self.stage() as staging:
            yield staging
            self.move_in(staging, keep_description=True)

    def finish(self, description: Mapping[str, Any]) -> None:
        """Write the description, which makes the folder a finished run."""
        write_json(self.path / self.description, {**description, "files": _lasting(self._files_on_record())})

    @contextmanager
    def lock(self, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Keep other processes from writing this folder; where the file system has no locks, nothing is locked."""
        if self._locked:
            yield
            return
        self._created = self._created or [path for path in (self.path, *self.path.parents) if not path.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        handle = None if fcntl is None else os.open(self.path, os.O_RDONLY)
        try:
            if handle is not None:
                _acquire(handle, self.path, seconds)
            self._locked = True
            yield
        finally:
            self._locked = False
            if handle is not None:
                os.close(handle)
            with suppress(OSError):  # empty if the run failed; else they stay
                for path in self._created:
                    path.rmdir()

    def _files_on_record(self) -> set[str]:
        return _recorded_files(read_json(self.path / RECORD))

    def _record(self, files: Iterable[str]) -> None:
        write_json(self.path / RECORD, {"settings": self.settings, "files": sorted(files)})

    def _check_entry(self, entry: Path, files: set[str]) -> None:
        """Refuse to write through a link, or over something that is not recorded."""
        path = self.path / entry
        if path.is_symlink() and path.is_dir():
            raise InputError(f"{path} is a link to another folder. Remove it, or choose another --out.")
        owners = {entry.as_posix(), *(f"{parent.as_posix()}/" for parent in (entry, *entry.parents))}
        is_recorded = owners & files or any(file.startswith(f"{entry.as_posix()}/") for file in files)
        if (path.is_symlink() or path.exists()) and not is_recorded:
            raise InputError(f"{path} exists and was not written by geobias. Move it, or choose another --out.")


def add_to_run(folder: Path) -> AbstractContextManager[Path]:
    """Give a temporary folder; what is written there joins the finished run, if it replaces nothing of the user's."""
    description = INDEX if (folder / INDEX).is_file() else RUN
    settings = _described_settings(read_json(folder / description))
    return RunFolder(folder, settings, description=description).add()


def write_folder(folder: Path, purpose: str) -> AbstractContextManager[Path]:
    """Give a temporary folder; what is written there goes into a folder that geobias alone writes, for one purpose."""
    return RunFolder(folder, {"purpose": purpose}, description=RECORD).add()


def holds_run(folder: Path) -> bool:
    """Whether a folder holds a run of geobias, or several, finished or not."""
    return bool(_read_records(folder))


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object that geobias wrote; numbers that it never writes, such as NaN, are refused."""
    try:
        content = json.loads(path.read_bytes())
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()  # nor half of a surrogate pair
        problem = "" if isinstance(content, dict) else "no JSON object"
    except (OSError, ValueError) as error:
        problem = str(getattr(error, "strerror", None) or error)
    except RecursionError:
        problem = "nested too deeply"
    if problem:
        raise InputError(
            f"{path} is damaged ({shorten(problem)}) or not from geobias. Choose another folder, or remove the file."
        )
    return cast("dict[str, Any]", content)


def read_run_paths(folder: Path) -> list[Path]:
    """The folders of the runs that index.json lists. None of them leads out of the folder, whoever wrote the file."""
    runs = read_json(folder / INDEX).get("runs")
    paths = [run.get("path") if isinstance(run, dict) else None for run in runs] if isinstance(runs, list) else []
    inside = [path for path in paths if isinstance(path, str) and "\0" not in path and is_inside(path)]
    if not paths or len(inside) < len(paths):
        problem = "a run has no path in this folder" if paths else "it lists no runs"
        raise InputError(f"{folder / INDEX} is damaged ({problem}). Run the audit again.")
    return [folder / path for path in inside]


def write_json(path: Path, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text.encode())


def _described_settings(record: Mapping[str, Any]) -> Any:
    """What tells one folder from another: a run's settings, or where several runs are."""
    if "runs" in record and "settings" not in record:
        runs = record["runs"] if isinstance(record["runs"], list) else []
        return {"runs": [str(run.get("path")) for run in runs if isinstance(run, dict)]}
    return record.get("settings")


def _recorded_files(record: Mapping[str, Any]) -> set[str]:
    """The recorded paths; none that leads out of the folder, whoever wrote it."""
    files = record.get("files")
    names = [file for file in files if isinstance(file, str)] if isinstance(files, list) else []
    return set(filter(is_inside, names))


def is_inside(name: str) -> bool:
    """Whether a recorded path leads to something in its folder."""
    parts = Path(name).parts  # none of "" and "."
    return bool(parts) and not (Path(name).is_absolute() or ".." in parts or "\\" in name)


def _read_records(folder: Path) -> dict[str, dict[str, Any]]:
    """What geobias wrote about the run in a folder, by file name; another program's run.json is none of it."""
    contents = {name: read_json(folder / name) for name in (RECORD, RUN, INDEX) if (folder / name).exists()}
    return {name: content for name, content in contents.items() if name == RECORD or "schema_version" in content}


def _lasting(files: Iterable[str]) -> list[str]:
    """Without what is there only while geobias works."""
    return sorted(file for file in files if not file.startswith(STAGING))


def _acquire(handle: int, folder: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise InputError(
                    f"Another process is writing to {folder}. Wait until it is done, or choose another --out."
                ) from None
            time.sleep(0.05)
        except OSError:  # some network file systems have no locks
            return
