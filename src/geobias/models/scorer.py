"""The base classes of all models: `Scorer`, `Classifier` and `AnyLanguageModel`.

A model of your own needs no base class, only three attributes:

    class Mine:
        fingerprint, columns = None, ("log_likelihood",)
        def score(self, texts): return numpy.array([[my_function(text)] for text in texts])

`as_scorer` and `as_classifier` wrap such an object where it enters the package (`models.load`). From there on every
scorer has the whole interface of the base class, and nothing asks whether an attribute exists.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from geobias.errors import InputError
from geobias.texts.lazy_texts import select_texts

LOG_LIKELIHOOD = "log_likelihood"
LIKELIHOOD_COLUMNS = (LOG_LIKELIHOOD, "tokens", "unknown", "cut")
PROBABILITIES = "probabilities"  # the score of every classifier
METHODS = ("aul", "aula", "pll", "pll-word", "conditional", "mean", "sum")  # of any kind of language model
EMBEDDED_LM = "embedded/lm"
EMBEDDED_CLASSIFIERS = ("embedded/sentiment", "embedded/emotion", "embedded/hate", "embedded/offensive")
PROBE = "The quick brown fox."  # the first text that a new model scores, to see how it answers
SHARE_SECONDS = 2.0  # how long one call of `score` should take
SMALLEST_SHARE, LARGEST_SHARE = 8, 65536  # texts in one call of `score`

ScoreBlock = tuple[np.ndarray, np.ndarray]  # positions among the texts, and their rows of scores
ScoreTexts = Callable[["Scorer", Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class ModelIdentity:
    """Which model answered: enough to ask the same one again."""

    name: str
    score: str
    """How it was asked: the score of a language model, or "probabilities" of a classifier."""
    fingerprint: str | None
    """A digest of weights, tokenizer and configuration; null for a function without one."""
    architecture: str | None = None
    parameters: int | None = None
    """Number of weights."""
    dtype: str | None = None
    """The precision in which it computed."""
    device: str | None = None
    max_length: int | None = None
    """Tokens; longer texts are cut."""
    endpoint: str | None = None
    """The URL of the server, for a model behind one."""
    asked_by: str | None = None
    """The part of the server's protocol that was used."""
    begin: str | None = None
    """What was sent before every text, and not counted."""
    prompt: dict[str, Any] | None = None
    """For a prompted language model: the prompt, the labels and their words."""

    @property
    def short_name(self) -> str:
        """The name without the long way to a folder."""
        return "/".join(Path(self.name).parts[-2:])


class Scorer(ABC):
    """Texts in, numbers out. A subclass sets `columns` and defines `score`; all else has a default.

    Attributes
    ----------
    fingerprint
        Stands for everything the scores depend on besides the text: weights, method, precision, cut length. Scores
        are stored under it. With None they are kept for this run only.
    columns
        The names of the numbers that each text gets. The first is the score; others may say what was seen on the way
        (tokens, tokens cut off).
    name
        What results call the model. If empty, the name of the class.
    takes_everything
        Whether `batches` is to be given all texts at once. Otherwise it gets at most `LARGEST_SHARE`.
    needs_mark
        Whether only the marked part of a text is scored (see `texts.templates`).
    looks_back_only
        Whether what follows the marked part leaves the score unchanged.
    paid
        Whether answers cost money. Then each one is stored as soon as it arrives, and a cluster is not used.
    """

    columns: Sequence[str]
    name: str = ""
    takes_everything: bool = False
    needs_mark: bool = False
    looks_back_only: bool = False
    paid: bool = False
    if TYPE_CHECKING:  # a subclass may have an attribute or, if it is computed, a property

        @property
        def fingerprint(self) -> str | None: ...
    else:
        fingerprint = None

    @abstractmethod
    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Return one row for each text and one column for each of `columns`."""

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        """Yield scores as they are computed, in any order.

        By default `score` is called on consecutive shares of the texts, each as large as `SHARE_SECONDS` allow.
        """
        start, size = 0, SMALLEST_SHARE
        while start < len(texts):
            positions = np.arange(start, min(start + size, len(texts)))
            began = time.perf_counter()
            rows = np.asarray(self.score(list(select_texts(texts, positions))))
            seconds = max(time.perf_counter() - began, 1e-6)
            yield positions, rows
            start += size
            # At most four times the last share: the first ones are short and say little.
            size = int(np.clip(size * min(SHARE_SECONDS / seconds, 4.0), SMALLEST_SHARE, LARGEST_SHARE))

    def to(self, device: str) -> None:  # noqa: B027
        """Move to another device. A worker of a cluster calls it on its copy; by default there is nothing to move."""

    def prepare(self, score_texts: ScoreTexts) -> None:  # noqa: B027
        """Called before a paid scorer gets its texts. `score_texts` scores others through the store, so they are paid
        once. By default there is nothing to prepare.
        """

    def check_scores(self, texts: Sequence[str], scores: np.ndarray) -> None:  # noqa: B027
        """Raise if the scores of all texts, new and stored, cannot be used. By default they can."""

    @property
    def fast_parts(self) -> tuple[str, ...]:
        """The parts of the fast path that the model uses (`models.fast.PARTS`); run.json records them."""
        return ()

    def identity(self) -> ModelIdentity:
        """Say which model this is, for results and reports."""
        return ModelIdentity(self.name or type(self).__name__, self.columns[0], self.fingerprint)


class StreamingScorer(Scorer):
    """A scorer that computes its rows batch by batch: it defines `batches` instead of `score`."""

    @abstractmethod
    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]: ...

    def score(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.full((len(texts), len(self.columns)), np.nan)
        for positions, scores in self.batches(texts):
            rows[positions] = scores
        return rows


class Classifier(Scorer):
    """A scorer whose columns are p(label) for each of its `labels`, then "cut", the number of tokens cut off.

    Attributes
    ----------
    multi_label
        Whether labels can hold together. Then a row need not sum to one.
    base
        The language model that the classifier was made from. None if unknown.
    lm
        The loaded language model, if a prompt makes a classifier of it.
    is_prompted
        Whether the labels come from a prompt.
    """

    name: str
    labels: Sequence[str]
    multi_label: bool = False
    base: str | None = None
    lm: AnyLanguageModel | None = None
    is_prompted: bool = False

    def identity(self) -> ModelIdentity:
        return ModelIdentity(self.name, PROBABILITIES, self.fingerprint)


class AnyLanguageModel(ABC):
    """A language model, wherever it runs. `scorer(method)` gives the scorer of one of its `methods`.

    Attributes
    ----------
    default_method
        The method used when none is chosen.
    perplexity_method
        The method whose negative score is a log-perplexity.
    prompted_method
        The method that scores an answer after a prompt. None if the model cannot be prompted.
    tokenizer, max_length
        The tokenizer, and how many tokens the model can read. Of a server both are unknown.
    """

    name: str
    methods: ClassVar[tuple[str, ...]]
    default_method: ClassVar[str]
    perplexity_method: ClassVar[str]
    prompted_method: ClassVar[str | None] = None
    tokenizer: Any = None
    max_length: int = sys.maxsize

    @abstractmethod
    def scorer(self, method: str | None = None) -> Scorer:
        """Return the scorer of this method, or of the default method."""

    def describe(self, score: str, fingerprint: str | None) -> ModelIdentity:
        """Say which model this is, for scores of this name and fingerprint."""
        return ModelIdentity(self.name, score, fingerprint)


class MethodScorer(StreamingScorer):
    """One scoring method of a language model."""

    lm: AnyLanguageModel
    method: str

    def identity(self) -> ModelIdentity:
        return self.lm.describe(self.method, self.fingerprint)


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

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> Sequence[str]: ...

    @property
    def multi_label(self) -> bool: ...

    @property
    def base(self) -> str | None: ...


class _WrappedScorer(Scorer):
    """An object of the user's with the interface of a scorer. Optional attributes that it has replace the defaults."""

    optional: ClassVar[tuple[str, ...]] = (
        *("name", "batches", "takes_everything", "needs_mark", "looks_back_only", "paid", "to"),
        *("prepare", "check_scores", "identity"),
    )

    def __init__(self, model: ScorerLike) -> None:
        self.model = model
        self.columns = model.columns
        for attribute in self.optional:
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


def as_scorer(model: ScorerLike) -> Scorer:
    """Return a scorer as it is, and wrap any other object that has the three attributes of one."""
    return model if isinstance(model, Scorer) else _WrappedScorer(model)


def as_classifier(model: ScorerLike) -> Classifier:
    """Return a classifier as it is, and wrap any other object that has the attributes of one."""
    if not isinstance(model, (Classifier, ClassifierLike)) or tuple(model.columns) != probability_columns(model.labels):
        raise InputError(
            f"{type(model).__name__} is not a whole classifier: it needs name, labels, multi_label and base, and "
            "the columns p(label) for each label, then cut; or give a function instead."
        )
    return model if isinstance(model, Classifier) else _WrappedClassifier(model)


def probability_columns(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a classifier: a probability for each label, and the number of tokens cut off."""
    return (*(f"p({label})" for label in labels), "cut")


def check_method(method: str) -> str:
    """Return the name of a scoring method; refuse a name that no language model has."""
    if method not in METHODS:
        raise InputError(f"Unknown score {method!r}: choose one of {', '.join(METHODS)}.")
    return method
