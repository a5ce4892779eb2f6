"""Short texts packed into blocks: attention gives what it gives text by text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from geobias.models.fast.fast_path import PACKED, packed_attention
from geobias.models.fast.head import Projection
from geobias.models.load import load_masked, load_weights
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


@pytest.mark.usefixtures("gpu_kernels")
@pytest.mark.parametrize("kind", ["bert", "distilbert", "electra"])
def test_a_model_gives_the_same_by_it(small_models: dict[str, Path], kind: str) -> None:
    lm = load_masked(small_models[kind])
    ids = torch.randint(5, 60, (8, 9), generator=torch.Generator().manual_seed(3))
    usual = lm.states(ids)
    with use_attention(lm.model, PACKED):
        packed = lm.states(ids)
    np.testing.assert_allclose(packed.numpy(), usual.numpy(), atol=1e-5)
    assert lm.model.config._attn_implementation == "sdpa"  # and afterwards it is as it was


def test_a_causal_model_looks_back_only_by_it_too(small_models: dict[str, Path]) -> None:
    lm = load_weights(small_models["gpt2"])
    ids = torch.randint(5, 80, (50, 8), generator=torch.Generator().manual_seed(3))
    usual = lm.states(ids)
    with use_attention(lm.model, PACKED):
        np.testing.assert_allclose(lm.states(ids).numpy(), usual.numpy(), atol=1e-5)


def test_most_heads_end_in_a_projection(small_models: dict[str, Path]) -> None:
    for kind in ("bert", "roberta", "albert", "distilbert", "electra", "gpt2", "llama", "t5"):
        head = load_weights(small_models[kind]).fast.head
        assert head is not None and isinstance(head.projection, Projection), kind


def test_a_head_that_changes_its_logits_afterwards_is_run_whole(tmp_path: Path, small_models: dict[str, Path]) -> None:
    """Gemma 2 caps its logits: the projection alone would give other numbers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(small_models["llama"])
    config = transformers.Gemma2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        final_logit_softcapping=0.5,
        max_position_embeddings=60,
    )
    torch.manual_seed(0)
    transformers.Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    lm = load_weights(tmp_path)
    assert lm.fast.head is not None and lm.fast.head.projection is None
    ids = tokenizer("People in France are kind.", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        table = torch.log_softmax(lm.model(ids).logits[0].double(), -1)
    expected = np.mean([float(table[at - 1, ids[0, at]]) for at in range(1, ids.shape[1])])
    np.testing.assert_allclose(lm.scorer("mean").score(["People in France are kind."])[0, 0], expected, atol=1e-5)
