"""Functions as language models: what they may give, what they may not, how they are found by name, and asked once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from geobias import audit_regions
from geobias.errors import InputError
from geobias.models.functions import FunctionClassifier, FunctionLM
from geobias.models.load import load_masked, load_scorer
from geobias.models.scorer import PROBE, ModelIdentity, Scorer
from geobias.models.sources import is_function_name

TEXTS = ["People in France are kind.", "x" * 100, "France"]
FEW: dict[str, Any] = {"cities": 0, "countries": ["FR", "DE", "NG", "KE"], "placebo": False, "paraphrases": 0}


def likely(texts: list[str]) -> list[float]:
    return [-len(text) / 8 - (sum(text.encode()) % 7) for text in texts]


EXPECTED = np.array(likely(TEXTS))[:, None]


def answering(answer: Any, **attributes: Any) -> FunctionLM:
    """A function that answers the first question well, and all others as told."""

    def odd(texts: list[str]) -> Any:
        return likely(texts) if texts == [PROBE] else answer

    for name, value in attributes.items():
        setattr(odd, name, value)
    return FunctionLM(odd, name="mine:odd")


@pytest.mark.parametrize(
    "kind",
    [
        list,
        np.array,
        torch.tensor,
        pd.Series,
        lambda values: [[value] for value in values],
        lambda values: [torch.tensor(value, dtype=torch.float64) for value in values],
    ],
)
def test_lists_arrays_tensors_and_columns_are_taken(kind: Callable[[Any], Any]) -> None:
    scorer = FunctionLM(lambda texts: kind(likely(texts)))
    assert isinstance(scorer, Scorer) and scorer.columns == ("log_likelihood",) and scorer.fingerprint is None
    np.testing.assert_allclose(scorer.score(TEXTS), EXPECTED, rtol=1e-6)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([-1.0, -2.0], r"returned 2 rows for 3 texts\. Return one per text"),
        (-1.0, r"returned a value of type float\. It must return one log-likelihood for each text"),
        ([-1, float("nan"), -1], r"returned nan for the text 'x{59}…' \(answer\[1\]\)\. Every .* finite"),
        (["-1", "-1", "-1"], r"values that are not numbers for the text 'People in France are kind.'"),
        (np.full((3, 2), 0.5), r"shape \(2,\) .*It looks like a classifier: use it with `geobias names`"),
        (pd.DataFrame({"good": [0.5] * 3, "bad": [0.5] * 3}), "the labels good, bad .*It looks like a classifier"),
    ],
)
def test_every_answer_is_checked(answer: Any, message: str) -> None:
    with pytest.raises(
        InputError, match=r"^The function mine:odd returned .*" + message.removeprefix("returned ")
    ) as caught:
        answering(answer).score(TEXTS)
    assert "\n" not in str(caught.value)


def test_a_classifier_is_found_out_before_the_work_begins() -> None:
    with pytest.raises(InputError, match=r"looks like a classifier"):
        audit_regions(lambda texts: np.full((len(texts), 2), 0.5), **FEW)


@pytest.mark.parametrize("rows", [likely, lambda texts: [[value] for value in likely(texts)]])
def test_a_language_model_is_found_out_where_a_classifier_is_needed(rows: Callable[[list[str]], Any]) -> None:
    with pytest.raises(InputError, match=r"use it with `geobias regions` or --perplexity\.$"):
        FunctionClassifier(rows)


def test_a_function_is_its_own_only_scorer() -> None:
    scorer = FunctionLM(likely)
    assert scorer.scorer() is scorer and load_scorer(scorer, None) is scorer
    for score in ("aul", "pll"):
        with pytest.raises(InputError, match=rf"returns its own score\. Remove the score '{score}'"):
            load_scorer(likely, score)
    name = "tests.models.test_functions_as_language_models:likely"
    assert scorer.identity() == ModelIdentity(name, "log_likelihood", None)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("/nowhere")
    (tmp_path / "geobias_lm.py").write_text(
        "open('imported', 'w')\n\ndef f(texts):\n    return [-1.0 for _ in texts]\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("package.module:function", True),
        (":f", True),  # and named_function says how it is written
        ("bert-base-uncased", False),
        ("C:\\models\\bert", False),
        ("http://localhost:8080/v1", False),
        ("model:q4.gguf", False),
        ("model:2.PKL", False),
        ("a:folder", False),
    ],
)
def test_what_is_the_name_of_a_function(here: Path, name: str, is_one: bool) -> None:
    (here / "a:folder").mkdir()
    assert is_function_name(name) == is_one


def test_where_weights_are_needed_a_function_is_not_even_imported(here: Path) -> None:
    with pytest.raises(InputError, match="geobias_lm:f is a function and has no weights"):
        load_masked("geobias_lm:f")
    assert not (here / "imported").exists()
