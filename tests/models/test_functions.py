"""Functions as classifiers: what they may give, what they may not, and how they are found by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.functions import FunctionClassifier, import_function
from geobias.models.load import load_classifier
from geobias.models.scorer import PROBE, Classifier

TEXTS = ["People in France are kind.", "x" * 100, "France"]


def share(text: str) -> float:
    """Between 0 and 1, and another for each of the texts."""
    return len(text) / 128


def as_array(texts: list[str]) -> np.ndarray:
    return np.array([[share(text), 1 - share(text)] for text in texts])


class Counting:
    """A classifier that notes what it was asked."""

    labels = ("short", "long")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.asked += texts
        return as_array(texts)


def answering(answer: Callable[[list[str]], Any], **attributes: Any) -> FunctionClassifier:
    """A function that answers the first question well, and all others as told."""

    def odd(texts: list[str]) -> Any:
        return as_array(texts) if texts == [PROBE] else answer(texts)

    for name, value in attributes.items():
        setattr(odd, name, value)
    return FunctionClassifier(odd, name="mine:odd")


def test_an_array_has_numbered_labels() -> None:
    found = load_classifier(as_array)
    assert isinstance(found, FunctionClassifier) and isinstance(found, Classifier)
    assert found.labels == ("0", "1") and found.columns == ("p(0)", "p(1)", "cut")
    assert not found.multi_label and found.fingerprint is None
    expected = [[share(text), 1 - share(text), 0] for text in TEXTS]
    np.testing.assert_array_equal(found.score(TEXTS), expected)


@pytest.mark.parametrize("kind", [torch.tensor, pd.DataFrame, list, lambda rows: [torch.tensor(row) for row in rows]])
def test_tensors_frames_and_lists_are_arrays_too(kind: Callable[[Any], Any]) -> None:
    classifier = FunctionClassifier(lambda texts: kind(as_array(texts)))
    np.testing.assert_array_equal(classifier.score(TEXTS)[:, :-1], as_array(TEXTS))


def test_the_labels_of_the_function_name_the_columns() -> None:
    function = Counting()
    assert FunctionClassifier(function).columns == ("p(short)", "p(long)", "cut")
    assert function.asked == [PROBE]


def test_mappings_may_have_any_order() -> None:
    def mapped(texts: list[str]) -> list[dict[str, float]]:
        rows = [{"a": share(text), "b": 1 - share(text)} for text in texts]
        return [row if i % 2 else dict(reversed(row.items())) for i, row in enumerate(rows)]

    classifier = FunctionClassifier(mapped)
    assert classifier.labels == ("b", "a")  # as in the first row
    np.testing.assert_array_equal(classifier.score(TEXTS)[:, 1], [share(text) for text in TEXTS])
    np.testing.assert_array_equal(classifier.score(TEXTS)[:, 0], [1 - share(text) for text in TEXTS])


def test_labels_that_can_hold_together_need_not_sum_to_one() -> None:
    both = answering(lambda texts: [[0.9, 0.8]] * len(texts), multi_label=True)
    assert both.multi_label
    np.testing.assert_array_equal(both.score(["a"]), [[0.9, 0.8, 0]])
    with pytest.raises(InputError, match="between 0 and 1"):
        answering(lambda texts: [[0.9, 1.1]] * len(texts), multi_label=True).score(["a"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[0.5, 0.5]], r"1 rows for 3 texts\. Return one per text"),
        (7, r"a value of type int\. It must return an array"),
        (torch.full((3, 2), 0.5, requires_grad=True), r"a value of type Tensor\. It must return an array"),
        ([[0.5, 0.5], [0.2, 0.3, 0.5], [0.5, 0.5]], r"shape \(3,\) for the text 'x{59}…' \(answer\[1\]\).*\(0, 1\)"),
        ([0.5, 0.5, 0.5], r"shape \(\) for the text 'People"),
        ([{"0": 0.5, "1": 0.5}] * 2 + [{"0": 0.5, "2": 0.5}], r"the labels 0, 2 for the text 'France' \(answer\[2\]\)"),
        ([[0.5, 0.5], ["a", "b"], [0.5, 0.5]], r"values that are not numbers for the text 'x{59}…' \(answer\[1\]\)"),
        ([[0.5, 0.5], [[0.5], 0.5], [0.5, 0.5]], r"values that are not numbers.*answer\[1\]"),
        (
            [[0.5, 0.5], [0.5, 0.5], [np.nan, 1]],
            r"\[nan +1.*\] for the text 'France' \(answer\[2\]\).*between 0 and 1",
        ),
        ([[0.5, 0.5], [1.00001, -0.00001], [0.5, 0.5]], r"answer\[1\].*between 0 and 1"),
        ([[0.5, 0.5], [0.5, 0.5], [0.5, 0.502]], r"\[0.5 +0.502\].*answer\[2\].*multi_label = True"),
    ],
)
def test_every_answer_is_checked(answer: Any, message: str) -> None:
    with pytest.raises(InputError, match=r"^The function mine:odd returned .*" + message) as caught:
        answering(lambda texts: answer).score(TEXTS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "returned a value of type NoneType"),
        ([0.5], r"shape \(\) for the text 'The quick brown fox.'"),
        ([[]], "and at least one"),
        ([{"label": "good", "score": 0.9}], "values that are not numbers"),
        ([[0.5, 0.4]], "multi_label = True"),
    ],
)
def test_the_first_answer_is_checked_too(answer: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FunctionClassifier(lambda texts: answer)


@pytest.mark.parametrize("row", [[1.0000005, -0.0000005], [0.5, 0.5009]])
def test_rounding_is_forgiven(row: list[float]) -> None:
    np.testing.assert_array_equal(answering(lambda texts: [row]).score(["a"])[0, :2], row)


def test_a_failure_inside_is_told() -> None:
    def broken(texts: list[str]) -> Any:
        raise TypeError("no\nnumber")

    with pytest.raises(InputError, match=r"^The function mine:odd failed: TypeError: no number$") as caught:
        answering(broken).score(TEXTS)
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"labels": "ab"}, "must be a list of strings, not 'ab'"),
        ({"labels": ["a", "a"]}, "must be distinct, and at least one"),
        ({"labels": []}, "must be distinct, and at least one"),
        ({"labels": ["a", "b", "c"]}, r"shape \(2,\).*a, b, c"),
        ({"fingerprint": 3}, "fingerprint that is not a string: 3"),
    ],
)
def test_attributes_are_checked_at_once(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        answering(as_array, **attributes)


def test_with_a_fingerprint_a_text_is_asked_once_ever() -> None:
    function = Counting()
    function.fingerprint = "1"  # type: ignore[attr-defined]
    first = ask(load_classifier(function), TEXTS)
    asked = len(function.asked)
    second = ask(load_classifier(function), TEXTS)
    assert first.scored == len(TEXTS) and second.scored == 0
    assert function.asked[asked:] == [PROBE]
    np.testing.assert_array_equal(first.scores, second.scores)
    function.fingerprint = "2"  # type: ignore[attr-defined]
    assert ask(load_classifier(function), TEXTS).scored == len(TEXTS)


MODULE = """
def half(texts):
    return [[0.5, 0.5] for _ in texts]
half.fingerprint = "1"

class Model:
    def predict(self, texts):
        return [{"yes": 0.25, "no": 0.75} for _ in texts]

model = Model()
number = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with modules in it, and `sys.path` put back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("/nowhere")
    package = tmp_path / "geobias_try"
    package.mkdir()
    for name, content in {
        "__init__": "",
        "good": MODULE,
        "needy": "import geobias_not_there",
        "old": "from math import no_such_thing",
        "broken": "1 / 0",
    }.items():
        (package / f"{name}.py").write_text(content)
    return tmp_path


def test_a_function_is_found_by_name_in_the_current_folder(here: Path) -> None:
    found = load_classifier("geobias_try.good:half")
    assert isinstance(found, FunctionClassifier)
    assert found.name == "geobias_try.good:half" and found.labels == ("0", "1")
    same = load_classifier(import_function("geobias_try.good:half"))
    assert same.fingerprint == found.fingerprint == "geobias_try.good:half:1:function:1"


def test_the_current_folder_is_searched_only_while_a_function_is_imported(here: Path) -> None:
    before = list(sys.path)
    (here / "geobias_late.py").write_text("number = 1")
    (here / "geobias_try/lazy.py").write_text(
        "import sys, os\nassert sys.path[0] == os.getcwd()\n\n"
        "def f(texts):\n    import geobias_late\n    return [[1.0]] * len(texts)\n"
    )
    with pytest.raises(
        InputError, match=r"import geobias_late at its top"
    ):  # the function is called to see how it answers
        load_classifier("geobias_try.lazy:f")
    assert sys.path == before
    with pytest.raises(InputError):
        load_classifier("geobias_try.broken:f")
    assert sys.path == before


def test_a_method_is_found_by_its_path(here: Path) -> None:
    found: Classifier = load_classifier("geobias_try.good:model.predict")
    assert found.labels == ("yes", "no")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("geobias_nowhere:f", "There is no module 'geobias_nowhere'"),
        ("geobias_try.good:missing", "There is no 'missing' for"),
        ("geobias_try.good:number", "has type int and cannot be called"),
        ("geobias_try.needy:f", "'geobias_try.needy' failed: ModuleNotFoundError.*geobias_not_there"),
        ("geobias_try.broken:f", "'geobias_try.broken' failed: ZeroDivisionError"),
        (":f", "Write it as package.module:function"),
        ("geobias_try.good:", "Write it as package.module:function"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(here: Path, spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_classifier(spec)


class Own(Classifier):
    """A classifier by someone who wrote a class."""

    name, labels, columns = "own", ("a", "b"), ("p(a)", "p(b)", "cut")

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.column_stack([as_array(list(texts)), np.zeros(len(texts))])


def test_a_classifier_of_the_users_own() -> None:
    classifier = Own()
    assert load_classifier(classifier) is classifier
    classifier.columns = ("p(b)", "p(a)", "cut")
    with pytest.raises(InputError, match="is no complete classifier"):
        load_classifier(classifier)
