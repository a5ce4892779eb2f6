"""A user's own object as a model: `as_scorer` and `as_classifier` wrap it where it enters the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from geobias.errors import InputError
from geobias.models.scorer import Classifier, Scorer, probability_columns

OPTIONAL_ATTRIBUTES = (
    *("name", "batches", "takes_everything", "needs_mark", "looks_back_only", "paid", "to"),
    *("prepare", "check_scores", "identity"),
)


@runtime_checkable
class ScorerLike(Protocol):
    """What an object needs to be wrapped as a `Scorer`."""

    @property
    def fingerprint(self) -> str | None: ...

    @property
    def columns(self) -> Sequence[str]: ...

    def score(self, texts: Sequence[str], /) -> np.ndarray: ...


@runtime_checkable
class ClassifierLike(ScorerLike, Protocol):
    """What an object needs to be wrapped as a `Classifier`."""

    name: str
    labels: Sequence[str]
    multi_label: bool
    base: str | None


class _WrappedScorer(Scorer):
    """An object of the user's with the interface of a scorer. Optional attributes that it has replace the defaults."""

    def __init__(self, model: ScorerLike) -> None:
        self.model = model
        self.columns = model.columns
        for attribute in OPTIONAL_ATTRIBUTES:
            if hasattr(model, attribute):
                setattr(self, attribute, getattr(model, attribute))
        self.name = self.name or type(model).__name__

    @property
    def fingerprint(self) -> str | None:
        return self.model.fingerprint

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return self.model.score(texts)


class _WrappedClassifier(_WrappedScorer, Classifier):
    def __init__(self, model: ClassifierLike) -> None:
        super().__init__(model)
        self.labels, self.multi_label, self.base = model.labels, model.multi_label, model.base
        self.tokenizer = getattr(model, "tokenizer", None)


def as_scorer(model: ScorerLike) -> Scorer:
    """Return a scorer unchanged, and wrap any other object that has the three attributes of one."""
    return model if isinstance(model, Scorer) else _WrappedScorer(model)


def as_classifier(model: ScorerLike) -> Classifier:
    """Return a classifier unchanged, and wrap any other object that has the attributes of one."""
    if not isinstance(model, (Classifier, ClassifierLike)) or not has_probabilities(model.columns, model.labels):
        raise InputError(
            f"{type(model).__name__} is not a complete classifier. It needs name, labels, multi_label and base, and "
            "the columns p(label) for each label, then cut. Or pass a function instead."
        )
    return model if isinstance(model, Classifier) else _WrappedClassifier(model)


def has_probabilities(columns: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether the first columns are those of a classifier; others may follow."""
    expected = probability_columns(labels)
    return tuple(columns[: len(expected)]) == expected
