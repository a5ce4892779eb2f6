"""The base classes of all models: `Scorer`, `Classifier` and `AnyLanguageModel`.

A model of your own is a subclass with columns and a method:

    class Mine(geobias.Scorer):
        columns = ("log_likelihood",)
        def score(self, texts): return numpy.array([[my_function(text)] for text in texts])
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from geobias.errors import InputError
from geobias.texts.templates import select_texts

LOG_LIKELIHOOD = "log_likelihood"
LOG_P, SAMPLES = "log_p(", "samples"  # columns of a decider: log P of each answer; how many answers were sampled
PROBABILITIES = "probabilities"  # the score of every classifier
UNREADABLE = "unreadable"  # the last column of a mitigated classifier: whether its finder cannot read the text
EMBEDDED_LM = "embedded/lm"
EMBEDDED_CLASSIFIERS = ("embedded/sentiment", "embedded/emotion", "embedded/hate", "embedded/offensive")
PROBE = "The quick brown fox."  # the first text that a new model scores, to see how it answers
SHARE_SECONDS = 2.0  # how long one call of `score` should take
SMALLEST_SHARE, LARGEST_SHARE = 8, 65536  # texts in one call of `score`

ScoreBlock = tuple[np.ndarray, np.ndarray]  # positions among the texts, and their rows of scores
ScoreTexts = Callable[["Scorer", Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class ModelIdentity:
    """Identifies the model, so that the run can be repeated."""

    name: str
    score: str
    """Scoring method: the score of a language model, or "probabilities" of a classifier."""
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
    wrapped_model: str | None = None
    """For a mitigated classifier: the model that it wraps."""
    finder: str | None = None
    """For a mitigated classifier: what finds the names that it keeps from the model."""

    @property
    def short_name(self) -> str:
        """The name without the long way to a folder."""
        return "/".join(Path(self.name).parts[-2:])


class CallLimitReached(InputError):
    """All calls of a paid scorer that the user allows have been made."""


class Scorer(ABC):
    """Base class of all models: texts in, numbers out.

    A subclass sets `columns` and defines `score`; everything else has a default. Every audit of language models takes a
    scorer in place of a model's name.

    Attributes
    ----------
    columns : sequence of str
        Names of the numbers for each text. The first is the score; others may be counts, such as "tokens" and "cut".
    fingerprint : str or None
        Identifies everything that the scores depend on besides the text: weights, method, precision, maximum length.
        Scores are stored under it. With None, the default, they are not stored.
    has_digest : bool
        Whether the fingerprint is a digest of the model, so that a changed model has another one. Default: False; every
        run then asks again for some texts, to check that the answers are those that are stored.
    name : str
        Name of the model in results. Default: the name of the class.
    takes_everything : bool
        Whether `batches` receives all texts at once. Default: False, at most 65,536 texts.
    needs_mark : bool
        Whether only the marked part of a text is scored. Default: False.
    looks_back_only : bool
        Whether text after the marked part cannot change the score. Default: False.
    paid : bool
        Whether answers cost money. Then each answer is stored as soon as it arrives, and no cluster is used. Default:
        False.
    fast_parts : tuple of str
        Parts of the fast path that the model uses; recorded in run.json. Default: none.

    Examples
    --------
    >>> import numpy as np
    >>> import geobias
    >>> class ShortIsLikely(geobias.Scorer):
    ...     columns = ("log_likelihood",)
    ...     def score(self, texts):
    ...         return np.array([[-len(text) / 10] for text in texts])
    >>> ShortIsLikely().score(["Hello."])
    array([[-0.6]])
    >>> geobias.audit_regions(ShortIsLikely(), cities=0, out="runs/short")  # doctest: +SKIP
    """

    columns: Sequence[str]
    name: str = ""
    takes_everything: bool = False
    needs_mark: bool = False
    looks_back_only: bool = False
    paid: bool = False
    has_digest: bool = False
    if TYPE_CHECKING:  # a subclass may have an attribute or, if it is computed, a property

        @property
        def fingerprint(self) -> str | None: ...
    else:
        fingerprint = None

    @abstractmethod
    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Score texts.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        numpy.ndarray
            A row for each text and a column for each of `columns`.
        """

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        """Yield scores as they are computed, in any order.

        By default `score` is called on consecutive batches, each as large as about two seconds allow.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Yields
        ------
        tuple of numpy.ndarray
            Positions of some texts, and their rows of scores.
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
        """Move the model to another device. Workers of a cluster call it on their copy; by default it does nothing.

        Parameters
        ----------
        device : str
            Such as "cpu" or "cuda:1".
        """

    def prepare(self, score_texts: ScoreTexts) -> None:  # noqa: B027
        """Prepare a paid scorer before it gets its texts. By default it does nothing.

        Parameters
        ----------
        score_texts : callable
            Takes a scorer and texts and scores them through the store, so that they are paid for once.
        """

    def check_scores(self, texts: Sequence[str], scores: np.ndarray) -> None:  # noqa: B027
        """Raise an error if the scores of all texts, new and stored, cannot be used. By default they can.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        scores : numpy.ndarray
            A row for each text.
        """

    @property
    def fast_parts(self) -> tuple[str, ...]:
        """Parts of the fast path that the model uses (`models.fast.PARTS`); run.json records them."""
        return ()

    def identity(self) -> ModelIdentity:
        """Describe the model for results and reports.

        Returns
        -------
        ModelIdentity
            Name, score and fingerprint; for loaded models also architecture, precision and device.
        """
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
    is_prompted
        Whether it takes the labels that the user names (--labels).
    tokenizer
        The tokenizer of transformers that splits its texts. None if it has none, or if it is unknown.
    notes
        What a reader of the results must know about its answers.
    """

    name: str
    labels: Sequence[str]
    multi_label: bool = False
    tokenizer: Any = None
    is_prompted: bool = False
    notes: tuple[str, ...] = ()

    def learn_labels(self, texts: Sequence[str]) -> None:
        """Learn the labels from answers to the original texts, for a classifier that cannot list them."""

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
        """Return the scorer of a method.

        Parameters
        ----------
        method : str, optional
            One of `methods`. Default: `default_method`.

        Returns
        -------
        Scorer
            Its score is a log-likelihood.
        """

    def describe(self, score: str, fingerprint: str | None) -> ModelIdentity:
        """Describe the model for results and reports, by the method and the fingerprint of its scores."""
        return ModelIdentity(self.name, score, fingerprint)


class MethodScorer(StreamingScorer):
    """One scoring method of a language model."""

    lm: AnyLanguageModel
    method: str

    def identity(self) -> ModelIdentity:
        return self.lm.describe(self.method, self.fingerprint)


def probability_columns(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a classifier: a probability for each label, and the number of tokens cut off."""
    return (*(f"p({label})" for label in labels), "cut")
