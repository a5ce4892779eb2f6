"""What all language models of transformers share: log P of tokens at single positions, and representations of texts.

Each kind says which scores it has (`scorers`) and how it is called. A scorer says which inputs are read, where, and for
which tokens; `log_p` gives log P there: by plain transformers code, or faster (`models.fast`) with the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches
from geobias.models.fast.head import find_head
from geobias.models.fast.layers import MAX_COPY_BYTES
from geobias.models.pretrained import LoadedModel
from geobias.models.scorer import PROBE, AnyLanguageModel
from geobias.models.token_arrays import Tokens

if TYPE_CHECKING:
    from geobias.models.language.language_scorer import LanguageScorer

PLAIN_LOGITS = 2**29  # numbers held at once where logits are made for every token
Inputs = Mapping[str, torch.Tensor]  # how the model is called


class LanguageModel(LoadedModel, AnyLanguageModel):
    """A loaded language model; `scorer(method)` gives the ways of scoring texts with it."""

    scorers: ClassVar[Mapping[str, type[LanguageScorer]]]  # by the name of the score
    methods: ClassVar[tuple[str, ...]]
    default_method: ClassVar[str]
    perplexity_method: ClassVar[str]  # the score whose negative is a log-perplexity
    prompted_method: ClassVar[str] = "conditional"  # the score of an answer after a prompt

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        self.trained_on = False  # once it is, its fingerprint is that of another model

    def _settle(self) -> None:
        super()._settle()
        call = self._call_for(torch.tensor([self.tokenizer(PROBE)["input_ids"]], device=self.device))
        self._refuse_without_logits(call)
        if "read_positions" in self.fast.allowed:
            packed = self.fast.packed
            self.fast.head = find_head(
                self.model,
                self._core(),
                call,
                self.tensor,
                slices="sliced_projection" in self.fast.allowed,
                packs_up_to=0 if packed is None else MAX_COPY_BYTES - packed.bytes,
            )
        else:
            words = int(self.model.config.get_text_config().vocab_size)
            self.token_budget = min(self.token_budget, max(1, PLAIN_LOGITS // words))

    def scorer(self, method: str | None = None) -> LanguageScorer:
        """Texts in, scores by this method out; without one by the default."""
        method = self.checked(method)
        return self.scorers[method](self, method)

    def checked(self, method: str | None) -> str:
        """The name of a score that this kind of model has; without one its default."""
        method = method or self.default_method
        if method not in self.methods:
            raise InputError(
                f"{self.name} is a {self.kind}, which has no score {method!r}: choose one of {', '.join(self.methods)}."
            )
        return method

    def identity_of(self, method: str) -> str | None:
        """What scores by this method are stored under; None for a model that is being trained."""
        if self.trained_on:
            return None
        return f"{self.fingerprint}:{method}:{self.dtype}:{self.max_length}{self.fast.identity}"

    @torch.inference_mode()
    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of texts."""
        states: torch.Tensor = self._core()(input_ids=ids).last_hidden_state
        return states

    def representations(self, texts: Sequence[str]) -> np.ndarray:
        """A vector for each text: the last hidden layer, averaged over the text's own tokens (NaN without any)."""
        tokens = Tokens(self.encode(texts)[0])
        ids, counted = tokens.ids, tokens.ids.beside(tokens.is_text)
        rows: list[np.ndarray] = [np.empty(0)] * len(texts)
        for batch in equal_length_batches(ids.lengths, ids.lengths, self.budget):
            with self.lock:
                states = self.states(self.tensor(ids.take(batch)))
            weights = self.tensor(counted.take(batch))[..., None]
            means = (states.double() * weights).sum(1) / weights.sum(1)
            for index, mean in zip(batch, means.cpu().numpy(), strict=True):
                rows[index] = mean
        return np.stack(rows)

    @torch.inference_mode()
    def log_p(self, inputs: Inputs, rows: torch.Tensor, positions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P of each target at one position of one of the inputs, in float64."""
        if self.fast.head is not None:
            return self.fast.head.log_p(self._states_for(inputs)[rows, positions], targets).double()
        logits = self.model(**inputs).logits[rows, positions].float()
        return logits.log_softmax(-1).gather(1, targets[:, None])[:, 0].double()

    def _core(self) -> Any:
        """The module whose hidden states go into the head."""
        return self.model.base_model

    def _call_for(self, ids: torch.Tensor) -> dict[str, Any]:
        """How the model is called on some tokens, to see its own logits."""
        return {"input_ids": ids}

    def _states_for(self, inputs: Inputs) -> torch.Tensor:
        """The hidden states that go into the head."""
        return self.states(inputs["input_ids"])

    @torch.inference_mode()
    def _refuse_without_logits(self, call: Mapping[str, Any]) -> None:
        """Make sure that there are logits for each token of the probe."""
        logits = getattr(self.model(**call), "logits", None)
        tokens = call["decoder_input_ids" if "decoder_input_ids" in call else "input_ids"].shape[1]
        if logits is None or logits.dim() != 3 or logits.shape[1] != tokens:
            raise InputError(
                f"{self.name} ({self.architecture}) does not predict token by token, so it cannot be asked as a "
                "language model."
            )
