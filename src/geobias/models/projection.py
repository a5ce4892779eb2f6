"""The projection to the vocabulary, and the logarithm of the sum over it.

Nearly all of the numbers that a vocabulary of 30,000 or 250,000 words makes are needed for their sum only. On a GPU the
sum is taken by one small kernel that reads each number once and keeps no copy of them in higher precision.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import linear, pad

try:
    import triton
    import triton.language as tl
except ImportError:  # no GPU here, or none that Triton knows
    triton = None

ALIGNED = 64  # matrix units want vocabularies of whole multiples of so many


class Projection:
    """A linear layer, made ready for many states: on a GPU with impossible words up to a round number of them."""

    def __init__(self, layer: Any) -> None:
        missing = -layer.weight.shape[0] % ALIGNED if layer.weight.is_cuda else 0
        bias = torch.zeros_like(layer.weight[:, 0]) if layer.bias is None else layer.bias
        self.weight = pad(layer.weight, (0, 0, 0, missing)) if missing else layer.weight
        self.bias = pad(bias, (0, missing), value=float("-inf")) if missing else layer.bias

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        return linear(states, self.weight, self.bias)


def log_sum(logits: torch.Tensor) -> torch.Tensor:
    """log of the sum of exp over each row, in float32."""
    if triton is None or not logits.is_cuda:
        return logits.float().logsumexp(1)
    found = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    _log_sum_kernel[(len(logits),)](logits, found, logits.shape[1], logits.stride(0), BLOCK=8192, num_warps=8)
    return found


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _log_sum_kernel(logits, found, words, stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """One row: a running maximum and a running sum, block by block."""
        row = tl.program_id(0).to(tl.int64)
        largest = -float("inf")
        total = 0.0
        for start in range(0, words, BLOCK):
            at = start + tl.arange(0, BLOCK)
            some = tl.load(logits + row * stride + at, mask=at < words, other=-float("inf")).to(tl.float32)
            higher = tl.maximum(largest, tl.max(some, axis=0))
            total = total * tl.exp(largest - higher) + tl.sum(tl.exp(some - higher), axis=0)
            largest = higher
        tl.store(found + row, largest + tl.log(total))
