"""The last layer of an encoder, computed for the positions that are read alone.

Who reads one position of a text (a masked token, a classifier's first token) needs the keys and values of all others
in that layer, and nothing else: five sixths of its work can be left out. Where all tokens of a text are read, but not
those that the tokenizer adds, some of it can. It takes knowing how a layer is built (`BUILDS`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from geobias.models.fast import kernels
from geobias.models.fast.layers import replace_forward
from geobias.models.fast.self_checks import agree, as_float32, float32_copy, random_numbers

ComputeLayer = Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]  # a layer, all states, those that are read
SelectStates = Callable[[torch.Tensor], torch.Tensor]  # texts x tokens x width to texts x fewer tokens x width
RunModel = Callable[[], torch.Tensor]  # a forward pass, and what is read from it: one row for each text


class LastLayer:
    """The last layer of an encoder, which can be replaced for a while."""

    def __init__(self, layer: Any, compute: ComputeLayer) -> None:
        self.layer, self.compute = layer, compute

    def reading(self, select: SelectStates) -> AbstractContextManager[None]:
        """Inside, the model computes the selected states of each text, as if the text had no others."""
        return replace_forward(self.layer, lambda states, *_, **__: self.compute(self.layer, states, select(states)))


def select_first(states: torch.Tensor) -> torch.Tensor:
    """The first state of each text."""
    return states[:, :1]


@torch.inference_mode()
def find_last_layer(core: Any, run: RunModel, positions: torch.Tensor) -> LastLayer | None:
    """The last layer of a model of known build, if it can be computed so; None for any other.

    `run` calls the model on texts of one length, and gives for each what is read at its one position.
    """
    last_layer = _layer_of_known_build(core)
    if last_layer is None:
        return None
    calls: list[tuple[Any, Any]] = []
    hook = last_layer.layer.register_forward_pre_hook(lambda _, *call: calls.append(call), with_kwargs=True)
    try:
        run()
    finally:
        hook.remove()
    try:
        [(arguments, options)] = calls
        is_same = _computes_the_same(last_layer, arguments, options, positions)
        return last_layer if is_same and _is_all_that_is_read(last_layer, arguments[0], run, positions) else None
    except Exception:  # a layer that only looks like one of those, or one that a pass does not call once
        return None


def _layer_of_known_build(core: Any) -> LastLayer | None:
    for path, attributes, compute in BUILDS:
        layers = core
        for name in path.split("."):
            layers = getattr(layers, name, None)
        if isinstance(layers, torch.nn.ModuleList) and all(hasattr(layers[-1], name) for name in attributes):
            return LastLayer(layers[-1], compute)
    return None


def _computes_the_same(last_layer: LastLayer, arguments: Any, options: Any, positions: torch.Tensor) -> bool:
    """Whether a float32 copy of the layer, called as the model does it, gives the same at these positions."""
    reference = float32_copy(last_layer.layer)
    states = random_numbers(*arguments[0].shape)
    layer_options = {name: as_float32(value) for name, value in options.items()}
    output = reference(states, *map(as_float32, arguments[1:]), **layer_options)
    expected = output[0] if isinstance(output, tuple) else output
    texts, where = torch.arange(len(states)), positions.cpu()
    actual = last_layer.compute(reference, states, states[texts, where][:, None])
    return agree(expected[texts, where], actual[:, 0])


def _is_all_that_is_read(last_layer: LastLayer, states: torch.Tensor, run: RunModel, positions: torch.Tensor) -> bool:
    """Whether what follows the layer looks at the positions alone: other states elsewhere may not change a bit."""
    texts = torch.arange(len(states), device=states.device)
    others = random_numbers(*states.shape, like=states)
    others[texts, positions] = states[texts, positions]
    outputs = []
    for layer_output in (states, others):
        with replace_forward(last_layer.layer, lambda *_, output=layer_output, **__: output):
            outputs.append(run())
    return torch.equal(*outputs)


def _compute_bert(layer: Any, states: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
    attention = layer.attention.self
    query, key, value = attention.query(read), attention.key(states), attention.value(states)
    mixed = _attend(query, key, value, attention.num_attention_heads)
    output: torch.Tensor = layer.feed_forward_chunk(layer.attention.output(mixed, read))
    return output


def _compute_distilbert(layer: Any, states: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
    attention = layer.attention
    query, key, value = attention.q_lin(read), attention.k_lin(states), attention.v_lin(states)
    mixed = layer.sa_layer_norm(attention.out_lin(_attend(query, key, value, attention.n_heads)) + read)
    output: torch.Tensor = layer.output_layer_norm(layer.ffn(mixed) + mixed)
    return output


def _attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, heads: int) -> torch.Tensor:
    """texts x tokens x width in, and out."""
    by_head = [states.unflatten(-1, (heads, -1)).transpose(1, 2) for states in (query, key, value)]
    if kernels.attends(by_head[0], by_head[1]):
        return kernels.attention_within(*by_head).flatten(-2)
    return scaled_dot_product_attention(*by_head).transpose(1, 2).flatten(-2)


# Where an encoder's layers are, the attributes that tell their build, and how the last one is computed.
BUILDS: tuple[tuple[str, tuple[str, ...], ComputeLayer], ...] = (
    ("encoder.layer", ("attention", "feed_forward_chunk"), _compute_bert),
    ("transformer.layer", ("attention", "sa_layer_norm", "ffn", "output_layer_norm"), _compute_distilbert),
)
