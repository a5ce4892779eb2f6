"""A language model's head at single positions, instead of at every token of a text.

Of the logits of 30,000 or 250,000 words nearly all are needed for their sum only. A CPU makes them for some thousand
words at a time, so that they never leave its cache; a GPU sums them as it makes them and stores none; one that cannot
do that makes and keeps them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn.functional import linear, pad

from geobias.models.fast import kernels
from geobias.models.fast.fast_path import (
    Product,
    Version,
    can_pack,
    pack,
    random_numbers,
    replace_forward,
    weight_version,
)

MAX_LOGITS = {"cpu": 2**21, "cuda": 2**29}  # held at once: what a cache holds, or what keeps a GPU busy
GPU_MULTIPLE = 64  # matrix units of a GPU want vocabularies of whole multiples
CPU_SLICE = 2048  # words at a time

ToDevice = Callable[[np.ndarray], torch.Tensor]


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
            return _log_p_by_kernels(states, *self._weight_and_bias(), rows, targets)
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
            by_weight = _log_p_by_kernels(weight[:2], *self._weight_and_bias(), first[:2], first[:2])
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
            products = [pack(*part) if self.packs else partial(linear, weight=part[0], bias=part[1]) for part in parts]
            self._slices = version, products
        return self._slices[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_slices": None}  # a worker makes them itself


def _log_p_by_kernels(
    states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    target_logits = kernels.projected_at(states, weight, bias, rows, targets)
    return target_logits - kernels.projected_log_sum(states, weight, bias)[rows]


def log_sum_exp(logits: torch.Tensor) -> torch.Tensor:
    """log of the sum of exp over each row, in float32."""
    return kernels.log_sum(logits) if kernels.ready(logits) else logits.float().logsumexp(1)


class PositionHead:
    """Turns hidden states into log-probabilities by the model's own head.

    Every architecture names and builds its head in its own way, so the model itself runs it: its forward pass, with
    the given states in place of those of its core. This needs no list of architectures.
    """

    def __init__(self, model: Any, core: Any, call: Mapping[str, Any], output_type: type, to_device: ToDevice) -> None:
        self.model, self.core, self.call, self.output_type = model, core, call, output_type
        self.to_device = to_device
        self.projection: Projection | None = None  # the last layer of the head, where nothing follows it

    @property
    def slice_states(self) -> int:
        """For how many states logits are held at once."""
        device = next(self.model.parameters()).device
        words = int(self.model.config.get_text_config().vocab_size)
        if self.projection is not None:
            words = min(words, self.projection.slice_words)
        return max(1, MAX_LOGITS.get(device.type, MAX_LOGITS["cpu"]) // words)

    def logits(self, states: torch.Tensor, *, projected: bool = True) -> torch.Tensor:
        """The head's output at each state; without `projected` what goes into its last layer."""
        output = self.output_type(last_hidden_state=states[None])
        output_layer = self.model.get_output_embeddings()
        unprojected = nullcontext() if projected else replace_forward(output_layer, lambda inputs: inputs)
        with replace_forward(self.core, lambda *_, **__: output), unprojected:
            logits: torch.Tensor = self.model(**self.call).logits[0]
        return logits

    @torch.inference_mode()
    def log_p(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P of one target at each state."""
        slices = zip(states.split(self.slice_states), targets.split(self.slice_states), strict=True)
        return torch.cat([self._log_p(part, torch.arange(len(part), device=part.device), to) for part, to in slices])

    @torch.inference_mode()
    def log_p_of_many(self, states: torch.Tensor, which: np.ndarray, targets: np.ndarray) -> torch.Tensor:
        """log P of each target at state `which`, in float64; there may be many targets at one state."""
        size = self.slice_states
        order = np.argsort(which, kind="stable")
        rows, columns = self.to_device(which[order]), self.to_device(targets[order])
        starts = range(0, len(states), size)
        cuts = np.searchsorted(which[order], [*starts, len(states)])
        values = torch.empty(len(targets), dtype=torch.float64, device=states.device)
        for start, first, last in zip(starts, cuts[:-1], cuts[1:], strict=True):
            part = states[start : start + size]
            values[first:last] = self._log_p(part, rows[first:last] - start, columns[first:last]).double()
        return torch.empty_like(values).scatter_(0, self.to_device(order), values)

    def _log_p(self, states: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if self.projection is not None:
            return self.projection.log_p(self.logits(states, projected=False), rows, targets)
        logits = self.logits(states)
        return logits[rows, targets].float() - log_sum_exp(logits)[rows]


@torch.inference_mode()
def find_head(
    model: Any, core: Any, call: Mapping[str, Any], to_device: ToDevice, *, slices: bool, packs_up_to: int
) -> PositionHead | None:
    """The head, if it looks at each position alone; `call` is how the model is called on a few tokens.

    `slices` allows the sliced projection; its weights are packed if they have at most `packs_up_to` bytes.
    """
    outputs: list[Any] = []
    hook = core.register_forward_hook(lambda *arguments: outputs.append(arguments[-1]))
    try:
        logits = model(**call).logits[0]
    finally:
        hook.remove()
    if not outputs or not hasattr(outputs[0], "last_hidden_state"):
        return None
    states = outputs[0].last_hidden_state[0]
    head = PositionHead(model, core, call, type(outputs[0]), to_device)
    # Same calls, same shapes: equal bits. Then all states but the last two are others, and their logits must stay.
    others = torch.cat([random_numbers(*states[:-2].shape, like=states), states[-2:]])
    try:
        if not (torch.equal(head.logits(states), logits) and torch.equal(head.logits(others)[-2:], logits[-2:])):
            return None
    except Exception:  # architectures differ in what they need of their core
        return None
    layer = model.get_output_embeddings()
    if slices and isinstance(layer, torch.nn.Linear) and _ends_head(head, layer, states, logits):
        head.projection = Projection(layer, packs=layer.weight.nbytes <= packs_up_to)
    return head


def _ends_head(head: PositionHead, layer: torch.nn.Linear, states: torch.Tensor, logits: torch.Tensor) -> bool:
    """Whether nothing changes the output of the last layer: Gemma 2, for one, caps its logits."""
    try:
        return torch.equal(layer(head.logits(states, projected=False)[None])[0], logits)
    except RuntimeError:  # a head that cannot do without it
        return False
