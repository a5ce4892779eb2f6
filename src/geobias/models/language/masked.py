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

from typing import Any, ClassVar

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.language.aul import AULAScorer, AULScorer
from geobias.models.language.conditional import MaskedConditionalScorer
from geobias.models.language.language_model import LanguageModel, plain_log_p
from geobias.models.language.pll import PLLScorer, PLLWordScorer
from geobias.models.model_files import use_attention
from geobias.models.scorer import PROBE

ATTENTION_TOLERANCE = 0.02  # of the sum of a token's attention weights, in half precision


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
    default_method = "conditional"
    perplexity_method = "pll"

    def _settle(self) -> None:
        super()._settle()
        self.fast.template_tokens = self.fast.head is not None and "template_tokens" in self.fast.allowed

    @torch.inference_mode()
    def states_at(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of each text at one position."""
        text = torch.arange(len(ids), device=ids.device)
        return self.states(ids)[text, positions]

    @torch.inference_mode()
    def log_p_at(
        self, inputs: np.ndarray, positions: np.ndarray, which: np.ndarray, targets: np.ndarray
    ) -> torch.Tensor:
        """log P of each target at the one position that is read of input number `which`, in float64."""
        rows_at_once = max(1, self.token_budget // inputs.shape[1])
        batches = [slice(start, start + rows_at_once) for start in range(0, len(inputs), rows_at_once)]
        if self.fast.head is not None:
            parts = [self.states_at(self.tensor(inputs[rows]), self.tensor(positions[rows])) for rows in batches]
            return self.fast.head.log_p_of_many(torch.cat(parts), which, targets)
        values = torch.empty(len(targets), dtype=torch.float64)
        for rows in batches:
            inside = np.flatnonzero((which >= rows.start) & (which < rows.stop))
            read = which[inside]
            places = map(self.tensor, (read - rows.start, positions[read], targets[inside]))
            values[torch.from_numpy(inside)] = self.log_p({"input_ids": self.tensor(inputs[rows])}, *places).cpu()
        return values

    @torch.inference_mode()
    def log_p_and_attention(self, ids: torch.Tensor, where: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """log P of the texts' tokens at the places marked in `where`, and the attention that each receives.

        The attention is the mean over layers, heads and tokens.
        """
        head, targets = self.fast.head, ids[where]
        output = self._run_with_attention(ids)
        if head is None:
            log_p = plain_log_p(output.logits[where], targets)
        else:
            log_p = head.log_p(output.last_hidden_state[where], targets)
        attention = sum(layer.float().mean(dim=(1, 2)) for layer in output.attentions) / len(output.attentions)
        return log_p.double(), attention[where].double()

    @torch.inference_mode()
    def returns_attention(self) -> bool:
        """Whether the model returns how much each token attends to each other: rows of weights that sum to one.

        Some architectures have none (FNet), attend to some tokens only (Longformer), merge tokens (Funnel) or return
        something else by that name (SqueezeBERT, YOSO).
        """
        ids = torch.tensor([self.tokenizer(PROBE)["input_ids"]], device=self.device)
        try:
            layers = self._run_with_attention(ids).attentions
            square = ids.shape[1:] * 2
            return len(layers) > 0 and all(
                layer.shape[2:] == square and bool(((layer.float().sum(-1) - 1).abs() < ATTENTION_TOLERANCE).all())
                for layer in layers
            )
        except (InputError, AttributeError, TypeError):  # it fails when asked for them, or returns none
            return False

    def _run_with_attention(self, ids: torch.Tensor) -> Any:
        """The output with the attention of every layer; only the "eager" implementation tells it."""
        with use_attention(self.model, "eager"):
            core = self.model if self.fast.head is None else self._core()
            return self.run_model(core, input_ids=ids, output_attentions=True)
