"""Classifiers of scikit-learn: fitted ones, .skops files, and pickles, which nobody opens."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn import __version__
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.load import load_classifier
from geobias.models.scorer import Classifier, ModelIdentity
from geobias.models.sources import PICKLES

SEEN = ["a good day", "a bad day", "fine and good", "bad luck"]
TEXTS = ["Thanks for a good day, Mary.", "A bad one.", ""]
TWO = np.array([[0, 1], [1, 0], [0, 0], [1, 1]])


def pipeline(last: Any = None, truth: Any = ("good", "bad", "good", "bad")) -> Any:
    return make_pipeline(TfidfVectorizer(), last or LogisticRegression()).fit(SEEN, truth)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    skops.io.dump(pipeline(), tmp_path / "model.skops")
    return tmp_path / "model.skops"


@pytest.mark.parametrize("last", [LogisticRegression(), MultinomialNB(), DecisionTreeClassifier()])
def test_a_fitted_pipeline_is_a_classifier(last: Any) -> None:
    fitted = pipeline(last)
    found = load_classifier(fitted)
    assert isinstance(found, Classifier)
    assert (
        found.name == "Pipeline" and found.labels == ("bad", "good") and found.columns == ("p(bad)", "p(good)", "cut")
    )
    assert found.fingerprint is None and not found.multi_label
    np.testing.assert_array_equal(found.score(TEXTS), np.column_stack([fitted.predict_proba(TEXTS), [0, 0, 0]]))


def test_what_can_be_called_is_a_function_first() -> None:
    class Wrapped:
        def predict_proba(self, texts: list[str]) -> Any:
            raise AssertionError("asked in the wrong way")

        predict = predict_proba

        def __call__(self, texts: list[str]) -> Any:
            return [[0.5, 0.5] for _ in texts]

    assert load_classifier(Wrapped()).labels == ("0", "1")
    assert load_classifier(pipeline().predict_proba).labels == ("0", "1")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: make_pipeline(TfidfVectorizer(), LogisticRegression()), r"^Pipeline is not fitted .*classes_"),
        (lambda: pipeline(LinearSVC()), r"^Pipeline has no predict_proba"),
        (lambda: pipeline(MultiOutputClassifier(LogisticRegression()), TWO), r"^Pipeline has 2 outputs"),
        (lambda: pipeline(OneVsRestClassifier(LogisticRegression()), TWO), r"set multi_label = True on the function"),
        (
            lambda: LogisticRegression().fit([[1.0], [2.0]], [0, 1]),
            r"^The scikit-learn model LogisticRegression failed: ValueError: .*give the whole pipeline",
        ),
        (lambda: TfidfVectorizer(), r"^An object of type TfidfVectorizer is not a classifier"),
    ],
)
def test_what_is_no_classifier_of_texts_is_refused(model: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_classifier(model())
    assert "\n" not in str(caught.value)


def test_a_file_of_skops_is_that_classifier(file: Path) -> None:
    found = load_classifier(file)
    np.testing.assert_array_equal(found.score(TEXTS), load_classifier(pipeline()).score(TEXTS))
    assert found.identity() == ModelIdentity(str(file), "probabilities", found.fingerprint)


def test_its_answers_are_kept_under_the_content_of_the_file(file: Path) -> None:
    found = load_classifier(file)
    assert found.fingerprint is not None and found.fingerprint.endswith(f":scikit-learn {__version__}:function:1")
    copy = file.with_name("copy.SKOPS")
    copy.write_bytes(file.read_bytes())
    assert ask(found, TEXTS).scored == len(TEXTS) and ask(load_classifier(str(copy)), TEXTS).scored == 0
    skops.io.dump(pipeline(MultinomialNB()), file)
    assert load_classifier(file).fingerprint != found.fingerprint


def _zip_of_something_else(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as content:
        content.writestr("other", "")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda file: None, "cannot be read: No such file"),
        (lambda file: file.write_bytes(b"nonsense"), "is damaged or not a skops file: BadZipFile"),
        (lambda file: file.write_bytes(b""), "is damaged or not a skops file"),
        (_zip_of_something_else, "is damaged or not a skops file: KeyError"),
        (lambda file: skops.io.dump(pipeline(LinearSVC()), file), "has no predict_proba"),
        (lambda file: skops.io.dump(LogisticRegression(), file), "is not fitted"),
    ],
)
def test_a_file_with_something_else_is_refused(tmp_path: Path, write: Callable[[Path], Any], message: str) -> None:
    file = tmp_path / "model.skops"
    write(file)
    with pytest.raises(InputError, match=f"{file} {message}") as caught:
        load_classifier(file)
    assert "\n" not in str(caught.value)


class Mine(LogisticRegression):  # type: ignore[misc]
    """A classifier that skops knows nothing of."""

    def __setstate__(self, state: Any) -> None:
        raise AssertionError("built")


def test_types_that_skops_does_not_trust_are_listed_and_not_built(file: Path) -> None:
    skops.io.dump(pipeline(Mine()), file)
    with pytest.raises(
        InputError, match=r"does not trust \(tests.models.classifiers.test_scikit_learn.Mine\).*package.module:function"
    ):
        load_classifier(file)


class Trap:
    """A pickle of this makes a file when it is opened."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


@pytest.mark.parametrize("suffix", [*PICKLES, ".PKL"])
def test_a_pickle_is_never_opened(tmp_path: Path, suffix: str) -> None:
    file, sprung = tmp_path / f"model{suffix}", tmp_path / "sprung"
    file.write_bytes(pickle.dumps(Trap(sprung)))
    for name in (file, str(file)):
        with pytest.raises(InputError, match=r"can run any code.*skops.io.dump\(model, 'model.skops'\)"):
            load_classifier(name)
    (tmp_path / "model.skops").write_bytes(file.read_bytes())
    with pytest.raises(InputError, match="not a skops file"):
        load_classifier(tmp_path / "model.skops")
    assert not sprung.exists()
    pickle.loads(file.read_bytes())
    assert sprung.exists()  # it would have been


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "model.skops"
    folder.mkdir()
    with pytest.raises(InputError, match=r"has no model: config.json is missing"):
        load_classifier(folder)
