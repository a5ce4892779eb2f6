"""Any Python function as a model: a list of texts in, probabilities or log-likelihoods out.

    def polite(texts):                    # a classifier: an array of texts x labels, or a list of {label: probability}
        return [{"polite": 0.9, "rude": 0.1} for text in texts]

    polite.labels = ["polite", "rude"]    # optional: the labels of an array's columns
    polite.multi_label = True             # optional: labels that do not exclude each other

    def likely(texts):                    # a language model: one log-likelihood for each text
        return [-len(text) / 10 for text in texts]

    likely.fingerprint = "2"              # optional: keep the answers for later runs; change it with the function

What it answers is checked and kept as it is: a wrong number here would become a wrong finding later.
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
from geobias.models.scorer import LOG_LIKELIHOOD, PROBE, probability_columns

OUTSIDE = 1e-6  # how far rounding may take a probability out of [0, 1]
SUM_OFF = 1e-3  # how far rounding may take a row's sum from one
SHOWN = 60  # characters of a text in a message
NOT_A_CLASSIFIER = (
    "a classifier gives a probability for each label; if this is a log-likelihood, the function is a language model, "
    "for `geobias regions` or --lm"
)
NOT_A_LANGUAGE_MODEL = (
    "it looks like a classifier, for `geobias names` or `geobias downstream`; a language model gives one "
    "log-likelihood for each text"
)


class _Function:
    """A function with its name and fingerprint; it is asked here, and what it answers is looked through."""

    kind: ClassVar[str] = "function"
    gives: ClassVar[str]  # what it must give, in words
    advice: ClassVar[str] = ""  # said where it fails

    def __init__(self, function: Callable[[list[str]], Any], *, name: str | None = None) -> None:
        self.function = function
        self.name = name or function_name(function)
        version = getattr(function, "fingerprint", None)
        if not isinstance(version, str | None):
            raise InputError(f"The {self.kind} {self.name} has a fingerprint that is not a string: {version!r}.")
        self.fingerprint = None if version is None else f"{self.name}:{version}:function"

    def _ask(self, texts: Sequence[str]) -> list[Any]:
        """A row for each text."""
        with user_code(f"The {self.kind} {self.name}", self.advice):
            answer = self.function(list(texts))
        rows = _rows(answer)
        if rows is None:
            given = type(answer).__name__
            raise InputError(f"The {self.kind} {self.name} gave something of type {given}: it must give {self.gives}.")
        if len(rows) != len(texts):
            raise InputError(
                f"The {self.kind} {self.name} gave {len(rows)} rows for {len(texts)} texts: give one for each."
            )
        return rows

    def _numbers(self, row: Any, texts: Sequence[str], at: int, advice: str) -> np.ndarray:
        """What was given for one text, if it is made of numbers."""
        try:
            numbers = np.asarray(row)
        except (TypeError, ValueError, RuntimeError):  # rows within a row; a tensor that cannot be an array
            numbers = np.array(None)
        if numbers.dtype.kind not in "biuf":
            self._refuse("gave something else than numbers", texts, at, advice)
        return numbers

    def _refuse(self, what: str, texts: Sequence[str], at: int, advice: str) -> NoReturn:
        text = texts[at] if len(texts[at]) <= SHOWN else texts[at][: SHOWN - 1] + "…"
        raise InputError(f"The {self.kind} {self.name} {what} for the text {text!r} (answer[{at}]): {advice}.")


class FunctionClassifier(_Function):
    """A function with what the audits need to know of it: its labels are learned by asking it about one text."""

    gives = "an array of texts x labels, or a list of mappings from label to probability"
    base: str | None = None  # what a function was made from nobody knows

    def __init__(self, function: Callable[[list[str]], Any], *, name: str | None = None) -> None:
        super().__init__(function, name=name)
        self.multi_label = bool(getattr(function, "multi_label", False))
        answer = self._ask([PROBE])
        self.labels = self._labels(answer[0])
        self.columns = probability_columns(self.labels)
        self._checked(answer, [PROBE])

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """The function's probabilities, as it gave them; nothing is ever cut off."""
        values = self._checked(self._ask(texts), texts)
        return np.column_stack([values, np.zeros(len(texts))])

    def _labels(self, row: Any) -> tuple[str, ...]:
        """Its own labels; else those that a mapping names, else the numbers of the columns."""
        own = getattr(self.function, "labels", None)
        if own is not None and not isinstance(own, list | tuple):
            raise InputError(f"The labels of the {self.kind} {self.name} must be a list of strings, not {own!r}.")
        if own is not None or isinstance(row, Mapping):
            labels = tuple(str(label) for label in (row if own is None else own))
        else:
            labels = tuple(str(column) for column in range(len(row) if hasattr(row, "__len__") else 1))
        if not labels or len(set(labels)) < len(labels):
            raise InputError(
                f"The labels of the {self.kind} {self.name} must be at least one, and differ: {list(labels)}."
            )
        return labels

    def _checked(self, rows: list[Any], texts: Sequence[str]) -> np.ndarray:
        """Texts x labels, every value a probability."""
        numbers = [self._probabilities(row, texts, at) for at, row in enumerate(rows)]
        values = np.array(numbers, dtype=np.float64).reshape(len(texts), len(self.labels))
        inside = (np.abs(values - 0.5) <= 0.5 + OUTSIDE).all(axis=1)  # false of NaN too
        if not inside.all():
            at = int(np.argmin(inside))
            advice = "every value must be a number from 0 to 1" if len(self.labels) > 1 else NOT_A_CLASSIFIER
            self._refuse(f"gave {_shown(values[at])}", texts, at, advice)
        whole = np.abs(values.sum(axis=1) - 1) <= SUM_OFF
        if not self.multi_label and not whole.all():
            at = int(np.argmin(whole))
            advice = (
                "make each row sum to 1, or give a function with multi_label = True if its labels can hold together"
            )
            self._refuse(f"gave {_shown(values[at])}", texts, at, advice)
        return values

    def _probabilities(self, row: Any, texts: Sequence[str], at: int) -> np.ndarray:
        """One row's numbers, in the order of the labels."""
        if isinstance(row, Mapping):
            named = {str(label): value for label, value in row.items()}
            if set(named) != set(self.labels):
                advice = f"every text needs those of the first ({', '.join(self.labels)})"
                self._refuse(f"gave the labels {', '.join(named)}", texts, at, advice)
            row = [named[label] for label in self.labels]
        numbers = self._numbers(row, texts, at, "every value must be a probability")
        if numbers.shape != (len(self.labels),):
            each = f"a row needs one for each label ({', '.join(self.labels)})"
            advice = NOT_A_CLASSIFIER if numbers.shape == () else each
            self._refuse(f"gave numbers of shape {numbers.shape}", texts, at, advice)
        return numbers


class FunctionLM(_Function):
    """A function as a language model. There is one way of asking it, so it is its own and only scorer."""

    gives = "one log-likelihood for each text: a list, an array or a column"
    columns = (LOG_LIKELIHOOD,)
    methods = (LOG_LIKELIHOOD,)
    default_method = perplexity_method = LOG_LIKELIHOOD

    def __init__(self, function: Callable[[list[str]], Any], *, name: str | None = None) -> None:
        super().__init__(function, name=name)
        self.score([PROBE])  # a function of another kind is found before the work begins

    def scorer(self, method: str | None = None) -> Self:
        if method not in (None, *self.methods):
            raise InputError(f"The function {self.name} has a score of its own, so it cannot be asked by {method!r}.")
        return self

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """The function's log-likelihoods, as it gave them."""
        found = [self._log_likelihood(row, texts, at) for at, row in enumerate(self._ask(texts))]
        return np.array(found, dtype=np.float64).reshape(len(texts), 1)

    def _log_likelihood(self, row: Any, texts: Sequence[str], at: int) -> float:
        if isinstance(row, Mapping):
            self._refuse(f"gave the labels {', '.join(map(str, row))}", texts, at, NOT_A_LANGUAGE_MODEL)
        numbers = self._numbers(row, texts, at, "every text needs a log-likelihood")
        if numbers.shape not in ((), (1,)):
            self._refuse(f"gave numbers of shape {numbers.shape}", texts, at, NOT_A_LANGUAGE_MODEL)
        value = float(numbers.item())
        if not np.isfinite(value):
            self._refuse(f"gave {value}", texts, at, "every log-likelihood must be a finite number")
        return value


def named_function(spec: str) -> Callable[[list[str]], Any]:
    """The function that `package.module:function` names; modules in the current folder count, as for `python -m`."""
    module_name, _, path = spec.partition(":")
    if not module_name or not path:
        raise InputError(f"{spec!r} names no function: write it as package.module:function.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        with user_code(f"Importing the module {module_name!r}"):
            found: Any = importlib.import_module(module_name)
    except InputError as error:
        cause = error.__cause__
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing and f"{module_name}.".startswith(f"{missing}."):
            raise InputError(
                f"There is no module {missing!r} for {spec!r}: run where it lies, or install it."
            ) from None
        raise
    for part in path.split("."):
        if not hasattr(found, part):
            raise InputError(f"There is no {part!r} for {spec!r}: check the name of the function.")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{spec!r} is of type {type(found).__name__} and cannot be called: name a function.")
    return found


def function_name(function: Callable[..., Any]) -> str:
    """How `package.module:function` would name it, so that both ways share one store."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def _rows(answer: Any) -> list[Any] | None:
    """The rows of an array, a frame, a tensor or a list; None for anything else."""
    if isinstance(answer, list | tuple):
        return list(answer)
    if hasattr(answer, "columns") and hasattr(answer, "to_dict"):  # a DataFrame names its labels
        return list(answer.to_dict("records"))
    try:
        return list(np.asarray(answer))
    except (TypeError, RuntimeError):  # a single value; a tensor that still has its gradient, or lies on a GPU
        return None


@contextmanager
def user_code(what: str, advice: str = "") -> Iterator[None]:
    """Run code of the user's: whatever it raises is one line that names it, and nothing in it can end the program."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except Exception as error:
        raise InputError(f"{what} failed: {said(error)}{advice}") from error
    except BaseException as error:  # sys.exit(0) would look like success
        raise GeobiasError(
            f"{what} ended the program ({said(error)}): it must answer, or raise an ordinary exception."
        ) from error


def said(error: BaseException) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def _shown(values: np.ndarray) -> str:
    return np.array2string(values, precision=6, threshold=8)
