"""The last layer for the positions that are read alone.

Whoever reads one position of a text (a masked token, a classifier's first one) needs the keys and values of all others
there, and nothing else: five sixths of that layer's work can be left out. So can some of it where all of a text's own
tokens are read, but not those that a tokenizer adds. It takes knowing how a layer is built; for a model of another
build, and for one whose head looks further, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from geobias.models.fast import kernels
from geobias.models.fast.layers import replaced

Compute = Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]  # a layer, all states, those that are read
Choose = Callable[[torch.Tensor], torch.Tensor]  # texts x tokens x width to texts x fewer x width


class LastLayer:
    """The last layer of an encoder, to be replaced for a while."""

    def __init__(self, layer: Any, compute: Compute) -> None:
        self.layer, self.compute = layer, compute

    @contextmanager
    def reading(self, choose: Choose) -> Iterator[None]:
        """Inside, the model gives those states of each text that are chosen, as if they were all of it."""

        def forward(states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
            return self.compute(self.layer, states, choose(states))

        with replaced(self.layer, forward):
            yield


def at_first(states: torch.Tensor) -> torch.Tensor:
    """The choice of a text's first state."""
    return states[:, :1]


def last_layer(core: Any) -> LastLayer | None:
    """The last layer of a model of known build; whether it then gives the same numbers is to be tried."""
    for path, needs, compute in BUILDS:
        layers = core
        for name in path.split("."):
            layers = getattr(layers, name, None)
        if isinstance(layers, torch.nn.ModuleList) and all(hasattr(layers[-1], name) for name in needs):
            return LastLayer(layers[-1], compute)
    return None


def _as_bert(layer: Any, states: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
    own = layer.attention.self
    seen = _attended(own.query(read), own.key(states), own.value(states), own.num_attention_heads)
    found: torch.Tensor = layer.feed_forward_chunk(layer.attention.output(seen, read))
    return found


def _as_distilbert(layer: Any, states: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
    own = layer.attention
    seen = own.out_lin(_attended(own.q_lin(read), own.k_lin(states), own.v_lin(states), own.n_heads))
    attended = layer.sa_layer_norm(seen + read)
    found: torch.Tensor = layer.output_layer_norm(layer.ffn(attended) + attended)
    return found


def _attended(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, heads: int) -> torch.Tensor:
    """texts x tokens x width in, and out."""
    parts = [one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (query, key, value)]
    if kernels.attends(parts[0], parts[1]):
        return kernels.attention_within(*parts).flatten(-2)
    return scaled_dot_product_attention(*parts).transpose(1, 2).flatten(-2)


# Where the layers of an encoder stand, what tells their build, and how the last one is computed.
BUILDS: tuple[tuple[str, tuple[str, ...], Compute], ...] = (
    ("encoder.layer", ("attention", "feed_forward_chunk"), _as_bert),
    ("transformer.layer", ("attention", "sa_layer_norm", "ffn", "output_layer_norm"), _as_distilbert),
)
