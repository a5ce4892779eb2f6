"""Linear layers on a CPU, with weights laid out once for oneDNN's matrix kernels and not in every product.

This takes a copy of the weights, so very large models go without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

PACKED_DTYPES = (torch.float32, torch.bfloat16)  # the kernels of the second need a CPU with bfloat16 instructions
MAX_COPY_BYTES = 1_500_000_000  # of weights laid out anew, for one model
LAYOUT_ROWS = 1024  # the number of rows that the layout is chosen for; it serves any other
CHECKSUM_STEP = 997  # every 997th weight is summed to see whether the weights have changed

Version = tuple[float, ...]
Product = Callable[[torch.Tensor], torch.Tensor]
Replacement = tuple[Any, Callable[..., torch.Tensor]]  # a module, and what computes its output


@contextmanager
def replace_forward(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Let one module compute something else for a while; what stood there before comes back."""
    before = vars(module).get("forward")  # others may have replaced it too
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before


def can_pack(weight: torch.Tensor) -> bool:
    """Whether there are such kernels for a weight."""
    is_plain = type(weight) in (torch.Tensor, torch.nn.Parameter)
    return is_plain and weight.device.type == "cpu" and weight.dtype in PACKED_DTYPES and _kernels_work(weight.dtype)


@cache
@torch.inference_mode()
def _kernels_work(dtype: torch.dtype) -> bool:
    """Whether this torch, on this CPU, has them."""
    weight = torch.arange(64.0, dtype=dtype).view(8, 8)
    try:
        product = pack(weight, weight[0])(weight)
        return torch.equal(product, torch.nn.functional.linear(weight, weight, weight[0]))
    except Exception:  # they are not public, so versions and platforms lack them in different ways
        return False


def pack(weight: torch.Tensor, bias: torch.Tensor | None) -> Product:
    """The product of states with a weight (outputs x inputs) as it is now, plus the bias."""
    packed_weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), LAYOUT_ROWS)

    def product(states: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, packed_weight, bias, "none", [], "")
        return output

    return product


def weight_version(layer: Any) -> Version:
    """Changes with every training step, and from layer to layer.

    Torch counts changes in place, but not those of `.data`; on a CPU a checksum of some weights finds these.
    """
    version: list[float] = []
    for parameter in (layer.weight, layer.bias):
        if parameter is not None:
            version += [parameter.data_ptr(), parameter._version]
            if parameter.device.type == "cpu":
                version.append(parameter.detach().reshape(-1)[::CHECKSUM_STEP].double().sum().item())
    return tuple(version)


class PackedLayers:
    """The linear layers of a model with packed weights; the projection to the vocabulary has its own module."""

    def __init__(self, model: Any) -> None:
        output = model.get_output_embeddings()
        linear = [
            layer for layer in model.modules() if type(layer) in (torch.nn.Linear, Conv1D) and layer is not output
        ]
        self.layers = [layer for layer in linear if can_pack(layer.weight)]
        self.bytes = sum(layer.weight.nbytes for layer in self.layers)
        if self.bytes > MAX_COPY_BYTES:
            self.layers, self.bytes = [], 0
        self._products: dict[int, tuple[Version, Product]] = {}

    def products(self) -> list[Replacement]:
        """Each layer and its product; those whose weights have changed are packed again."""
        for index, layer in enumerate(self.layers):
            version = weight_version(layer)
            if index not in self._products or self._products[index][0] != version:
                weight = layer.weight.T if isinstance(layer, Conv1D) else layer.weight
                self._products[index] = version, pack(weight, layer.bias)
        return [(layer, self._products[index][1]) for index, layer in enumerate(self.layers)]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_products": {}}  # a worker packs them itself
