"""What all language models of transformers share: the words of a text, and log P of a token at a single position.

Each kind says which scores it has (`methods`) and how its hidden states are made; the head that turns a hidden state
into log-probabilities of the whole vocabulary runs here, on the positions that are read alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any, ClassVar

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches
from geobias.models.fast.layers import MOST_BYTES, replaced
from geobias.models.fast.projection import Projection, log_sum
from geobias.models.pretrained import LoadedModel
from geobias.models.scorer import PROBE, AnyLanguageModel, Scorer
from geobias.models.token_arrays import Tokens

LOGITS_HELD = {"cpu": 2**21, "cuda": 2**29}  # numbers of the projection at once: what a cache holds, or a GPU wants


class LanguageModel(LoadedModel, AnyLanguageModel):
    """A loaded language model; `scorer(method)` gives the ways of asking it."""

    methods: ClassVar[tuple[str, ...]]
    default_method: ClassVar[str]
    perplexity_method: ClassVar[str]  # the score whose negative is a log-perplexity
    prompted_method: ClassVar[str] = "conditional"  # the score of an answer after a prompt

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        self.trained_on = False  # once it is, its fingerprint is that of another model

    def _settle(self) -> None:
        super()._settle()
        self.projection: Projection | None = None  # the last layer of the head, where it is all that makes the logits
        self._check_head()

    def scorer(self, method: str | None = None) -> Scorer:
        raise NotImplementedError

    def checked(self, method: str | None) -> str:
        """The name of a score that this kind of model has; without one its default."""
        method = method or self.default_method
        if method not in self.methods:
            raise InputError(
                f"{self.name} is a {self.kind}, which has no score {method!r}: choose one of {', '.join(self.methods)}."
            )
        return method

    def identity_of(self, method: str) -> str | None:
        """What scores by this method are kept under; None for a model that is being trained."""
        return None if self.trained_on else f"{self.fingerprint}:{method}:{self.dtype}:{self.max_length}"

    @torch.inference_mode()
    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of texts as they are."""
        hidden: torch.Tensor = self._core()(input_ids=ids).last_hidden_state
        return hidden

    def representations(self, texts: Sequence[str]) -> np.ndarray:
        """A vector for each text: the last hidden layer, averaged over the text's own tokens (NaN without any)."""
        tokens = Tokens(self.encode(texts)[0])
        ids, counted = tokens.ids, tokens.ids.beside(tokens.own)
        rows: list[np.ndarray] = [np.empty(0)] * len(texts)
        for some in equal_length_batches(ids.lengths, ids.lengths, self.budget):
            hidden = self.states(self.tensor(ids.of(some)))
            own = self.tensor(counted.of(some))[..., None]
            means = (hidden.double() * own).sum(1) / own.sum(1)
            for i, mean in zip(some, means.cpu().numpy(), strict=True):
                rows[i] = mean
        return np.stack(rows)

    @torch.inference_mode()
    def log_p(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P of one target at each state, on the model's device."""
        parts = zip(states.split(self._slice), targets.split(self._slice), strict=True)
        return torch.cat([self._log_p(some, torch.arange(len(some), device=self.device), at) for some, at in parts])

    @torch.inference_mode()
    def log_probabilities(self, states: torch.Tensor, which: np.ndarray, targets: np.ndarray) -> torch.Tensor:
        """log P of each target at state `which`, in float64; there may be many targets at one state."""
        order = np.argsort(which, kind="stable")
        rows, columns = self.tensor(which[order]), self.tensor(targets[order])
        starts = range(0, len(states), self._slice)
        cuts = np.searchsorted(which[order], [*starts, len(states)])
        values = torch.empty(len(targets), dtype=torch.float64, device=self.device)
        for start, first, last in zip(starts, cuts[:-1], cuts[1:], strict=True):
            some = states[start : start + self._slice]
            values[first:last] = self._log_p(some, rows[first:last] - start, columns[first:last]).double()
        return torch.empty_like(values).scatter_(0, self.tensor(order), values)

    @property
    def _slice(self) -> int:
        """For how many states the numbers of the whole vocabulary are held at once."""
        held = LOGITS_HELD.get(self.device.type, LOGITS_HELD["cpu"])
        words = int(self.model.config.get_text_config().vocab_size)
        return max(1, held // (min(words, self.projection.words_at_once) if self.projection else words))

    def _log_p(self, states: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if self.projection is not None:
            return self.projection.log_p(self._head(states, projected=False), rows, targets)
        logits = self._head(states)
        return logits[rows, targets].float() - log_sum(logits)[rows]

    def _core(self) -> Any:
        """The module whose hidden states go into the head."""
        return self.model.base_model

    def _probe(self, ids: torch.Tensor) -> dict[str, Any]:
        """How the model is called on some tokens, to see its own logits."""
        return {"input_ids": ids}

    def _head(self, states: torch.Tensor, *, projected: bool = True) -> torch.Tensor:
        """The model's own head on single positions: its forward pass with these states in place of the core's.

        Every architecture names and builds its head in its own way; letting the model run it needs no list of them.
        `projected` False leaves out its last layer, to the vocabulary.
        """
        output = self._output_type(last_hidden_state=states[None])
        with ExitStack() as stand_ins:
            stand_ins.enter_context(replaced(self._core(), lambda *_, **__: output))
            if not projected:
                stand_ins.enter_context(replaced(self.model.get_output_embeddings(), lambda given: given))
            logits: torch.Tensor = self.model(**self._any).logits[0]
        return logits

    @torch.inference_mode()
    def _check_head(self) -> None:
        """Make sure that the head looks at each position alone: the last two must give what they give among all."""
        self._any = self._probe(torch.tensor([self.tokenizer(PROBE)["input_ids"]], device=self.device))
        seen: list[Any] = []
        hook = self._core().register_forward_hook(lambda *passed: seen.append(passed[-1]))
        try:
            plain = self.model(**self._any).logits[0, -2:].float()
        finally:
            hook.remove()
        refusal = InputError(
            f"{self.name} ({self.architecture}) does not predict token by token, so it cannot be asked as a "
            "language model."
        )
        if not seen or not hasattr(seen[0], "last_hidden_state"):
            raise refusal
        self._output_type = type(seen[0])
        states = seen[0].last_hidden_state[0, -2:]
        if not self._alike(plain, self._head(states)):
            raise refusal
        last = self.model.get_output_embeddings()
        if isinstance(last, torch.nn.Linear):  # most heads end in one; some change its numbers afterwards
            packs = self.layers.bytes + last.weight.nbytes <= MOST_BYTES
            projection = Projection(last, packs=packs)
            with suppress(RuntimeError):  # those that cannot do without it
                if self._alike(plain, projection(self._head(states, projected=False))):
                    self.projection = projection

    def _alike(self, plain: torch.Tensor, other: torch.Tensor) -> bool:
        tolerance = 1e-3 if self.dtype == "float32" else 0.1
        return plain.shape == other.shape and torch.allclose(plain, other.float(), rtol=tolerance, atol=tolerance)
