"""Masked language models: BERT, RoBERTa and their descendants.

| score | log P of each token, given | file |
|---|---|---|
| aul | the whole unmasked sentence, in one forward pass | aul.py |
| aula | the same, weighted by the attention that the token receives | aul.py |
| pll | the sentence with that token masked | pll.py |
| pll-word | the sentence with that token and the later ones of its word masked | pll.py |
| conditional | for tokens of the marked part: it and the later tokens of that part masked | conditional.py |

A score is the mean over a sentence's own tokens (for `conditional`, the marked ones); tokens that a tokenizer adds
([CLS], </s>, ...) never count.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
import torch
import transformers

from geobias.models.attention_choice import use_attention
from geobias.models.fast.last_layer import SelectStates, find_last_layer
from geobias.models.language.aul import AULAScorer, AULScorer
from geobias.models.language.conditional import MaskedConditionalScorer
from geobias.models.language.language_model import LanguageModel
from geobias.models.language.pll import PLLScorer, PLLWordScorer
from geobias.models.scorer import PROBE


class MaskedLM(LanguageModel):
    """A model that fills in masks."""

    auto_class = transformers.AutoModelForMaskedLM
    kind = "masked-LM"
    scorers: ClassVar = {
        "aul": AULScorer,
        "aula": AULAScorer,
        "pll": PLLScorer,
        "pll-word": PLLWordScorer,
        "conditional": MaskedConditionalScorer,
    }
    methods = tuple(scorers)
    default_method = "aul"
    perplexity_method = "pll"

    def _settle(self) -> None:
        super()._settle()
        if self.fast.head is None:
            return
        self.fast.template_tokens = "template_tokens" in self.fast.allowed
        if "last_layer" in self.fast.allowed:
            ids = torch.tensor([self.tokenizer(PROBE)["input_ids"]] * 2, device=self.device)
            positions = torch.tensor([1, 2], device=self.device)
            run = partial(self.states_at, ids, positions)
            self.fast.last_layer = find_last_layer(self._core(), run, positions)

    @torch.inference_mode()
    def states_at(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of each text at one position."""
        text = torch.arange(len(ids), device=ids.device)
        return self.selected_states(ids, lambda states: states[text, positions][:, None])[:, 0]

    @torch.inference_mode()
    def selected_states(self, ids: torch.Tensor, select: SelectStates) -> torch.Tensor:
        """Some states of the last hidden layer."""
        if self.fast.last_layer is None:
            return select(self.states(ids))
        with self.fast.last_layer.reading(select):
            return self.states(ids)

    @torch.inference_mode()
    def log_p_at(
        self, inputs: np.ndarray, positions: np.ndarray, which: np.ndarray, targets: np.ndarray
    ) -> torch.Tensor:
        """log P of each target at the one position that is read of input number `which`, in float64."""
        rows_at_once = max(1, self.token_budget // inputs.shape[1])
        starts = range(0, len(inputs), rows_at_once)
        batches = [slice(start, start + rows_at_once) for start in starts]
        if self.fast.head is not None:
            parts = [self.states_at(self.tensor(inputs[rows]), self.tensor(positions[rows])) for rows in batches]
            return self.fast.head.log_p_of_many(torch.cat(parts), which, targets)
        values = torch.empty(len(targets), dtype=torch.float64)
        for rows in batches:
            inside = np.flatnonzero((which >= rows.start) & (which < rows.stop))
            read = which[inside]
            log_p = self.log_p(
                {"input_ids": self.tensor(inputs[rows])},
                self.tensor(read - rows.start),
                self.tensor(positions[read]),
                self.tensor(targets[inside]),
            )
            values[torch.from_numpy(inside)] = log_p.cpu()
        return values

    @torch.inference_mode()
    def log_p_and_attention(self, ids: torch.Tensor, where: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """log P of the texts' tokens at the places marked in `where`, and the attention that each receives.

        The attention is the mean over layers, heads and tokens. Only the "eager" implementation tells it.
        """
        head, targets = self.fast.head, ids[where]
        with use_attention(self.model, "eager"):
            output = (self.model if head is None else self.model.base_model)(input_ids=ids, output_attentions=True)
        if head is None:
            log_p = output.logits[where].float().log_softmax(-1).gather(1, targets[:, None])[:, 0]
        else:
            log_p = head.log_p(output.last_hidden_state[where], targets)
        attention = sum(layer.float().mean(dim=(1, 2)) for layer in output.attentions) / len(output.attentions)
        return log_p.double(), attention[where].double()
