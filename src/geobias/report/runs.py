"""A run is a folder: run.json, results.json, tables/*.csv, likelihoods.parquet.

Its files are written aside (in `.partial`) and moved into place, run.json last: a folder without it is no run. Only
files of these names are ever replaced; whatever else lies in the folder stays.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.regions import RegionsResult
from geobias.errors import InputError
from geobias.files import write_whole, writing
from geobias.report.tables import csv_text, region_rows, topic_rows, word_rows

RUN, RESULTS, LIKELIHOODS, INDEX, PARTIAL = "run.json", "results.json", "likelihoods.parquet", "index.json", ".partial"
OURS = {RUN, RESULTS, LIKELIHOODS, PARTIAL, "tables"}


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


def refuse_foreign(folder: Path, settings: Mapping[str, Any], fingerprint: str | None = None) -> None:
    """Refuse a folder that holds a run of other settings (or another model, once it is known), or things not ours."""
    held = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if INDEX in held:
        raise InputError(f"{folder} holds several finished runs of other settings: choose another --out, or remove it.")
    if RUN not in held:
        if held - OURS:
            raise InputError(f"{folder} is not empty and holds no run of geobias: choose another --out.")
        return
    run = _read_json(folder / RUN)
    same = run.get("settings") == json.loads(json.dumps(settings))
    same &= fingerprint is None or run.get("model", {}).get("fingerprint") == fingerprint
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
    elif held - {run.split("/")[0] for run in runs}:
        raise InputError(f"{folder} is not empty and holds no run of geobias: choose another --out.")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged, or not of geobias: choose another --out, or remove it.")
    return content


def save_run(folder: Path, result: RegionsResult, *, seconds: float) -> None:
    """Write the run's files aside, then move them into place."""
    refuse_foreign(folder, result.settings, result.model["fingerprint"])
    results = result.to_dict()
    run = {key: results[key] for key in ("schema_version", "audit", "settings", "model", "versions")}
    run |= {"finished": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "seconds": seconds, "work": result.work}
    aside, is_new = folder / PARTIAL, not folder.exists()
    with writing(folder):
        try:
            shutil.rmtree(aside, ignore_errors=True)  # of a run that was killed while it wrote
            (aside / "tables").mkdir(parents=True)
            write_json(aside / RESULTS, results)
            for name, rows in (("regions", region_rows), ("words", word_rows), ("topics", topic_rows)):
                (aside / "tables" / f"{name}.csv").write_text(csv_text(rows(result)), encoding="utf-8")
            _write_likelihoods(aside / LIKELIHOODS, result)
            write_json(aside / RUN, run)
            _move_in(aside, folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            if is_new and folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
            raise


def _move_in(aside: Path, folder: Path) -> None:
    """Every file to its place, the one that makes it a run last."""
    (folder / RUN).unlink(missing_ok=True)
    (folder / "tables").mkdir(exist_ok=True)
    for file in sorted(aside.rglob("*"), key=lambda path: path.name == RUN):
        if file.is_file():
            file.replace(folder / file.relative_to(aside))
    shutil.rmtree(aside)


def save_index(folder: Path, index: Mapping[str, Any]) -> None:
    with writing(folder / INDEX):
        write_json(folder / INDEX, index)


def write_json(path: Path, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text.encode())


def _write_likelihoods(path: Path, result: RegionsResult) -> None:
    """f of every sentence (Eq. 1): a row for each template and region, a column for each word."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    regions = result.question.tree.regions[1:]
    templates = result.question.templates
    columns: dict[str, Any] = {
        "template": [template for template in templates for _ in regions],
        "id": [region.id for _ in templates for region in regions],
        "level": [region.level for _ in templates for region in regions],
        "name": [region.name for _ in templates for region in regions],
        "name_likelihood": np.tile(result.name_likelihoods[1:], len(templates)),
    }
    values = result.likelihoods[:, 1:].reshape(-1, len(result.question.words))
    for k, word in enumerate(result.question.words):
        columns[f"{word.topic}/{word.word}"] = values[:, k]
    pq.write_table(pa.table(columns), path, compression="zstd")
