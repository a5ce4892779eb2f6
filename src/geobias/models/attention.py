"""Attention for many short texts of one length: several go through it as one longer text.

Attention kernels work on blocks of 64 or 128 tokens, so a sentence of eleven leaves most of a block empty. Texts of one
length lie one after the other in memory, so eight of them are, without copying anything, one text of 88 tokens in
which every token looks at its own eleven only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import gcd
from typing import Any

import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "geobias_packed"
BLOCK = 128  # tokens of a block
KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]  # cuDNN's would be planned anew for every size of batch
ALIGNED = 8  # kernels take masks whose rows are whole multiples of so many


def packed_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **more: Any
) -> tuple[torch.Tensor, None]:
    """As transformers calls it: texts x heads x tokens x width in, texts x tokens x heads x width out."""
    texts, heads, tokens, width = query.shape
    step = ALIGNED // gcd(tokens, ALIGNED)
    together = BLOCK // tokens // step * step
    whole = texts - texts % together if together > 1 else 0
    scale = more.get("scaling")
    looks_back_only = more.get("is_causal") or getattr(module, "is_causal", True)
    if attention_mask is not None or looks_back_only or key.shape != query.shape or not whole:
        plain: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **more)
        return plain

    def in_blocks(states: torch.Tensor) -> torch.Tensor:
        one = states.transpose(1, 2)[:whole].reshape(whole // together, together * tokens, heads, width)
        return one.transpose(1, 2)

    own = _own_text_only(together, tokens, query.dtype, query.device)
    blocks = in_blocks(query), in_blocks(key), in_blocks(value)
    with sdpa_kernel(KERNELS):
        packed = scaled_dot_product_attention(*blocks, attn_mask=own, scale=scale)
    found = packed.transpose(1, 2).reshape(whole, tokens, heads, width)
    if whole < texts:
        rest = scaled_dot_product_attention(query[whole:], key[whole:], value[whole:], scale=scale)
        found = torch.cat([found, rest.transpose(1, 2)])
    return found, None


@lru_cache(maxsize=256)
def _own_text_only(together: int, tokens: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    text = torch.arange(together * tokens, device=device) // tokens
    return torch.zeros(1, 1, len(text), len(text), dtype=dtype, device=device).masked_fill_(
        text[:, None] != text, float("-inf")
    )


transformers.AttentionInterface.register(NAME, packed_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


@torch.inference_mode()
def faster_attention(model: Any, device: torch.device) -> str | None:
    """The name of this way for a model on a GPU that gives the same numbers by it; None for any other.

    A processor gains nothing by it, and some architectures do not let their attention be replaced.
    """
    if device.type != "cuda" or model.config.is_encoder_decoder or model.config._attn_implementation != "sdpa":
        return None
    ids = torch.arange(1, 1 + 33 * 9, device=device).view(33, 9) % model.config.vocab_size
    usual = model.base_model(input_ids=ids).last_hidden_state
    try:
        with attention_by(model, NAME):
            packed = model.base_model(input_ids=ids).last_hidden_state
    except Exception:  # each architecture refuses in its own way
        return None
    far = (usual - packed).abs().max() / usual.abs().max()
    return NAME if far < (1e-3 if usual.dtype == torch.float32 else 0.1) else None


@contextmanager
def attention_by(model: Any, implementation: str | None) -> Iterator[None]:
    """Another way of computing attention for a while; None for the usual one."""
    if implementation is None:
        yield
        return
    usual = model.config._attn_implementation
    model.set_attn_implementation(implementation)
    try:
        yield
    finally:
        model.set_attn_implementation(usual)
