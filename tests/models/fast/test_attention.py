"""Short texts packed into blocks: attention gives what it gives text by text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from geobias.models.fast.fast_path import PACKED, packed_attention
from geobias.models.load import load_weights
from geobias.models.model_files import use_attention


@pytest.mark.parametrize("tokens", [1, 2, 7, 8, 11, 16, 24, 63, 64, 65, 130])
@pytest.mark.parametrize("texts", [1, 5, 33])
@pytest.mark.usefixtures("gpu_kernels")
def test_packed_attention_is_attention_within_each_text(tokens: int, texts: int) -> None:
    generator = torch.Generator().manual_seed(tokens)
    shape = (texts, tokens, 2, 8)  # as a model has them: the heads are a view
    query, key, value = (torch.randn(shape, generator=generator).transpose(1, 2) for _ in range(3))
    module = torch.nn.Module()
    module.is_causal = False  # type: ignore[assignment]
    found, _ = packed_attention(module, query, key, value, None, scaling=0.3)
    weights = torch.softmax(0.3 * query.double() @ key.double().transpose(-1, -2), -1)
    expected = (weights @ value.double()).transpose(1, 2)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5)


def test_a_causal_model_looks_back_only_by_it_too(small_models: dict[str, Path]) -> None:
    lm = load_weights(small_models["gpt2"])
    ids = torch.randint(5, 80, (50, 8), generator=torch.Generator().manual_seed(3))
    usual = lm.states(ids)
    with use_attention(lm.model, PACKED):
        np.testing.assert_allclose(lm.states(ids).numpy(), usual.numpy(), atol=1e-5)
