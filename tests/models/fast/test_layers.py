"""Faster layers: the same numbers, also after training, and nothing of them left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from geobias.engine.ask import ask
from geobias.models.fast import fast_path
from geobias.models.fast.fast_path import PackedLayers, can_pack
from geobias.models.fast.head import Projection
from geobias.models.load import load_weights

TEXTS = ["People in France are kind.", "People in Nigeria are hard-working.", "The lazy dog."]

pytestmark = pytest.mark.skipif(not can_pack(torch.empty(1)), reason="this processor has no such kernels")


def test_what_is_trained_is_laid_out_anew(small_models: dict[str, Path]) -> None:
    lm = load_weights(small_models["bert"])
    before = lm.scorer("aul").score(TEXTS)[:, 0]
    optimizer = torch.optim.SGD(lm.model.parameters(), lr=0.1)
    lm.model(input_ids=torch.tensor([[2, 7, 8, 3]])).logits.square().mean().backward()
    optimizer.step()
    trained = lm.scorer("aul").score(TEXTS)[:, 0]
    assert np.abs(trained - before).min() > 1e-3
    lm.to("cpu")  # settled anew
    np.testing.assert_allclose(lm.scorer("aul").score(TEXTS)[:, 0], trained, atol=1e-6)


def test_it_is_in_use_only_while_texts_are_scored(small_models: dict[str, Path]) -> None:
    lm = load_weights(small_models["bert"])
    assert lm.fast.packed is not None
    with lm.fast.use(), lm.fast.use():  # one in the other
        assert all("forward" in vars(layer) for layer in lm.fast.packed.layers)
    assert not any("forward" in vars(layer) for layer in lm.fast.packed.layers)
    with pytest.raises(ValueError, match="stop"), lm.fast.use():
        raise ValueError("stop")
    assert lm.fast.users == 0 and not any("forward" in vars(layer) for layer in lm.fast.packed.layers)


def test_no_copies_of_a_large_model(small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path, "MAX_COPY_BYTES", 100)
    lm = load_weights(small_models["bert"])
    assert PackedLayers(lm.model).layers == [] and "packed_linear" not in lm.fast_parts
    assert lm.scorer("aul").score(TEXTS).shape == (3, 4)


def test_what_others_put_into_a_layer_stays(small_models: dict[str, Path]) -> None:
    lm = load_weights(small_models["bert"])
    assert lm.fast.packed is not None
    layer = lm.fast.packed.layers[0]
    own = layer.forward = type(layer).forward.__get__(layer)
    lm.scorer("aul").score(TEXTS)
    assert layer.forward is own


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_no_probability_is_above_one(dtype: str) -> None:
    """A target far above all others has probability 1, rounded as the sum is rounded."""
    torch.manual_seed(1)
    layer = torch.nn.Linear(96, 5000).to(getattr(torch, dtype))
    targets = torch.randint(5000, (64,))
    with torch.inference_mode():
        states = (400 * layer.weight[targets]).to(layer.weight.dtype)
        found = Projection(layer, packs=True).log_p(states, torch.arange(64), targets)
        table = layer(states).float().log_softmax(1)[torch.arange(64), targets]
    assert table.min() > -1e-3
    np.testing.assert_allclose(found, table, atol=1e-4)


def test_a_failure_elsewhere_leaves_the_model_as_it_was(
    small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds the error holds all that was under way when it came."""
    lm = load_weights(small_models["bert"])

    def full(*_: object) -> None:
        assert lm.fast.users == 1
        raise OSError("No space left on device")

    monkeypatch.setattr("geobias.engine.ask.SECONDS_AT_RISK", 0.0)
    monkeypatch.setattr("geobias.engine.ask.StoreWriter.write", full)
    lm.token_budget = 1
    with pytest.raises(OSError, match="No space") as held:
        ask(lm.scorer("aul"), TEXTS)
    assert held.value and lm.fast.users == 0 and lm.fast.packed is not None
    assert not any("forward" in vars(layer) for layer in lm.fast.packed.layers)
