"""Classifiers of scikit-learn: a fitted one or a pipeline as it is, or from a file that skops wrote.

    skops.io.dump(pipeline, "model.skops")

A pickle is a program that runs when it is opened, so none ever is. A .skops file holds data; where it names a type that
skops does not know to be harmless, it is refused, and nothing of it is built.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.functions import FunctionClassifier, said
from geobias.models.scorer import PICKLES


class EstimatorClassifier(FunctionClassifier):
    """`predict_proba` as a function of texts; its answers are checked like those of any other."""

    kind = "scikit-learn model"
    advice = " (it is handed a list of texts: give the whole pipeline, with what makes numbers of them)"

    def __init__(self, estimator: Any, *, name: str | None = None, fingerprint: str | None = None) -> None:
        name = name or type(estimator).__name__
        super().__init__(_Probabilities(estimator, name), name=name)
        self.fingerprint = fingerprint


class _Probabilities:
    """A fitted classifier as a function, with the names of its classes for labels."""

    def __init__(self, estimator: Any, name: str) -> None:
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"{name} gives no probabilities (it has no predict_proba): give a classifier that does, such as "
                "LogisticRegression, or LinearSVC inside CalibratedClassifierCV."
            )
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            raise InputError(f"{name} is not fitted (it has no classes_): fit it first.")
        if isinstance(classes, list):
            raise InputError(f"{name} answers {len(classes)} questions at once: give a classifier for one of them.")
        self.estimator = estimator
        self.labels = [str(label) for label in classes]

    def __call__(self, texts: list[str]) -> np.ndarray:
        return np.asarray(self.estimator.predict_proba(texts))


def is_estimator(model: Any) -> bool:
    """Whether something is of scikit-learn's kind, be it fitted or not; what can be called is a function first."""
    predicts = hasattr(model, "predict") or hasattr(model, "predict_proba")
    return predicts and (not callable(model) or hasattr(model, "classes_"))


def read_estimator(name: str) -> EstimatorClassifier:
    """The classifier in a .skops file; the name of a pickle is refused before anybody looks at the file."""
    path = Path(name).expanduser()
    if path.suffix.lower() in PICKLES:
        raise InputError(
            f"{name} is a pickle, which can run any code when it is opened, so it is not: save the model with "
            f"skops.io.dump(model, {path.stem + '.skops'!r}), or name a function of yours, package.module:function."
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"The file {name} cannot be read: {error.strerror}.") from None
    try:
        import skops.io
        from sklearn import __version__
    except ImportError:
        raise InputError("A .skops file needs the package skops: pip install 'geobias[sklearn]'.") from None
    try:
        unknown = skops.io.get_untrusted_types(data=content)
        model = None if unknown else skops.io.loads(content)
    except Exception as error:  # no zip file, no schema, another version's schema: there is no end of what can be wrong
        raise InputError(f"{name} is damaged, or was not written by skops: {said(error)}") from error
    if unknown:
        raise InputError(
            f"{name} holds types that skops does not trust ({', '.join(unknown)}), so it is not loaded: if you trust "
            "it, load it in a function of your own and name that, package.module:function."
        )
    if not is_estimator(model):
        raise InputError(f"{name} holds something of type {type(model).__name__}: save a fitted classifier there.")
    digest = hashlib.sha256(content).hexdigest()[:32]
    return EstimatorClassifier(model, name=name, fingerprint=f"{digest}:scikit-learn {__version__}")
