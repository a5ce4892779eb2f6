"""Scorers for Ray workers, in a module without heavy imports: every worker that starts imports it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geobias.errors import InputError
from geobias.models.scorer import Scorer


def rate_politeness(texts: list[str]) -> list[dict[str, float]]:
    return [{"polite": len(text) % 10 / 10, "rude": 1 - len(text) % 10 / 10} for text in texts]


class Deadly(Scorer):
    """Gives lengths; its process dies at one text until `folder` holds the marks of `times` deaths."""

    fingerprint, columns = "deadly", ("length",)

    def __init__(self, folder: Path, times: int) -> None:
        self.folder, self.times = folder, times

    def score(self, texts: Sequence[str]) -> np.ndarray:
        deaths = len(list(self.folder.iterdir()))
        if "x" * 77 in texts and deaths < self.times:
            (self.folder / str(deaths)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.array([[float(len(text))] for text in texts])


class Choosy(Deadly):
    """Refuses empty texts."""

    def score(self, texts: Sequence[str]) -> np.ndarray:
        if "" in texts:
            raise InputError("This text is empty: leave it out.")
        return super().score(texts)


class Paid(Deadly):
    """Costs money, and cannot be pickled."""

    paid = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 0)
        self.lock = threading.Lock()
