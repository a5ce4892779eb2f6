"""The models inside the package: what each is for, how large it is, and how well it was measured to do.

A folder of `embedded/` is a model when it holds `evaluation.json`, written by its recipe: `task`, `licence`, and
`figures`, each with the measure's name, its value, and the value it was to reach.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class EmbeddedModel:
    name: str
    task: str
    licence: str
    bytes: int
    figures: list[dict[str, Any]]


def embedded_folder() -> Path:
    return Path(str(resources.files("geobias.models"))) / "embedded"


def embedded_models() -> list[EmbeddedModel]:
    """Every model inside the package, by name."""
    found = []
    for evaluation in sorted(embedded_folder().glob("*/evaluation.json")):
        about = json.loads(evaluation.read_text(encoding="utf-8"))
        size = sum(file.stat().st_size for file in _files(evaluation.parent))
        name = f"embedded/{evaluation.parent.name}"
        found.append(EmbeddedModel(name, about["task"], about["licence"], size, about["figures"]))
    return found


def _files(folder: Path) -> list[Path]:
    """The files of a model's folder, and those elsewhere that its weights lie in: the classifiers share an encoder."""
    files = {file.resolve() for file in folder.rglob("*") if file.is_file()}
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        files |= {(folder / shard).resolve() for shard in shards}
    return sorted(files)
