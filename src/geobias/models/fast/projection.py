"""The projection to the vocabulary, and the logarithm of the sum over it.

Nearly all of the numbers that a vocabulary of 30,000 or 250,000 words makes are needed for their sum only. A processor
makes them for some thousand words at a time, so that they never leave its cache; a GPU sums them as it makes them, and
writes none down; one that cannot do that makes and keeps them all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import linear, pad

from geobias.models.fast import kernels
from geobias.models.fast.layers import Product, Version, can_pack, packed, version

ALIGNED = 64  # matrix units of a GPU want vocabularies of whole multiples of so many
WORDS_AT_ONCE = 2048  # on a processor


class Projection:
    """A linear layer to the vocabulary, made ready for many states. On a processor `packs` keeps a copy for speed."""

    def __init__(self, layer: Any, *, packs: bool = False) -> None:
        self.layer = layer
        self.packs = packs and can_pack(layer.weight)
        self.words_at_once = layer.weight.shape[0] if layer.weight.is_cuda else WORDS_AT_ONCE
        self._slices: tuple[Version, list[Product]] | None = None
        self.sums_unwritten = self._can_sum_unwritten()

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        """All the numbers."""
        return linear(states, self.layer.weight, self.layer.bias)

    def log_p(self, states: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P of each target at the state of that row; there may be many targets at one state."""
        if self.sums_unwritten and len(targets):
            return self._log_p_unwritten(states, rows, targets)
        if states.is_cuda:
            logits = self.slices()[0](states)
            return logits[rows, targets].float() - log_sum(logits)[rows]
        products = self.slices()
        order = targets.argsort()  # so that the targets of each slice stand together
        ends = torch.arange(1, len(products) + 1) * self.words_at_once
        cuts = [0, *torch.searchsorted(targets[order], ends).tolist()]
        own = torch.empty(len(targets))
        total = torch.full((len(states),), float("-inf"))
        for k, product in enumerate(products):
            logits = product(states)
            total = torch.logaddexp(total, log_sum(logits))
            here = order[cuts[k] : cuts[k + 1]]
            own[here] = logits[rows[here], targets[here] - k * self.words_at_once].float()
        return own - total[rows]

    def _log_p_unwritten(self, states: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        weight, bias = self._weight_and_bias()
        own = kernels.projected_at(states, weight, bias, rows, targets)
        return own - kernels.projected_log_sum(states, weight, bias)[rows]

    @torch.inference_mode()
    def _can_sum_unwritten(self) -> bool:
        """Where it may, it is tried."""
        weight = self.layer.weight
        if not kernels.sums_best_unwritten(weight):
            return False
        states, first = weight[:2], torch.arange(2, device=weight.device)
        try:
            found = self._log_p_unwritten(states, first, first)
        except Exception:  # a compiler of its own, and as many ways to fail
            return False
        return torch.allclose(found, self(states).float().log_softmax(-1)[first, first], rtol=0.01, atol=0.05)

    def _weight_and_bias(self) -> tuple[torch.Tensor, torch.Tensor]:
        weight, bias = self.layer.weight.detach(), self.layer.bias
        return weight, torch.zeros_like(weight[:, 0]) if bias is None else bias.detach()

    def slices(self) -> list[Product]:
        """The projection to some words after the others; made anew when it was trained."""
        now = version(self.layer)
        if self._slices is None or self._slices[0] != now:
            weight, bias = self._weight_and_bias()
            missing = -len(weight) % ALIGNED if weight.is_cuda else 0
            if missing:  # filled up with impossible words
                weight, bias = pad(weight, (0, 0, 0, missing)), pad(bias, (0, missing), value=float("-inf"))
            parts = zip(weight.split(self.words_at_once), bias.split(self.words_at_once), strict=True)
            self._slices = now, [(packed if self.packs else _plain)(*part) for part in parts]
        return self._slices[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_slices": None}  # to be sent to a worker, who lays them out himself


def _plain(weight: torch.Tensor, bias: torch.Tensor) -> Product:
    return lambda states: linear(states, weight, bias)


def log_sum(logits: torch.Tensor) -> torch.Tensor:
    """log of the sum of exp over each row, in float32."""
    return kernels.log_sum(logits) if kernels.ready(logits) else logits.float().logsumexp(1)
