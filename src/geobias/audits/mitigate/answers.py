"""What the models of a mitigation answer, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from geobias.audits.mitigate.methods import Method
from geobias.models.scorer import ModelIdentity


@dataclass(frozen=True)
class ModelAnswers:
    """The probabilities of one model for every tested text, original and with its people renamed."""

    model: ModelIdentity
    original: np.ndarray = field(repr=False)  # all texts x labels
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x draws x labels
    text_count: int  # that the model had to score


@dataclass(frozen=True)
class MethodAnswers:
    """The model that a method gives: its answers, and what it costs."""

    method: Method
    answers: ModelAnswers
    folder: str | None
    texts_per_text: float
    time_ratio: float | None
    allow: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MitigateAnswers:
    """The original classifier and those of all methods."""

    labels: tuple[str, ...]
    multi_label: bool
    positive: list[int]  # positions of labels
    negative: list[int]
    truth: np.ndarray | None = field(repr=False)  # all texts x labels
    before: ModelAnswers
    methods: list[MethodAnswers]
    finder_hits: np.ndarray | None = field(repr=False)
    """mentions x countries x draws: whether the finder marks a name with the right ends; None without a wrapper."""
    notes: list[str]
    original_hits: np.ndarray | None = field(default=None, repr=False)
    """Of the names that the user marked in the original texts, whether the finder marks them, too."""

    @property
    def threshold(self) -> float | None:
        return 0.5 if self.multi_label else None
