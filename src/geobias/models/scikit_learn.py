"""Classifiers of scikit-learn: a fitted model or pipeline, or from a file that skops wrote.

    skops.io.dump(pipeline, "model.skops")

A pickle is a program that runs when it is opened, so none ever is. A .skops file holds data. If it names a type that
skops does not trust, it is refused, and nothing of it is built.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.files import most_unpacked
from geobias.models.functions import FunctionClassifier, describe_error
from geobias.models.sources import PICKLES

SCHEMA = "schema.json"  # of a .skops file: what is in it, with the names of the files that hold the arrays
BYTES_PER_VALUE = 64  # what skops and Python need at least for a value of the schema, such as "[]"


class EstimatorClassifier(FunctionClassifier):
    """`predict_proba` as a function of texts. Its answers are checked like those of any other function."""

    kind = "scikit-learn model"
    failure_hint = " (it is called with a list of texts: give the whole pipeline, including the vectoriser)"

    def __init__(self, estimator: Any, *, name: str | None = None, fingerprint: str | None = None) -> None:
        name = name or type(estimator).__name__
        super().__init__(_PredictProba(estimator, name), name=name)
        self.has_digest = fingerprint is not None
        self.fingerprint = None if fingerprint is None else f"{fingerprint}:function:{self.version}"


class _PredictProba:
    """A fitted classifier as a function, with the names of its classes as labels."""

    def __init__(self, estimator: Any, name: str) -> None:
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"{name} has no predict_proba. Use a classifier that has it, such as LogisticRegression, or LinearSVC "
                "inside CalibratedClassifierCV. To audit labels without probabilities, pass its method predict."
            )
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            raise InputError(f"{name} is not fitted (it has no classes_). Fit it first.")
        if isinstance(classes, list):
            raise InputError(f"{name} has {len(classes)} outputs. Use a classifier with one.")
        self.estimator = estimator
        self.labels = [str(label) for label in classes]

    def __call__(self, texts: list[str]) -> np.ndarray:
        return np.asarray(self.estimator.predict_proba(texts))


def read_estimator(name: str) -> EstimatorClassifier:
    """Read the classifier in a .skops file. A pickle is refused by its name, before the file is opened."""
    path = Path(name).expanduser()
    if path.suffix.lower() in PICKLES:
        raise InputError(
            f"{name} is a pickle. geobias does not load pickles, because they can run any code. Save the model with "
            f"skops.io.dump(model, {path.stem + '.skops'!r}), or pass a function as package.module:function."
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"The file {name} cannot be read: {error.strerror}.") from None
    fingerprint = compute_file_fingerprint(content)
    import skops.io

    try:
        unpacked, most = _measure_unpacked(content), most_unpacked(len(content))
        if unpacked > most:
            raise InputError(
                f"{name} has {len(content):,} bytes and unpacks to {unpacked:,}; the limit for a file of its size is "
                f"{most:,}. If you trust it, load it in your own function and pass that as package.module:function."
            )
        untrusted_types = skops.io.get_untrusted_types(data=content)
        estimator = None if untrusted_types else skops.io.loads(content)
    except InputError:
        raise
    except Exception as error:  # no zip file, no schema, another version's schema: a damaged file fails in many ways
        raise InputError(f"{name} is damaged or not a skops file: {describe_error(error)}") from error
    if untrusted_types:
        raise InputError(
            f"{name} has types that skops does not trust ({', '.join(untrusted_types)}). If you trust the file, load "
            "it in your own function and pass that as package.module:function."
        )
    return EstimatorClassifier(estimator, name=name, fingerprint=fingerprint)


def compute_file_fingerprint(content: bytes) -> str:
    """Return a digest of a .skops file, with the version of scikit-learn that computes with it."""
    try:
        import skops.io  # noqa: F401
        from sklearn import __version__
    except ImportError:
        raise InputError("A .skops file needs the package skops: pip install 'geobias[sklearn]'.") from None
    return f"{hashlib.sha256(content).hexdigest()[:32]}:scikit-learn {__version__}"


def _measure_unpacked(content: bytes) -> int:
    """Bytes that a .skops file takes in memory, by the directory of the archive, or more than it may take.

    Every mention of a file in the schema loads it once more, and a sparse matrix is an archive of its own.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        unpacked = sum(sizes.values())
        if unpacked > most_unpacked(len(content)):
            return unpacked
        schema = archive.read(SCHEMA)
        unpacked += BYTES_PER_VALUE * sum(map(schema.count, (b",", b"[", b"{")))
        if unpacked > most_unpacked(len(content)):
            return unpacked
        for name in sizes:
            with archive.open(name) as file:
                if zipfile.is_zipfile(file):
                    with zipfile.ZipFile(file) as matrix:
                        sizes[name] += sum(entry.file_size for entry in matrix.infolist())
    mentions: list[int] = []

    def count_file(node: dict[str, Any]) -> None:
        name = node.get("file")
        mentions.append(sizes.get(name, 0) if isinstance(name, str) else 0)

    json.loads(schema, object_hook=count_file)
    return unpacked + sum(mentions)
