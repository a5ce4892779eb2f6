"""Which model answers behind a URL? A name there can stand for another model tomorrow, and nothing says so.

So a server is asked about a few fixed sentences whenever it is used, and its numbers are compared with those of the
models that answered under this URL and name before: the nearest is the same one, if it is near enough. Servers do
not repeat themselves exactly (batches, caches), so equal numbers cannot be asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geobias.files import cache_folder, write_whole, writing

SAME = 0.02  # nats a token


def which_model(place: Sequence[str], numbers: Sequence[float]) -> str:
    """What stands for the model that gave these log-probabilities: as it was called before, or a new name, kept."""
    folder = _folder(place)
    apart = {file: far for file in _known(folder) if (far := _apart(file, numbers)) <= SAME}
    if apart:
        nearest = min(apart, key=lambda file: apart[file])
        with writing(nearest):
            nearest.touch()  # the last that answered
        return nearest.stem
    about = json.dumps({"place": list(place), "log_probabilities": list(numbers)}, indent=1).encode()
    name = hashlib.sha256(about).hexdigest()[:32]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}.json", about)
    return name


def known_identities(place: Sequence[str]) -> list[str]:
    """The models that answered here before, the last one first."""
    return [file.stem for file in _known(_folder(place))]


def _apart(file: Path, numbers: Sequence[float]) -> float:
    """How far these numbers are from those kept, in nats a token; infinitely where they cannot be compared."""
    try:
        before = np.array(json.loads(file.read_text(encoding="utf-8"))["log_probabilities"], dtype=np.float64)
    except (OSError, ValueError, KeyError, TypeError):  # damaged: that model is met as a new one
        return np.inf
    return float(np.abs(before - numbers).mean()) if before.shape == np.shape(numbers) else np.inf


def _known(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)


def _folder(place: Sequence[str]) -> Path:
    return cache_folder() / "served" / hashlib.sha256(json.dumps(list(place)).encode()).hexdigest()[:32]
