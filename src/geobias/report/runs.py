"""A run is a folder: run.json, results.json, tables/*.csv, likelihoods.parquet.

It appears under its name only when it is whole. A folder that holds anything else is never written over.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.regions import RegionsResult
from geobias.errors import InputError, writing
from geobias.report.tables import csv_text, region_rows, topic_rows, word_rows

RUN, RESULTS, INDEX = "run.json", "results.json", "index.json"


def slug(name: str) -> str:
    """A model's name as a folder's: the last parts of a path, letters that any file system takes."""
    tail = "/".join(Path(name).parts[-2:])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", tail).strip("-.") or "model"


def new_folder(label: str) -> Path:
    """A folder under runs/ that is not there yet, named by time and label."""
    stem = f"{datetime.now():%Y-%m-%d-%H%M%S}-{label}"
    candidates = (Path("runs") / (stem if n == 1 else f"{stem}-{n}") for n in range(1, 1000))
    return next(path for path in candidates if not path.exists())


def refuse_foreign(folder: Path, settings: Mapping[str, Any], fingerprint: str | None = None) -> None:
    """Refuse a folder that holds anything but a run of exactly these settings (and this model, once it is known)."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file: give --out a folder.")
    if not any(folder.iterdir()):
        return
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        same = run["settings"] == json.loads(json.dumps(settings))
        same &= fingerprint is None or run["model"]["fingerprint"] == fingerprint
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder} is not empty and holds no run of geobias: choose another --out.") from None
    if not same:
        raise InputError(f"{folder} holds a finished run of other settings: choose another --out, or remove it.")


def refuse_other_index(folder: Path, runs: list[str]) -> None:
    """The same for a folder of several runs: it may hold nothing, or just these runs."""
    if (folder / RUN).exists():
        raise InputError(f"{folder} holds a finished run of other settings: choose another --out, or remove it.")
    index = folder / INDEX
    if index.exists():
        held = [run["path"] for run in json.loads(index.read_text(encoding="utf-8"))["runs"]]
        if held != runs:
            raise InputError(f"{folder} holds other runs ({', '.join(held)}): choose another --out, or remove it.")


def save_run(folder: Path, result: RegionsResult, *, seconds: float) -> None:
    """Write the run beside its place, then move it there."""
    refuse_foreign(folder, result.settings, result.model["fingerprint"])
    results = result.to_dict()
    run = {key: results[key] for key in ("schema_version", "audit", "settings", "model", "versions")}
    run |= {"finished": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "seconds": round(seconds, 1), "work": result.work}
    aside = folder.with_name(f".{folder.name}.{os.getpid()}")
    with writing(folder):
        try:
            (aside / "tables").mkdir(parents=True)
            write_json(aside / RUN, run)
            write_json(aside / RESULTS, results)
            for name, rows in (("regions", region_rows), ("words", word_rows), ("topics", topic_rows)):
                (aside / "tables" / f"{name}.csv").write_text(csv_text(rows(result)), encoding="utf-8")
            _write_likelihoods(aside / "likelihoods.parquet", result)
            shutil.rmtree(folder, ignore_errors=True)
            aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def save_index(folder: Path, index: Mapping[str, Any]) -> None:
    with writing(folder / INDEX):
        write_json(folder / INDEX, index)


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


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
