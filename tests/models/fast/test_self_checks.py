"""Fast parts are refused for architectures that are almost the right one, in every precision and with small weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from geobias.models.causal import CausalLM
from geobias.models.fast import fast_path, kernels
from geobias.models.load import load_masked, load_weights
from geobias.models.masked import MaskedLM

PRECISIONS = [torch.float32, torch.bfloat16, torch.float16]


def untrained(kind: str, folders: dict[str, Path], dtype: torch.dtype, **more: Any) -> tuple[Any, Any]:
    """A model as it is before training, with small weights, and a tokenizer."""
    config = transformers.AutoConfig.from_pretrained(folders[kind], **more)
    torch.manual_seed(2)
    auto_class: Any = (
        transformers.AutoModelForCausalLM if kind in ("gpt2", "bloom") else transformers.AutoModelForMaskedLM
    )
    model = auto_class.from_config(config).to(dtype).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folders[kind])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("after", ["nothing", "a cap", "a scale", "a bias"])
def test_heads_that_change_their_logits(after: str, dtype: torch.dtype, small_models: dict[str, Path]) -> None:
    """Logits of untrained models are small: a cap changes them by less than half precision can tell."""
    model, tokenizer = untrained("gpt2", small_models, dtype)
    forward = model.forward
    change = {
        "nothing": lambda logits: logits,
        "a cap": lambda logits: 30 * torch.tanh(logits / 30),
        "a scale": lambda logits: 1.01 * logits,
        "a bias": lambda logits: logits + torch.linspace(0, 0.05, logits.shape[-1]).to(logits.dtype),
    }[after]

    def changed(*arguments: Any, **options: Any) -> Any:
        output = forward(*arguments, **options)
        output.logits = change(output.logits)
        return output

    model.forward = changed
    lm = CausalLM("other", model, tokenizer, fingerprint="x")
    assert lm.fast.head is not None
    assert (lm.fast.head.projection is not None) == (after == "nothing")


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("share", [0.0, 1e-4])
def test_heads_that_look_a_little_at_other_positions(
    share: float, dtype: torch.dtype, small_models: dict[str, Path]
) -> None:
    model, tokenizer = untrained("bert", small_models, dtype)
    head = model.cls
    head.forward = lambda states: head.predictions(states + share * states.sum(dim=1, keepdim=True))
    lm = MaskedLM("mixing", model, tokenizer, fingerprint="x")
    seen = dtype == torch.float32 or share == 0  # in half precision so little is lost in rounding, for everyone
    assert (lm.fast.head is None) == (share > 0) if seen else True


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("kind", ["gpt2", "bloom", "deaf"])
def test_token_trees_of_models_that_ignore_positions_or_masks(
    kind: str, dtype: torch.dtype, small_models: dict[str, Path]
) -> None:
    """Bloom takes positions from the mask's shape; the deaf GPT-2 ignores those that it is given."""
    model, tokenizer = untrained("bloom" if kind == "bloom" else "gpt2", small_models, dtype)
    if kind == "deaf":
        core, forward = model.transformer, model.transformer.forward
        core.forward = lambda *arguments, position_ids=None, **options: forward(*arguments, **options)
    lm = CausalLM("other", model, tokenizer, fingerprint="x")
    assert lm.fast.token_tree == lm.fast.forked_rows == (kind == "gpt2")


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("forgets", [False, True])
def test_prefixes_that_a_model_forgets(forgets: bool, dtype: torch.dtype, small_models: dict[str, Path]) -> None:
    model, tokenizer = untrained("gpt2", small_models, dtype)
    core, forward = model.transformer, model.transformer.forward
    if forgets:

        def without_cache(*arguments: Any, past_key_values: Any = None, **options: Any) -> Any:
            output = forward(*arguments, **options)
            return output if past_key_values is None else type(output)(output.last_hidden_state, past_key_values)

        core.forward = without_cache
    lm = CausalLM("other", model, tokenizer, fingerprint="x")
    assert lm.fast.shared_prefixes == (not forgets)


@pytest.mark.parametrize("wrong", [None, "scale", "another value"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_attention_kernels_that_are_almost_right(
    wrong: str | None,
    dtype: str,
    small_models: dict[str, Path],
    gpu_kernels: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Untrained models attend to all tokens alike, whatever the scale: random numbers show the difference."""
    right = kernels.attention_within

    def almost(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None = None) -> torch.Tensor:
        if wrong == "scale":
            return right(query, key, value, 1.1 * (scale or query.shape[-1] ** -0.5))
        return right(query, key, value.roll(1, 2) if wrong else value, scale)

    monkeypatch.setattr(kernels, "attention_within", almost)
    model, _ = untrained("bert", small_models, getattr(torch, dtype))
    assert fast_path.find_packed_attention(model) == (None if wrong else fast_path.PACKED)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["bert", "distilbert", "gpt2", "llama"])
def test_the_right_architecture_is_accepted(kind: str, dtype: str, small_models: dict[str, Path]) -> None:
    parts = set(load_weights(small_models[kind], dtype=dtype).fast_parts)
    causal = {"token_tree", "shared_prefixes"} if kind in ("gpt2", "llama") else set()
    assert {"read_positions", "sliced_projection", "template_tokens"} | causal <= parts


def test_the_bundled_model_keeps_its_parts_in_half_precision() -> None:
    assert {"read_positions", "sliced_projection"} <= set(load_masked(dtype="bfloat16").fast_parts)
    assert np.isfinite(load_masked(dtype="bfloat16").scorer("pll").score(["Paris is in France."])[0, 0])
