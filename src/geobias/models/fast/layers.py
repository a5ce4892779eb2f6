"""Layers that compute the same numbers faster than they come.

Linear ones on a processor: their weights are laid out for its matrix kernels once, and not anew in every product.
oneDNN, which comes with torch, has these kernels; they take a copy of the weights, so very large models do without.
GPT-2's activation: one step instead of eight, each of which would read and write everything. And what a GPU can do in
one pass (`fused`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch.nn.functional import gelu
from transformers.activations import NewGELUActivation
from transformers.pytorch_utils import Conv1D

from geobias.models.fast.fused import fused_layers

MOST_BYTES = 1_500_000_000  # of copies, for one model
ROWS = 1024  # the number of rows that the layout is chosen for; it serves any other

LOOKED_AT = 997  # every so-manieth number of a weight tells whether it was changed

Version = tuple[float, ...]
Product = Callable[[torch.Tensor], torch.Tensor]


def can_pack(weight: torch.Tensor) -> bool:
    """Whether there are such kernels for it."""
    plain = type(weight) in (torch.Tensor, torch.nn.Parameter)
    return plain and weight.device.type == "cpu" and weight.dtype == torch.float32 and _kernels_work()


@cache
@torch.inference_mode()
def _kernels_work() -> bool:
    """Whether this torch, on this processor, has them."""
    weight = torch.arange(64.0).view(8, 8)
    try:
        return torch.equal(packed(weight, weight[0])(weight), torch.nn.functional.linear(weight, weight, weight[0]))
    except Exception:  # they are no promise of torch's: each version and platform lacks them in its own way
        return False


def packed(weight: torch.Tensor, bias: torch.Tensor | None) -> Product:
    """The product of states with a weight (outputs x inputs) as it is now, plus the bias."""
    laid_out = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), ROWS)

    def product(states: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, laid_out, bias, "none", [], "")
        return found

    return product


def version(layer: Any) -> Version:
    """Another one after every training step, and for every other layer.

    Torch counts changes, but not all; on a processor some of the numbers are looked at besides.
    """
    found: list[float] = []
    for one in (layer.weight, layer.bias):
        if one is not None:
            found += [one.data_ptr(), one._version]
            if one.device.type == "cpu":
                found.append(one.detach().reshape(-1)[::LOOKED_AT].double().sum().item())
    return tuple(found)


@contextmanager
def replaced(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Let a module do something else for a while."""
    before = vars(module).get("forward")  # what others put there
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before


class FastLayers:
    """The layers of a model that can be replaced; the projection to the vocabulary has a module of its own."""

    def __init__(self, model: Any) -> None:
        last = model.get_output_embeddings()
        layers = [one for one in model.modules() if type(one) in (torch.nn.Linear, Conv1D) and one is not last]
        self.layers = [layer for layer in layers if can_pack(layer.weight)]
        self.bytes = sum(layer.weight.nbytes for layer in self.layers)
        if self.bytes > MOST_BYTES:
            self.layers, self.bytes = [], 0
        self.activations = [one for one in model.modules() if type(one) is NewGELUActivation]
        self.fused = fused_layers(model)
        self.products: dict[int, tuple[Version, Product]] = {}
        self.in_use = False

    @contextmanager
    def use(self) -> Iterator[None]:
        """Inside, the model computes with them; nothing can be trained there."""
        if self.in_use:
            yield
            return
        self.in_use = True
        try:
            with ExitStack() as stand_ins:
                for at, layer in enumerate(self.layers):
                    stand_ins.enter_context(replaced(layer, self._product(at, layer)))
                for activation in self.activations:
                    stand_ins.enter_context(replaced(activation, partial(gelu, approximate="tanh")))
                for layer, forward in self.fused:
                    stand_ins.enter_context(replaced(layer, forward))
                yield
        finally:
            self.in_use = False

    def _product(self, at: int, layer: Any) -> Product:
        now = version(layer)
        if at not in self.products or self.products[at][0] != now:
            weight = layer.weight.T if isinstance(layer, Conv1D) else layer.weight
            self.products[at] = now, packed(weight, layer.bias)
        return self.products[at][1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"products": {}}  # to be sent to a worker, who lays them out himself
