"""The projection to the vocabulary, and the logarithm of the sum over it.

Of the logits of 30,000 or 250,000 words nearly all are needed for their sum only. A CPU makes them for some thousand
words at a time, so that they never leave its cache; a GPU sums them as it makes them and stores none; one that cannot
do that makes and keeps them all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import linear, pad

from geobias.models.fast import kernels
from geobias.models.fast.layers import Product, Version, can_pack, pack, weight_version
from geobias.models.fast.self_checks import random_numbers

GPU_MULTIPLE = 64  # matrix units of a GPU want vocabularies of whole multiples
CPU_SLICE = 2048  # words at a time


class Projection:
    """A linear layer to the vocabulary. On a CPU `packs` keeps a packed copy of the weights."""

    def __init__(self, layer: Any, *, packs: bool = False) -> None:
        self.layer = layer
        self.packs = packs and can_pack(layer.weight)
        self.slice_words = layer.weight.shape[0] if layer.weight.is_cuda else CPU_SLICE
        self._slices: tuple[Version, list[Product]] | None = None
        self.sums_in_kernel = self._can_sum_in_kernel()

    def log_p(self, states: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P of each target at the state of that row; there may be many targets at one state."""
        if self.sums_in_kernel and len(targets):
            return self._log_p_in_kernel(states, rows, targets)
        if states.is_cuda:
            logits = self.slices()[0](states)
            return logits[rows, targets].float() - log_sum_exp(logits)[rows]
        products = self.slices()
        order = targets.argsort()  # so that the targets of each slice stand together
        ends = torch.arange(1, len(products) + 1) * self.slice_words
        cuts = [0, *torch.searchsorted(targets[order], ends).tolist()]
        target_logits = torch.empty(len(targets))
        total = torch.full((len(states),), float("-inf"))
        for index, product in enumerate(products):
            logits = product(states)
            total = torch.logaddexp(total, log_sum_exp(logits))
            inside = order[cuts[index] : cuts[index + 1]]
            target_logits[inside] = logits[rows[inside], targets[inside] - index * self.slice_words].float()
        return target_logits - total[rows]

    def _log_p_in_kernel(self, states: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return _log_p_by_kernels(states, *self._weight_and_bias(), rows, targets)

    @torch.inference_mode()
    def _can_sum_in_kernel(self) -> bool:
        """Whether the kernels serve this projection, and give what float32 gives for a random one."""
        weight = self.layer.weight
        if not kernels.sums_best_in_kernel(weight):
            return False
        states, words, bias = (random_numbers(*shape, scale=2.0, like=weight) for shape in ((3, 72), (300, 72), (300,)))
        first = torch.arange(3, device=weight.device)
        try:
            expected = linear(states.float(), words.float(), bias.float()).log_softmax(-1)[first, first]
            actual = _log_p_by_kernels(states, words, bias, first, first)
            by_weight = self._log_p_in_kernel(weight[:2], first[:2], first[:2])
        except Exception:  # Triton compiles them, and may fail in many ways
            return False
        # Products of rounded numbers are summed in float32 by both: what differs is the order of sums.
        return torch.allclose(actual, expected, rtol=1e-4, atol=1e-3) and bool(by_weight.isfinite().all())

    def _weight_and_bias(self) -> tuple[torch.Tensor, torch.Tensor]:
        weight, bias = self.layer.weight.detach(), self.layer.bias
        return weight, torch.zeros_like(weight[:, 0]) if bias is None else bias.detach()

    def slices(self) -> list[Product]:
        """The projection to each slice of the vocabulary; made again after training."""
        version = weight_version(self.layer)
        if self._slices is None or self._slices[0] != version:
            weight, bias = self._weight_and_bias()
            missing = -len(weight) % GPU_MULTIPLE if weight.is_cuda else 0
            if missing:  # filled up with impossible words
                weight, bias = pad(weight, (0, 0, 0, missing)), pad(bias, (0, missing), value=float("-inf"))
            parts = zip(weight.split(self.slice_words), bias.split(self.slice_words), strict=True)
            self._slices = version, [(pack if self.packs else _plain_product)(*part) for part in parts]
        return self._slices[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_slices": None}  # a worker makes them itself


def _plain_product(weight: torch.Tensor, bias: torch.Tensor) -> Product:
    return lambda states: linear(states, weight, bias)


def _log_p_by_kernels(
    states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    target_logits = kernels.projected_at(states, weight, bias, rows, targets)
    return target_logits - kernels.projected_log_sum(states, weight, bias)[rows]


def log_sum_exp(logits: torch.Tensor) -> torch.Tensor:
    """log of the sum of exp over each row, in float32."""
    return kernels.log_sum(logits) if kernels.ready(logits) else logits.float().logsumexp(1)
