"""A language model's head at single positions, instead of at every token of a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from geobias.models.fast.projection import Projection, log_sum_exp
from geobias.models.fast.replace_forward import replace_forward
from geobias.models.fast.self_checks import random_numbers

MAX_LOGITS = {"cpu": 2**21, "cuda": 2**29}  # held at once: what a cache holds, or what keeps a GPU busy

ToDevice = Callable[[np.ndarray], torch.Tensor]


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
        with ExitStack() as replacements:
            replacements.enter_context(replace_forward(self.core, lambda *_, **__: output))
            if not projected:
                output_layer = self.model.get_output_embeddings()
                replacements.enter_context(replace_forward(output_layer, lambda inputs: inputs))
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
    output_layer = model.get_output_embeddings()
    if slices and isinstance(output_layer, torch.nn.Linear) and _ends_head(head, output_layer, states, logits):
        head.projection = Projection(output_layer, packs=output_layer.weight.nbytes <= packs_up_to)
    return head


def _ends_head(head: PositionHead, layer: torch.nn.Linear, states: torch.Tensor, logits: torch.Tensor) -> bool:
    """Whether nothing changes the output of the last layer: Gemma 2, for one, caps its logits."""
    try:
        return torch.equal(layer(head.logits(states, projected=False)[None])[0], logits)
    except RuntimeError:  # a head that cannot do without it
        return False
