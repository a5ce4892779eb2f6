"""What the name of a model stands for: a Python function, a file, a folder, a bundled model or a Hugging Face id."""

from __future__ import annotations

from pathlib import Path

from geobias.errors import InputError
from geobias.models.bundled.catalogue import INSTALLED, embedded_folder, installed_file

GGUF, SKOPS = ".gguf", ".skops"
PICKLES = (".pkl", ".pickle", ".joblib", ".sav", ".dill")


def is_function_name(name: str) -> bool:
    """Whether a name has the form `package.module:function`. Paths such as C:/models/bert do not."""
    is_path = any(slash in name for slash in "/\\") or name.lower().endswith((GGUF, SKOPS, *PICKLES))
    return ":" in name and not is_path and not Path(name).exists()


def locate_weights(name: str) -> str:
    """Return the folder or GGUF file that holds a model's weights, or the Hugging Face id to fetch them from."""
    if name.startswith("embedded/"):
        folder = embedded_folder() / name.removeprefix("embedded/")
        if not (folder / "config.json").is_file():
            raise InputError(f"There is no embedded model {name!r}: `geobias models` lists those there are.")
        return str(folder)
    if name in INSTALLED:
        return str(installed_file(name))
    path = Path(name).expanduser()
    if name.lower().endswith(GGUF):
        is_hub_file = name.count("/") == 1 and ":" in name  # owner/name:file.gguf
        if not path.is_file() and not is_hub_file:
            raise InputError(f"There is no file {name}: give a GGUF file, or owner/name:file.gguf on the hub.")
        return str(path)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"The folder {name} holds no model: it has no config.json.")
        return str(path)
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or path.exists()
    if looks_like_path:
        raise InputError(f"There is no model folder {name}: give a folder with config.json and weights.")
    return name


def split_gguf(source: str) -> tuple[str, str | None]:
    """Split folder/file.gguf or owner/name:file.gguf into folder (or id) and file; None for other models."""
    if not source.lower().endswith(GGUF):
        return source, None
    path = Path(source)
    if path.is_file():
        return str(path.parent), path.name
    repository, _, file = source.rpartition(":")
    return repository, file
