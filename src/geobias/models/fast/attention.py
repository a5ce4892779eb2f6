"""Attention for many short texts of one length: as many as fit into a block of a GPU go through it together."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import torch
import transformers
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from geobias.models.fast import kernels
from geobias.models.fast.self_checks import agree, random_numbers
from geobias.models.model_files import use_attention

PACKED = "geobias_packed"  # the name under which transformers knows it
# What the kernel knows, or what changes nothing; a model that passes anything else gets torch's attention.
KNOWN_OPTIONS = {"scaling", "is_causal", "dropout", "output_attentions", "use_cache", "position_ids"}

_check_results: ContextVar[list[bool] | None] = ContextVar("check_results", default=None)


def packed_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **options: Any
) -> tuple[torch.Tensor, None]:
    """As transformers calls it: texts x heads x tokens x width in, texts x tokens x heads x width out.

    While a model is checked, random numbers go through both ways, as this module calls them.
    """
    if _kernel_serves(module, query, key, attention_mask, options):
        results, scale = _check_results.get(), options.get("scaling")
        if results is None:
            return kernels.attention_within(query, key, value, scale), None
        # Large ones, so that attention is far from uniform.
        queries, keys, values = random_numbers(3, *query.shape, scale=2.0, like=query)
        wide = queries.float(), keys.float(), values.float()
        expected, _ = sdpa_attention_forward(module, *wide, attention_mask, **options)
        actual = kernels.attention_within(queries, keys, values, scale)
        results.append(agree(expected, actual))
    output: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return output


def _kernel_serves(module: Any, query: torch.Tensor, key: torch.Tensor, mask: Any, options: dict[str, Any]) -> bool:
    is_masked = mask is not None or options.get("is_causal") or getattr(module, "is_causal", True)
    has_others = any(value is not None for name, value in options.items() if name not in KNOWN_OPTIONS)
    return not (is_masked or has_others) and key.shape == query.shape and kernels.attends(query, key)


transformers.AttentionInterface.register(PACKED, packed_attention)
AttentionMaskInterface.register(PACKED, sdpa_mask)


@torch.inference_mode()
def find_packed_attention(model: Any) -> str | None:
    """The name of this attention for a model on a GPU that gives the same numbers by it; None for any other."""
    config = model.config
    is_plain_sdpa = config._attn_implementation == "sdpa" and not config.is_encoder_decoder
    if not (is_plain_sdpa and kernels.ready(next(model.parameters()))):
        return None
    ids = torch.arange(1, 1 + 33 * 9, device=model.device).view(33, 9) % config.vocab_size
    results: list[bool] = []
    token = _check_results.set(results)
    try:
        with use_attention(model, PACKED):
            model.base_model(input_ids=ids)
    except Exception:  # architectures refuse in different ways to have their attention replaced
        return None
    finally:
        _check_results.reset(token)
    return PACKED if results and all(results) else None  # without any it is never used, as in causal models
