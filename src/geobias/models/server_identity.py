"""Recognise which model answers behind a URL: its name can stand for another model tomorrow, and nothing says so.

A server scores a few fixed sentences whenever it is used. Its numbers are compared with those of the models that
answered under this URL and name before: the nearest is the same model, if it is near enough. Servers do not repeat
themselves exactly (batches, caches), so equal numbers cannot be expected.

Likelihoods are compared token by token. If a server only chats, the candidates for the first word of its answers are
compared. The likeliest alone would not do: models that are sure of it all give it a log-probability near zero.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.files import cache_folder, write_whole, writing

SAME_MODEL = 0.02  # nats per token
CANDIDATES_COMPARED = 5
SMALLEST_PROBABILITY = 1e-9  # below what servers tell from zero

Candidates = Sequence[Mapping[str, float]]  # for each answer: text -> log P
Distance = Callable[[Any, Any], float]


def log_p_distance(before: Sequence[float], now: Sequence[float]) -> float:
    """Return the mean absolute difference of log-probabilities of the same tokens, in nats per token."""
    return float(np.abs(np.subtract(before, now)).mean()) if np.shape(before) == np.shape(now) else np.inf


def candidate_distance(before: Candidates, now: Candidates) -> float:
    """Return the mean relative difference of the likeliest candidates of both. Less likely ones are less exact.

    A candidate that is not named is at most as likely as the least likely one, and as what the likeliest leaves over.
    """
    differences = []
    for answer, other in zip(before, now, strict=True):
        for text in {*_likeliest(answer), *_likeliest(other)}:
            a, b = (candidates.get(text, _upper_bound(candidates)) for candidates in (answer, other))
            differences.append(abs(a - b) / (1 - min(a, b, 0.0)))
    return float(np.mean(differences))


def recognise_model(address: Sequence[str], answers: Any, distance: Distance = log_p_distance) -> str:
    """Return the digest of the model that gave these answers to the probes; that of a new model is kept."""
    folder = _folder(address)
    distances = {file: _distance_to(file, answers, distance) for file in _known_files(folder)}
    nearest = min(distances, key=distances.__getitem__, default=None)
    if nearest is not None and distances[nearest] <= SAME_MODEL:
        with writing(nearest):
            nearest.touch()  # the last that answered
        return nearest.stem
    description = json.dumps({"place": list(address), "log_probabilities": list(answers)}, indent=1).encode()
    digest = hashlib.sha256(description).hexdigest()[:32]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{digest}.json", description)
    return digest


def known_models(address: Sequence[str]) -> list[str]:
    """Return the digests of the models that answered here before, the last one first."""
    return [file.stem for file in _known_files(_folder(address))]


def _likeliest(candidates: Mapping[str, float]) -> list[str]:
    return sorted(candidates, key=lambda text: -candidates[text])[:CANDIDATES_COMPARED]


def _upper_bound(candidates: Mapping[str, float]) -> float:
    """Return the largest log-probability that a candidate can have that is not named."""
    rest = 1 - math.exp(max(candidates.values()))
    return min(*candidates.values(), math.log(max(rest, SMALLEST_PROBABILITY)))


def _distance_to(file: Path, answers: Any, distance: Distance) -> float:
    """Return the distance to a model's answers on disk; infinity if they cannot be compared."""
    try:
        return distance(json.loads(file.read_text(encoding="utf-8"))["log_probabilities"], answers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # damaged: that model counts as a new one
        return np.inf


def _known_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)


def _folder(address: Sequence[str]) -> Path:
    return cache_folder() / "served" / hashlib.sha256(json.dumps(list(address)).encode()).hexdigest()[:32]
