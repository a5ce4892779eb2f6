"""What finders answer, as arrays of outcomes (numbers of `Outcome`)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from geobias.models.scorer import ModelIdentity


@dataclass(frozen=True)
class FinderAnswers:
    """What became of every mention in the texts that one finder read."""

    model: ModelIdentity
    renamed: np.ndarray = field(repr=False)  # mentions x countries x draws
    recased: dict[str, np.ndarray] = field(repr=False)  # "lower", "upper": mentions x countries x recased draws
    original: np.ndarray = field(repr=False)  # mentions
    prediction_counts: np.ndarray = field(repr=False)  # all texts: people that the finder marks in the original
    correct_counts: np.ndarray = field(repr=False)  # all texts: those that are mentions
