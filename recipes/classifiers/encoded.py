"""Texts as numbers, which is what training reads: no other part of geobias is needed for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

LABELS = {
    "sentiment": ["negative", "neutral", "positive"],
    "emotion": ["anger", "disgust", "fear", "joy", "neutral", "sadness", "surprise"],
    "offensive": ["not-offensive", "offensive"],
    "hate": ["not-hate", "hate"],
}
PARTS = ("train", "dev", "test")
LM = Path(__file__).parents[2] / "src/geobias/models/bundled/weights/lm"


@dataclass
class Encoded:
    """Texts as token and word numbers, with the number of their label in each task (-1: none)."""

    tokens: list[np.ndarray]
    words: list[np.ndarray]
    labels: dict[str, np.ndarray]
    part: np.ndarray
    source: np.ndarray
    is_ordinary: np.ndarray
    key: np.ndarray

    def select(self, mask: np.ndarray) -> Encoded:
        rows = np.flatnonzero(mask)
        labels = {task: numbers[rows] for task, numbers in self.labels.items()}
        columns = (each[rows] for each in (self.part, self.source, self.is_ordinary, self.key))
        lists = ([each[row] for row in rows] for each in (self.tokens, self.words))
        return Encoded(*lists, labels, *columns)


def save(path: Path, texts: Encoded) -> None:
    np.savez_compressed(
        path,
        tokens=np.concatenate(texts.tokens).astype(np.uint16),
        token_counts=np.array([len(each) for each in texts.tokens], dtype=np.uint16),
        words=np.concatenate(texts.words).astype(np.uint16),
        word_counts=np.array([len(each) for each in texts.words], dtype=np.uint16),
        labels=np.array([texts.labels[task] for task in LABELS], dtype=np.int8),
        part=np.array([PARTS.index(part) for part in texts.part], dtype=np.uint8),
        source=texts.source,
        is_ordinary=texts.is_ordinary,
        key=texts.key,
    )


def load(path: Path) -> Encoded:
    with np.load(path) as columns:
        lists = (
            np.split(columns[name].astype(np.int64), np.cumsum(columns[counts].astype(int))[:-1])
            for name, counts in (("tokens", "token_counts"), ("words", "word_counts"))
        )
        labels = dict(zip(LABELS, columns["labels"].astype(int), strict=True))
        part = np.array(PARTS)[columns["part"]]
        return Encoded(*lists, labels, part, columns["source"], columns["is_ordinary"], columns["key"])
