"""Functions that answer with labels instead of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geobias
from geobias.errors import InputError
from geobias.models.answers import make_prompt
from geobias.models.functions import FunctionClassifier
from geobias.models.load import load_classifier
from tests.conftest import Run, made_up_names

TEXTS = ["Mary was late again.", "Thanks, John!", "Peter called.", "Thanks, Anna, and Paul.", "Anna left."] * 2


def judge(texts: Sequence[str]) -> list[str]:
    return ["positive" if "Thanks" in text else "negative" for text in texts]


def named(function: Any, labels: list[str]) -> Any:
    def answer(texts: list[str]) -> Any:
        return function(texts)

    answer.labels = labels  # type: ignore[attr-defined]
    return answer


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_labels_are_one_hot(kind: Any) -> None:
    classifier = FunctionClassifier(named(lambda texts: kind(judge(texts)), ["positive", "negative", "neutral"]))
    assert classifier.labels == ("positive", "negative", "neutral") and not classifier.multi_label
    np.testing.assert_array_equal(classifier.score(TEXTS[:2]), [[0, 1, 0, 0], [1, 0, 0, 0]])
    assert "in flips" in classifier.notes[0]


def test_labels_are_learned_from_the_original_texts() -> None:
    classifier = load_classifier(judge)
    classifier.learn_labels(TEXTS)
    assert classifier.labels == ("negative", "positive") and classifier.columns == ("p(negative)", "p(positive)", "cut")
    np.testing.assert_array_equal(classifier.score(TEXTS[:2]), [[1, 0, 0], [0, 1, 0]])


def test_the_users_labels_come_first() -> None:
    classifier = load_classifier(judge, prompt=make_prompt("positive,neutral,negative"))
    classifier.learn_labels(TEXTS)
    assert classifier.labels == ("positive", "neutral", "negative")


def test_a_new_label_is_refused_with_what_to_do() -> None:
    classifier = load_classifier(lambda texts: ["new" if "?" in text else judge([text])[0] for text in texts])
    classifier.learn_labels(TEXTS)
    with pytest.raises(
        InputError, match=r"'new', which is not among its labels \(negative, positive\), for the text"
    ) as e:
        classifier.score(["Thanks.", "Anna?"])
    assert "(answer[1])" in str(e.value) and "--labels negative,positive,new" in str(e.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([["positive"], "negative"], r"returned a value of type list .*answer\[0\]\)\. Return one label as a string"),
        (["positive", None], r"returned a value of type NoneType .*answer\[1\]"),
        (["positive", 0.3], r"returned a value of type float .*answer\[1\]"),
        (["positive"], "1 rows for 2 texts"),
        ("positive", "1 rows for 2 texts|returned a value of type str"),
    ],
)
def test_other_answers_are_refused(answer: Any, message: str) -> None:
    classifier = FunctionClassifier(
        named(lambda texts: judge(texts) if len(texts) == 1 else answer, ["positive", "negative"])
    )
    with pytest.raises(InputError, match=message):
        classifier.score(["a", "b"])


def test_delta_is_in_flips(tmp_path: Path) -> None:
    """A text with a name of country B flips from negative to positive: 2 points for each of 100 texts."""
    gazetteer = made_up_names(tmp_path, ["Aland", "Bland"])

    def partial(texts: list[str]) -> list[str]:
        return [
            "positive" if "Bmale" in text or "Bfemale" in text or "Thanks" in text else "negative" for text in texts
        ]

    options: dict[str, Any] = {"gazetteer": gazetteer, "draws": 3}
    result = geobias.audit_names(partial, TEXTS, **options)
    (entry,) = result.classifiers
    bland = next(row for row in result.effects if row.place == "Bland")
    positive = next(row for row in result.classes if (row.place, row.label) == ("Bland", "positive"))
    flips = positive.after - positive.before
    assert flips > 0 and bland.against_originals.value == pytest.approx(200 * flips / bland.renamed_texts)
    assert any("Δ is in flips" in note for note in entry.notes)
    named_labels = geobias.audit_names(partial, TEXTS, **options, labels="negative,positive")
    assert (named_labels.effects, named_labels.classes) == (result.effects, result.classes)


def test_labels_on_the_command_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "labelmodule.py").write_text(
        "def judge(texts):\n    return ['hate' if 'Mexico' in text else 'no' for text in texts]\n", encoding="utf-8"
    )
    (tmp_path / "texts.json").write_text('["One text.", "Another text."]', encoding="utf-8")
    arguments = ("downstream", "labelmodule:judge", "--texts", "texts.json", "--countries", "FR,MX,UG", "--out", "x")
    code, _, err = run(*arguments)
    assert code == 2 and "returned the label 'no' for all 2 texts" in err and "--labels no,..." in err
    code, out, err = run(*arguments, "--labels", "no,hate", "--full")
    assert code == 0, err
    assert "in flips" in " ".join(out.split())
