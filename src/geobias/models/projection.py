"""log P of tokens from hidden states: the projection to the whole vocabulary, and the sum over it, in one go.

Most of the numbers that a vocabulary of 30,000 or 250,000 words makes are needed for their sum only, so they are held
in slices and never in a second copy. On a GPU the sum is taken by one small kernel that reads each number once.
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
LOGITS_HELD = {"cpu": 2**22, "cuda": 2**29}  # numbers of a slice: 16 MB stay near a core; a GPU wants large products


class Projection:
    """A linear projection to the vocabulary, made ready for many states."""

    def __init__(self, layer: Any) -> None:
        self.words = int(layer.weight.shape[0])
        missing = -self.words % ALIGNED if layer.weight.is_cuda else 0
        bias = torch.zeros_like(layer.weight[:, 0]) if layer.bias is None else layer.bias
        self.weight = pad(layer.weight, (0, 0, 0, missing)) if missing else layer.weight
        self.bias = pad(bias, (0, missing), value=float("-inf")) if missing else bias

    def log_p(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P of one target at each state, in float32."""
        size = max(1, LOGITS_HELD.get(states.device.type, LOGITS_HELD["cpu"]) // len(self.weight))
        parts = zip(states.split(size), targets.split(size), strict=True)
        return torch.cat([_log_p(linear(some, self.weight, self.bias), wanted) for some, wanted in parts])


def _log_p(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if triton is not None and logits.is_cuda:
        found = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
        _log_p_kernel[(len(logits),)](
            logits, targets, found, logits.shape[1], logits.stride(0), BLOCK=8192, num_warps=8
        )
        return found
    logits = logits.float()
    return logits.gather(1, targets[:, None])[:, 0] - logits.logsumexp(1)


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _log_p_kernel(logits, targets, found, words, stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """One state: a running maximum and a running sum over its logits, block by block."""
        row = tl.program_id(0).to(tl.int64)
        largest = -float("inf")
        total = 0.0
        for start in range(0, words, BLOCK):
            at = start + tl.arange(0, BLOCK)
            some = tl.load(logits + row * stride + at, mask=at < words, other=-float("inf")).to(tl.float32)
            higher = tl.maximum(largest, tl.max(some, axis=0))
            total = total * tl.exp(largest - higher) + tl.sum(tl.exp(some - higher), axis=0)
            largest = higher
        target = tl.load(logits + row * stride + tl.load(targets + row)).to(tl.float32)
        tl.store(found + row, target - largest - tl.log(total))
