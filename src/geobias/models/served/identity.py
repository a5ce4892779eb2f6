"""Which model answers behind a URL? A name there can stand for another model tomorrow, and nothing says so.

So a server is asked about a few fixed sentences whenever it is used, and its numbers are compared with those of the
models that answered under this URL and name before: the nearest is the same one, if it is near enough. Servers do
not repeat themselves exactly (batches, caches), so equal numbers cannot be asked for.

Likelihoods are compared token by token. Where a server only chats, it is the candidates for the first word of its
answers: the likeliest alone would not do, since models that are sure of it all give it a log-probability near zero.
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

SAME = 0.02  # nats a token
COMPARED = 5  # candidates of an answer
TINY = 1e-9  # a probability below what servers tell from zero

Numbers = Sequence[float]
Candidates = Sequence[Mapping[str, float]]  # for each answer: text -> log P


def numbers_apart(before: Numbers, now: Numbers) -> float:
    """How far apart log-probabilities of the same tokens are, in nats a token."""
    return float(np.abs(np.subtract(before, now)).mean()) if np.shape(before) == np.shape(now) else np.inf


def candidates_apart(before: Candidates, now: Candidates) -> float:
    """The same for the likeliest candidates of either, where less likely ones may differ by more: they are less exact.

    A candidate that is not named is as likely as the least likely one at most, and as what the likeliest leaves over.
    """
    far = []
    for one, other in zip(before, now, strict=True):
        for text in {*_likeliest(one), *_likeliest(other)}:
            a, b = (said.get(text, _at_most(said)) for said in (one, other))
            far.append(abs(a - b) / (1 - min(a, b, 0.0)))
    return float(np.mean(far))


def which_model(place: Sequence[str], said: Any, how_far: Callable[[Any, Any], float] = numbers_apart) -> str:
    """What stands for the model that said this of the probes: as it was called before, or a new name, kept."""
    folder = _folder(place)
    apart = {file: far for file in _known(folder) if (far := _apart(file, said, how_far)) <= SAME}
    if apart:
        nearest = min(apart, key=lambda file: apart[file])
        with writing(nearest):
            nearest.touch()  # the last that answered
        return nearest.stem
    about = json.dumps({"place": list(place), "log_probabilities": list(said)}, indent=1).encode()
    name = hashlib.sha256(about).hexdigest()[:32]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}.json", about)
    return name


def known_identities(place: Sequence[str]) -> list[str]:
    """The models that answered here before, the last one first."""
    return [file.stem for file in _known(_folder(place))]


def _likeliest(said: Mapping[str, float]) -> list[str]:
    return sorted(said, key=lambda text: -said[text])[:COMPARED]


def _at_most(said: Mapping[str, float]) -> float:
    left = 1 - math.exp(max(said.values()))
    return min(*said.values(), math.log(max(left, TINY)))


def _apart(file: Path, said: Any, how_far: Callable[[Any, Any], float]) -> float:
    """How far this is from what is kept; infinitely where they cannot be compared."""
    try:
        return how_far(json.loads(file.read_text(encoding="utf-8"))["log_probabilities"], said)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # damaged: that model is met as a new one
        return np.inf


def _known(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)


def _folder(place: Sequence[str]) -> Path:
    return cache_folder() / "served" / hashlib.sha256(json.dumps(list(place)).encode()).hexdigest()[:32]
