"""Any Python function as a model: a list of texts in; probabilities, labels or log-likelihoods out.

    def polite(texts):                    # a classifier: an array of texts x labels, or a list of {label: probability}
        return [{"polite": 0.9, "rude": 0.1} for text in texts]

    def judge(texts):                     # a classifier without probabilities: one label for each text
        return ["polite" for text in texts]

    polite.labels = ["polite", "rude"]    # optional: the labels of an array's columns, or all that a function answers
    polite.multi_label = True             # optional: labels that do not exclude each other
    polite.tokenizer = tokenizer          # optional: of transformers; the names audit counts the tokens of names by it

    def likely(texts):                    # a language model: one log-likelihood for each text
        return [-len(text) / 10 for text in texts]

    likely.fingerprint = "2"              # optional: keep the answers for later runs; change it with the function

The answers are checked and used as they are: a wrong number here would become a wrong finding later.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from geobias.checks import describe_choices
from geobias.errors import GeobiasError, InputError
from geobias.extensions import SCORERS, find_extension, is_extension
from geobias.models.scorer import LOG_LIKELIHOOD, PROBE, AnyLanguageModel, Classifier, Scorer, probability_columns

Function = Callable[[list[str]], Any]
RANGE_TOLERANCE = 1e-6  # how far rounding may take a probability out of [0, 1]
SUM_TOLERANCE = 1e-3  # how far rounding may take a row's sum from one
EXCERPT_LENGTH = 60  # characters of a text in a message
BAD_SUM = "Make each row sum to 1, or set multi_label = True on the function if a text can have several labels"
ONLY_LABELS = (
    "answers with labels, without probabilities, so Δ is in flips: of 100 renamed texts, each one that flips from "
    "negative to positive adds 2 points, and each one from neutral to positive adds 1. KL and differences of p count "
    "flips too."
)
NAME_LABELS = "List all labels: labels={0!r}, --labels {0}, or the attribute `labels` of the function"
NOT_A_CLASSIFIER = (
    "A classifier returns a probability for each label, or one label as a string. If this is a log-likelihood, the "
    "function is a language model: use it with `geobias regions` or --perplexity"
)
NOT_A_LANGUAGE_MODEL = (
    "It looks like a classifier: use it with `geobias names` or `geobias downstream`. A language model returns one "
    "log-likelihood for each text"
)


class UserFunction:
    """A function with its name and the fingerprint that it declares; its answer must have a row for each text."""

    kind: ClassVar[str] = "function"
    expected_answer: ClassVar[str]
    failure_hint: ClassVar[str] = ""
    fingerprint: str | None

    def __init__(self, function: Function, *, name: str | None = None) -> None:
        self.function = function
        self.name = name or function_name(function)
        self.title = f"The {self.kind} {self.name}"  # in messages
        version = getattr(function, "fingerprint", None)
        if not isinstance(version, str | None):
            raise InputError(f"{self.title} has a fingerprint that is not a string: {version!r}.")
        self.fingerprint = None if version is None else f"{self.name}:{version}:function"

    def _call(self, texts: Sequence[str]) -> list[Any]:
        """Return the function's answer as one row for each text."""
        with user_code(self.title, self.failure_hint):
            answer = self.function(list(texts))
        rows = _split_rows(answer)
        if rows is None:
            raise InputError(
                f"{self.title} returned a value of type {type(answer).__name__}. It must return {self.expected_answer}."
            )
        if len(rows) != len(texts):
            raise InputError(f"{self.title} returned {len(rows)} rows for {len(texts)} texts. Return one per text.")
        return rows


class FunctionScorer(UserFunction, Scorer):
    """A function whose answers are numbers or labels."""

    version: ClassVar[int] = 1  # of what is made of the answers; raised whenever that changes
    fingerprint: str | None

    def __init__(self, function: Function, *, name: str | None = None) -> None:
        super().__init__(function, name=name)
        self.fingerprint = self.fingerprint and f"{self.fingerprint}:{self.version}"

    def _as_numbers(self, row: Any, texts: Sequence[str], index: int, advice: str) -> np.ndarray:
        try:
            numbers = np.asarray(row)
        except (TypeError, ValueError, RuntimeError):  # rows within a row; a tensor that cannot be an array
            numbers = np.array(None)
        if numbers.dtype.kind not in "biuf":
            self._refuse("returned values that are not numbers", texts, index, advice)
        return numbers

    def _refuse(self, problem: str, texts: Sequence[str], index: int, advice: str) -> NoReturn:
        text = texts[index]
        excerpt = text if len(text) <= EXCERPT_LENGTH else text[: EXCERPT_LENGTH - 1] + "…"
        raise InputError(f"{self.title} {problem} for the text {excerpt!r} (answer[{index}]). {advice}.")


class FunctionClassifier(FunctionScorer, Classifier):
    """A function as a classifier. It is called once at the start, to see how it answers.

    It may answer with labels: that of a text then has the probability 1, all others 0. They are `label_set`, or the
    function's attribute `labels`, or those in its answers to the original texts.
    """

    expected_answer = "an array of texts x labels, a list of mappings from label to probability, or a list of labels"

    def __init__(self, function: Function, *, name: str | None = None, label_set: Sequence[str] | None = None) -> None:
        super().__init__(function, name=name)
        self.multi_label = bool(getattr(function, "multi_label", False))
        self.tokenizer = getattr(function, "tokenizer", None)
        rows = self._call([PROBE])
        self.answers_labels = self.is_prompted = isinstance(rows[0], str)
        self.has_label_set = not self.answers_labels or label_set is not None or hasattr(function, "labels")
        self._set_labels(label_set if self.answers_labels and label_set else self._read_labels(rows[0]))
        self._check_probabilities(rows, [PROBE])
        if self.answers_labels:
            self.notes = (ONLY_LABELS,)

    def learn_labels(self, texts: Sequence[str]) -> None:
        """Learn the labels from the answers to these texts, where the function gives labels and none are named."""
        if self.has_label_set:
            return
        labels = sorted({self._read_label(row, texts, k) for k, row in enumerate(self._call(texts))})
        if len(labels) < 2:
            advice = NAME_LABELS.format(f"{labels[0]},...")
            raise InputError(f"{self.title} returned the label {labels[0]!r} for all {len(texts):,} texts. {advice}.")
        self._set_labels(labels)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Return the function's probabilities as they are; no text is ever cut."""
        probabilities = self._check_probabilities(self._call(texts), texts)
        return np.column_stack([probabilities, np.zeros(len(texts))])

    def _set_labels(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self.columns = probability_columns(self.labels)

    def _read_labels(self, row: Any) -> tuple[str, ...]:
        """Return the labels that the function names; else those of a mapping, else the numbers of the columns."""
        labels = getattr(self.function, "labels", None)
        if labels is not None and not isinstance(labels, list | tuple):
            raise InputError(f"The labels of the {self.kind} {self.name} must be a list of strings, not {labels!r}.")
        if labels is None:
            numbers = range(len(row) if hasattr(row, "__len__") else 1)
            labels = [row] if isinstance(row, str) else row if isinstance(row, Mapping) else numbers
        labels = tuple(str(label) for label in labels)
        if not labels or len(set(labels)) < len(labels):
            raise InputError(
                f"The labels of the {self.kind} {self.name} must be distinct, and at least one: {list(labels)}."
            )
        return labels

    def _check_probabilities(self, rows: list[Any], texts: Sequence[str]) -> np.ndarray:
        """Return texts x labels; refuse values that are no probabilities."""
        row_values = [self._order_row(row, texts, index) for index, row in enumerate(rows)]
        values = np.array(row_values, dtype=np.float64).reshape(len(texts), len(self.labels))

        def require(is_valid: Any, advice: str) -> None:
            if not is_valid.all():
                index = int(np.argmin(is_valid))
                row = np.array2string(values[index], precision=6, threshold=8)
                self._refuse(f"returned {row}", texts, index, advice)

        in_range = (np.abs(values - 0.5) <= 0.5 + RANGE_TOLERANCE).all(axis=1)  # False for NaN too
        require(in_range, "Every value must be between 0 and 1" if len(self.labels) > 1 else NOT_A_CLASSIFIER)
        if not self.multi_label:
            require(np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE, BAD_SUM)
        return values

    def _order_row(self, row: Any, texts: Sequence[str], index: int) -> np.ndarray:
        """Return one row's numbers in the order of the labels."""
        if self.answers_labels:
            return self._one_hot(row, texts, index)
        if isinstance(row, str):
            self._refuse(
                f"returned the label {row!r}", texts, index, "It returned probabilities before. Return one or the other"
            )
        if isinstance(row, Mapping):
            by_label = {str(label): value for label, value in row.items()}
            if set(by_label) != set(self.labels):
                advice = f"Every text needs the labels of the first ({', '.join(self.labels)})"
                self._refuse(f"returned the labels {', '.join(by_label)}", texts, index, advice)
            row = [by_label[label] for label in self.labels]
        numbers = self._as_numbers(row, texts, index, "Every value must be a probability")
        if numbers.shape != (len(self.labels),):
            each = f"A row needs one number per label ({', '.join(self.labels)})"
            advice = NOT_A_CLASSIFIER if numbers.shape == () else each
            self._refuse(f"returned numbers of shape {numbers.shape}", texts, index, advice)
        return numbers

    def _one_hot(self, row: Any, texts: Sequence[str], index: int) -> np.ndarray:
        """Return 1 for the label that was given, 0 for all others."""
        row = self._read_label(row, texts, index)
        if row not in self.labels:
            advice = NAME_LABELS.format(",".join([*self.labels, row]))
            problem = f"returned the label {row!r}, which is not among its labels ({', '.join(self.labels)}),"
            self._refuse(problem, texts, index, advice)
        return np.array([float(row == label) for label in self.labels])

    def _read_label(self, row: Any, texts: Sequence[str], index: int) -> str:
        if not isinstance(row, str):
            self._refuse(f"returned a value of type {type(row).__name__}", texts, index, "Return one label as a string")
        return str(row)


class FunctionLM(FunctionScorer, AnyLanguageModel):
    """A function as a language model. It has one scoring method, so it is its own scorer."""

    expected_answer = "one log-likelihood for each text: a list, an array or a column"
    columns = (LOG_LIKELIHOOD,)
    methods = (LOG_LIKELIHOOD,)
    default_method = perplexity_method = LOG_LIKELIHOOD

    def __init__(self, function: Function, *, name: str | None = None) -> None:
        super().__init__(function, name=name)
        self.score([PROBE])

    def scorer(self, method: str | None = None) -> Self:
        if method not in (None, *self.methods):
            raise InputError(f"The function {self.name} returns its own score. Remove the score {method!r}.")
        return self

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Return the function's log-likelihoods as they are."""
        values = [self._read_log_likelihood(row, texts, index) for index, row in enumerate(self._call(texts))]
        return np.array(values, dtype=np.float64).reshape(len(texts), 1)

    def _read_log_likelihood(self, row: Any, texts: Sequence[str], index: int) -> float:
        if isinstance(row, Mapping):
            self._refuse(f"returned the labels {', '.join(map(str, row))}", texts, index, NOT_A_LANGUAGE_MODEL)
        numbers = self._as_numbers(row, texts, index, "Every text needs a log-likelihood")
        if numbers.shape not in ((), (1,)):
            self._refuse(f"returned numbers of shape {numbers.shape}", texts, index, NOT_A_LANGUAGE_MODEL)
        value = float(numbers.item())
        if not np.isfinite(value):
            self._refuse(f"returned {value}", texts, index, "Every log-likelihood must be finite")
        return value


def import_function(spec: str) -> Function:
    """Import the function `package.module:function`, or a scorer that another installed package declares.

    `spec` is what the user typed, never a name from a file. As for `python -m`, the current folder is searched first,
    but only until the module is imported: a file in it must not take the place of a package that is imported later. So
    a function that imports a module of this folder when it is called does not find it; the top of its module does.
    """
    spec = find_extension(SCORERS, spec) if is_extension(SCORERS, spec) else spec
    module_name, _, path = spec.partition(":")
    if not module_name or not path:
        raise InputError(f"{spec!r} is not a function. Write it as package.module:function.")
    try:
        with user_code(f"Importing the module {module_name!r}"), _search_current_folder():
            target: Any = importlib.import_module(module_name)
    except InputError as error:
        cause = error.__cause__
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing and f"{module_name}.".startswith(f"{missing}."):
            raise InputError(
                f"There is no module {missing!r} for {spec!r}. Run geobias in its folder, or install it."
            ) from None
        raise
    for part in path.split("."):
        if not hasattr(target, part):
            names = [name for name in dir(target) if not name.startswith("_")]
            raise InputError(f"There is no {part!r} for {spec!r}. {describe_choices(part, names, 'Its names')}")
        target = getattr(target, part)
    if not callable(target):
        raise InputError(f"{spec!r} has type {type(target).__name__} and cannot be called. Name a function.")
    return target


@contextmanager
def _search_current_folder() -> Iterator[None]:
    folder = os.getcwd()
    if folder in sys.path:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # the module itself has removed it
            sys.path.remove(folder)


def function_name(function: Any) -> str:
    """Return the `package.module:function` of a function, so that both ways to give it share one store."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def _split_rows(answer: Any) -> list[Any] | None:
    """Return the rows of an array, a frame, a tensor or a list; None for anything else."""
    if isinstance(answer, list | tuple):
        return list(answer)
    if hasattr(answer, "columns") and hasattr(answer, "to_dict"):  # a DataFrame names its labels
        return list(answer.to_dict("records"))
    try:
        return list(np.asarray(answer))
    except (TypeError, RuntimeError):  # a single value; a tensor that still has its gradient, or lies on a GPU
        return None


@contextmanager
def user_code(action: str, hint: str = "") -> Iterator[None]:
    """Run code of the user's. Whatever it raises becomes one line, and nothing in it can end the program."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except Exception as error:
        raise InputError(f"{action} failed: {describe_error(error)}{_explain_import(error) or hint}") from error
    except BaseException as error:  # sys.exit(0) would look like success
        raise GeobiasError(
            f"{action} ended the program ({describe_error(error)}). Return a result or raise an ordinary exception "
            "instead."
        ) from error


def _explain_import(error: Exception) -> str:
    """Why a function did not find a module that lies in the current folder; empty for any other error."""
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not module or not (Path(f"{module}.py").is_file() or Path(module).is_dir()):
        return ""
    return (
        f". The current folder is searched only until your own module is imported: import {module} at its top, or add "
        "the folder to PYTHONPATH."
    )


def describe_error(error: BaseException) -> str:
    """Return the type and message of an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
