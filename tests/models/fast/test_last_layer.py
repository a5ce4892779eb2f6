"""The last layer at single positions: the same numbers, less work, and only where a head reads no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from geobias.models.load import load_classifier, load_masked
from tests.models.classifiers.test_huggingface import saved

TEXTS = ["People in France are kind.", "People in Nigeria are hard-working.", "The lazy dog."]
BUILT_LIKE_IT = {"bert", "roberta", "electra", "distilbert"}


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "distilbert", "albert", "deberta"])
def test_masked_tokens(small_models: dict[str, Path], kind: str) -> None:
    lm: Any = load_masked(small_models[kind])
    assert (lm.fast.last_layer is not None) == (kind in BUILT_LIKE_IT)
    short = lm.scorer("pll").score(TEXTS)
    lm.fast.last_layer = None
    np.testing.assert_allclose(lm.scorer("pll").score(TEXTS), short, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "distilbert", "albert", "deberta"])
def test_classifiers(tmp_path: Path, kind: str) -> None:
    classifier: Any = load_classifier(saved(tmp_path, kind))
    assert (classifier.fast.last_layer is not None) == (kind in BUILT_LIKE_IT)
    short = classifier.score(TEXTS)
    classifier.fast.last_layer = None
    np.testing.assert_allclose(classifier.score(TEXTS), short, atol=1e-6)


def test_only_what_is_read_goes_through_it(tmp_path: Path) -> None:
    classifier: Any = load_classifier(saved(tmp_path))
    seen: list[tuple[int, ...]] = []
    inner = classifier.model.base_model.encoder.layer[-1].intermediate
    inner.register_forward_hook(lambda _, given, __: seen.append(tuple(given[0].shape[:2])))
    classifier.score(TEXTS[:1] * 3)
    assert seen == [(3, 1)]


class _Mean(torch.nn.Module):
    """A head that averages over all tokens."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, states: torch.Tensor) -> Any:
        return self.inner(states.mean(1, keepdim=True))


def test_a_head_that_reads_more_gets_more(tmp_path: Path) -> None:
    classifier: Any = load_classifier(saved(tmp_path))
    body = classifier.model.base_model
    body.pooler = _Mean(body.pooler)
    classifier.to("cpu")
    assert classifier.fast.last_layer is None
    ids = torch.tensor([classifier.tokenizer(TEXTS[0])["input_ids"]])
    with torch.no_grad():
        expected = classifier.model(input_ids=ids).logits.softmax(1)[0].numpy()
    np.testing.assert_allclose(classifier.score(TEXTS[:1])[0, :-1], expected, atol=1e-6)
