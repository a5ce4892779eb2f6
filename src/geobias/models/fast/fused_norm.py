"""Layers that a GPU computes in one pass over the numbers: a normalisation, and the sum before it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from geobias.models.fast import kernels
from geobias.models.fast.layers import Replacement
from geobias.models.fast.self_checks import agree, float32_copy, kernel_tolerance, random_numbers

Forward = Callable[..., torch.Tensor]  # a layer and its inputs


@torch.inference_mode()
def find_fused_norms(model: Any) -> list[Replacement]:
    """The layers of a model on a GPU that the kernel serves, each with what computes it."""
    if not kernels.ready(next(model.parameters())):
        return []
    replacements: list[Replacement] = []
    for layer in model.modules():
        forward: Forward
        if _is_norm(layer):
            forward, widths = _norm, layer.normalized_shape
        elif _ends_in_norm(layer):
            forward, widths = _add_and_norm, (layer.dense.in_features, layer.dense.out_features)
        else:
            continue
        if _is_same(layer, forward, widths):
            replacements.append((layer, partial(forward, layer)))
    return replacements


def _is_norm(layer: Any) -> bool:
    return type(layer) is torch.nn.LayerNorm and layer.bias is not None and len(layer.normalized_shape) == 1


def _norm(layer: Any, input: torch.Tensor) -> torch.Tensor:  # torch's name for the argument
    return kernels.added_norm(input, None, layer)


def _ends_in_norm(layer: Any) -> bool:
    """Whether it looks like the end of attention, or of a whole layer, in BERT and its descendants."""
    if not (_is_norm(getattr(layer, "LayerNorm", None)) and isinstance(getattr(layer, "dense", None), torch.nn.Linear)):
        return False
    return list(inspect.signature(layer.forward).parameters) == ["hidden_states", "input_tensor"]


def _add_and_norm(layer: Any, hidden_states: torch.Tensor, input_tensor: torch.Tensor) -> torch.Tensor:
    return kernels.added_norm(layer.dense(hidden_states), input_tensor, layer.LayerNorm)


def _is_same(layer: Any, forward: Forward, widths: Sequence[int]) -> bool:
    """Whether the layer's float32 copy gives the same both ways, and the kernel is right in the layer's precision."""
    weight = next(layer.parameters())
    norm = layer if _is_norm(layer) else layer.LayerNorm
    reference, reference_norm = float32_copy(layer), copy.deepcopy(norm).to(device="cpu", dtype=torch.float32)
    inputs = [random_numbers(4, width, scale=2.0) for width in widths]
    rounded = random_numbers(4, widths[-1], like=weight)
    try:
        expected, expected_norm = reference(*inputs), reference_norm(2 * rounded.float().cpu())
        on_device = forward(reference.to(weight.device), *(numbers.to(weight.device) for numbers in inputs))
        actual_norm = kernels.added_norm(rounded, rounded, norm)
    except Exception:  # no such layer, or no such kernel
        return False
    return agree(expected, on_device) and agree(expected_norm, actual_norm, kernel_tolerance(weight.dtype))
