"""Any Python function as a model: a list of texts in, probabilities or log-likelihoods out.

    def polite(texts):                    # a classifier: an array of texts x labels, or a list of {label: probability}
        return [{"polite": 0.9, "rude": 0.1} for text in texts]

    polite.labels = ["polite", "rude"]    # optional: the labels of an array's columns
    polite.multi_label = True             # optional: labels that do not exclude each other

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
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import LOG_LIKELIHOOD, PROBE, AnyLanguageModel, Classifier, Scorer, probability_columns

Function = Callable[[list[str]], Any]
RANGE_TOLERANCE = 1e-6  # how far rounding may take a probability out of [0, 1]
SUM_TOLERANCE = 1e-3  # how far rounding may take a row's sum from one
EXCERPT_LENGTH = 60  # characters of a text in a message
NOT_A_CLASSIFIER = (
    "a classifier gives a probability for each label; if this is a log-likelihood, the function is a language model, "
    "for `geobias regions` or --lm"
)
NOT_A_LANGUAGE_MODEL = (
    "it looks like a classifier, for `geobias names` or `geobias downstream`; a language model gives one "
    "log-likelihood for each text"
)


class _FunctionScorer(Scorer):
    """Calls a function and checks the form of its answer."""

    kind: ClassVar[str] = "function"
    expected_answer: ClassVar[str]
    failure_hint: ClassVar[str] = ""
    fingerprint: str | None

    def __init__(self, function: Function, *, name: str | None = None) -> None:
        self.function = function
        self.name = name or function_name(function)
        version = getattr(function, "fingerprint", None)
        if not isinstance(version, str | None):
            raise InputError(f"The {self.kind} {self.name} has a fingerprint that is not a string: {version!r}.")
        self.fingerprint = None if version is None else f"{self.name}:{version}:function"

    def _call(self, texts: Sequence[str]) -> list[Any]:
        """Return the function's answer as one row for each text."""
        with user_code(f"The {self.kind} {self.name}", self.failure_hint):
            answer = self.function(list(texts))
        rows = _split_rows(answer)
        if rows is None:
            raise InputError(
                f"The {self.kind} {self.name} gave something of type {type(answer).__name__}: "
                f"it must give {self.expected_answer}."
            )
        if len(rows) != len(texts):
            raise InputError(
                f"The {self.kind} {self.name} gave {len(rows)} rows for {len(texts)} texts: give one for each."
            )
        return rows

    def _as_numbers(self, row: Any, texts: Sequence[str], index: int, advice: str) -> np.ndarray:
        """Return the answer to one text as an array; refuse anything but numbers."""
        try:
            numbers = np.asarray(row)
        except (TypeError, ValueError, RuntimeError):  # rows within a row; a tensor that cannot be an array
            numbers = np.array(None)
        if numbers.dtype.kind not in "biuf":
            self._refuse("gave something else than numbers", texts, index, advice)
        return numbers

    def _refuse(self, problem: str, texts: Sequence[str], index: int, advice: str) -> NoReturn:
        text = texts[index]
        excerpt = text if len(text) <= EXCERPT_LENGTH else text[: EXCERPT_LENGTH - 1] + "…"
        raise InputError(f"The {self.kind} {self.name} {problem} for the text {excerpt!r} (answer[{index}]): {advice}.")


class FunctionClassifier(_FunctionScorer, Classifier):
    """A function as a classifier. `from_function` calls it once, to learn its labels."""

    expected_answer = "an array of texts x labels, or a list of mappings from label to probability"

    @classmethod
    def from_function(cls, function: Function, *, name: str | None = None) -> Self:
        """Make a classifier of a function, and check its answer to one text."""
        classifier = cls(function, name=name)
        classifier._learn_labels()
        return classifier

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Return the function's probabilities as they are; no text is ever cut."""
        probabilities = self._check_probabilities(self._call(texts), texts)
        return np.column_stack([probabilities, np.zeros(len(texts))])

    def _learn_labels(self) -> None:
        self.multi_label = bool(getattr(self.function, "multi_label", False))
        rows = self._call([PROBE])
        self.labels = self._read_labels(rows[0])
        self.columns = probability_columns(self.labels)
        self._check_probabilities(rows, [PROBE])

    def _read_labels(self, row: Any) -> tuple[str, ...]:
        """Return the labels that the function names; else those of a mapping, else the numbers of the columns."""
        labels = getattr(self.function, "labels", None)
        if labels is not None and not isinstance(labels, list | tuple):
            raise InputError(f"The labels of the {self.kind} {self.name} must be a list of strings, not {labels!r}.")
        if labels is None:
            labels = row if isinstance(row, Mapping) else range(len(row) if hasattr(row, "__len__") else 1)
        labels = tuple(str(label) for label in labels)
        if not labels or len(set(labels)) < len(labels):
            raise InputError(
                f"The labels of the {self.kind} {self.name} must be at least one, and differ: {list(labels)}."
            )
        return labels

    def _check_probabilities(self, rows: list[Any], texts: Sequence[str]) -> np.ndarray:
        """Return texts x labels; refuse values that are no probabilities."""
        row_values = [self._order_row(row, texts, index) for index, row in enumerate(rows)]
        values = np.array(row_values, dtype=np.float64).reshape(len(texts), len(self.labels))
        in_range = (np.abs(values - 0.5) <= 0.5 + RANGE_TOLERANCE).all(axis=1)  # False for NaN too
        if not in_range.all():
            index = int(np.argmin(in_range))
            advice = "every value must be a number from 0 to 1" if len(self.labels) > 1 else NOT_A_CLASSIFIER
            self._refuse(f"gave {_format_values(values[index])}", texts, index, advice)
        sums_to_one = np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE
        if not self.multi_label and not sums_to_one.all():
            index = int(np.argmin(sums_to_one))
            advice = (
                "make each row sum to 1, or give a function with multi_label = True if its labels can hold together"
            )
            self._refuse(f"gave {_format_values(values[index])}", texts, index, advice)
        return values

    def _order_row(self, row: Any, texts: Sequence[str], index: int) -> np.ndarray:
        """Return one row's numbers in the order of the labels."""
        if isinstance(row, Mapping):
            by_label = {str(label): value for label, value in row.items()}
            if set(by_label) != set(self.labels):
                advice = f"every text needs those of the first ({', '.join(self.labels)})"
                self._refuse(f"gave the labels {', '.join(by_label)}", texts, index, advice)
            row = [by_label[label] for label in self.labels]
        numbers = self._as_numbers(row, texts, index, "every value must be a probability")
        if numbers.shape != (len(self.labels),):
            each = f"a row needs one for each label ({', '.join(self.labels)})"
            advice = NOT_A_CLASSIFIER if numbers.shape == () else each
            self._refuse(f"gave numbers of shape {numbers.shape}", texts, index, advice)
        return numbers


class FunctionLM(_FunctionScorer, AnyLanguageModel):
    """A function as a language model. It has one scoring method, so it is its own scorer."""

    expected_answer = "one log-likelihood for each text: a list, an array or a column"
    columns = (LOG_LIKELIHOOD,)
    methods = (LOG_LIKELIHOOD,)
    default_method = perplexity_method = LOG_LIKELIHOOD

    @classmethod
    def from_function(cls, function: Function, *, name: str | None = None) -> Self:
        """Make a language model of a function, and check its answer to one text."""
        lm = cls(function, name=name)
        lm.score([PROBE])
        return lm

    def scorer(self, method: str | None = None) -> Self:
        if method not in (None, *self.methods):
            raise InputError(f"The function {self.name} has a score of its own, so it cannot be asked by {method!r}.")
        return self

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Return the function's log-likelihoods as they are."""
        values = [self._read_log_likelihood(row, texts, index) for index, row in enumerate(self._call(texts))]
        return np.array(values, dtype=np.float64).reshape(len(texts), 1)

    def _read_log_likelihood(self, row: Any, texts: Sequence[str], index: int) -> float:
        if isinstance(row, Mapping):
            self._refuse(f"gave the labels {', '.join(map(str, row))}", texts, index, NOT_A_LANGUAGE_MODEL)
        numbers = self._as_numbers(row, texts, index, "every text needs a log-likelihood")
        if numbers.shape not in ((), (1,)):
            self._refuse(f"gave numbers of shape {numbers.shape}", texts, index, NOT_A_LANGUAGE_MODEL)
        value = float(numbers.item())
        if not np.isfinite(value):
            self._refuse(f"gave {value}", texts, index, "every log-likelihood must be a finite number")
        return value


def import_function(spec: str) -> Function:
    """Import the function `package.module:function`. As for `python -m`, the current folder is searched too."""
    module_name, _, path = spec.partition(":")
    if not module_name or not path:
        raise InputError(f"{spec!r} names no function: write it as package.module:function.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        with user_code(f"Importing the module {module_name!r}"):
            target: Any = importlib.import_module(module_name)
    except InputError as error:
        cause = error.__cause__
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing and f"{module_name}.".startswith(f"{missing}."):
            raise InputError(
                f"There is no module {missing!r} for {spec!r}: run where it lies, or install it."
            ) from None
        raise
    for part in path.split("."):
        if not hasattr(target, part):
            raise InputError(f"There is no {part!r} for {spec!r}: check the name of the function.")
        target = getattr(target, part)
    if not callable(target):
        raise InputError(f"{spec!r} is of type {type(target).__name__} and cannot be called: name a function.")
    return target


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
        raise InputError(f"{action} failed: {describe_error(error)}{hint}") from error
    except BaseException as error:  # sys.exit(0) would look like success
        raise GeobiasError(
            f"{action} ended the program ({describe_error(error)}): it must answer, or raise an ordinary exception."
        ) from error


def describe_error(error: BaseException) -> str:
    """Return the type and message of an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def _format_values(values: np.ndarray) -> str:
    return np.array2string(values, precision=6, threshold=8)
