"""Attention for many short texts of one length: as many as fit into a block of a GPU go through it together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from geobias.models.fast import kernels

NAME = "geobias_packed"


def packed_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **more: Any
) -> tuple[torch.Tensor, None]:
    """As transformers calls it: texts x heads x tokens x width in, texts x tokens x heads x width out."""
    looks_back_only = more.get("is_causal") or getattr(module, "is_causal", True)
    masked = attention_mask is not None or looks_back_only
    if masked or key.shape != query.shape or not kernels.attends(query, key):
        plain: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **more)
        return plain
    return kernels.attention_within(query, key, value, more.get("scaling")), None


transformers.AttentionInterface.register(NAME, packed_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


@torch.inference_mode()
def faster_attention(model: Any) -> str | None:
    """The name of this way for a model on a GPU that gives the same numbers by it; None for any other.

    A processor gains nothing by it, and some architectures do not let their attention be replaced.
    """
    if (
        not kernels.ready(next(model.parameters()))
        or model.config.is_encoder_decoder
        or model.config._attn_implementation != "sdpa"
    ):
        return None
    ids = torch.arange(1, 1 + 33 * 9, device=model.device).view(33, 9) % model.config.vocab_size
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
