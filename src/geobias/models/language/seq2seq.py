"""Sequence-to-sequence models (BART, T5): how likely is it that the decoder writes this sentence?

| score | what the encoder reads | what counts |
|---|---|---|
| aul | the sentence itself, as HERB scores BART | the mean over the sentence's tokens, each given those before it |
| mean, sum | a mask alone: the decoder writes by itself | the mean, or the sum, over the sentence's tokens |
| conditional | the sentence with the marked part masked | the mean over the marked part's tokens |
| answer | what stands before the marked part | the mean over the marked part's tokens, which is all that is written |

BART writes the whole sentence again, T5 only what its mask (`<extra_id_0>`) stands for: each as it was trained to.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutput

from geobias.models.language.language_model import Inputs, LanguageModel
from geobias.models.language.seq2seq_scorers import (
    Seq2SeqAnswerScorer,
    Seq2SeqAULScorer,
    Seq2SeqConditionalScorer,
    Seq2SeqMeanScorer,
    Seq2SeqSumScorer,
)

SENTINEL = "<extra_id_0>"  # T5's first mask


class Seq2SeqLM(LanguageModel):
    """A model that reads one text and writes another."""

    auto_class = transformers.AutoModelForSeq2SeqLM
    kind = "sequence-to-sequence LM"
    scorers: ClassVar = {
        "aul": Seq2SeqAULScorer,
        "mean": Seq2SeqMeanScorer,
        "sum": Seq2SeqSumScorer,
        "conditional": Seq2SeqConditionalScorer,
        "answer": Seq2SeqAnswerScorer,
    }
    methods = tuple(scorers)
    default_method = "aul"
    perplexity_method = "mean"
    prompted_method = "answer"

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        sentinel = tokenizer.get_vocab().get(SENTINEL)
        self.writes_masks_only = sentinel is not None
        self.mask = tokenizer.mask_token_id if sentinel is None else sentinel
        starts = (getattr(part, "decoder_start_token_id", None) for part in (model.config, model.generation_config))
        self.start = next((token for token in starts if token is not None), tokenizer.pad_token_id)

    def decoder_inputs(self, written: np.ndarray) -> np.ndarray:
        """What the decoder reads while it writes these tokens: each one is predicted from those before it."""
        return np.column_stack([np.full(len(written), self.start), written[:, :-1]])

    @torch.inference_mode()
    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """The encoder's last hidden layer."""
        states: torch.Tensor = self.model.get_encoder()(input_ids=ids).last_hidden_state
        return states

    def _core(self) -> Any:
        return self.model.get_decoder()

    def _states_for(self, inputs: Inputs) -> torch.Tensor:
        """The decoder's last hidden layer; equal texts go through the encoder once."""
        sources, which = inputs["input_ids"].unique(dim=0, return_inverse=True)
        output = self._core()(
            input_ids=inputs["decoder_input_ids"], encoder_hidden_states=self.states(sources)[which], use_cache=False
        )
        states: torch.Tensor = output.last_hidden_state
        return states

    def _call_for(self, ids: torch.Tensor) -> dict[str, Any]:
        states = self.model.get_encoder()(input_ids=ids).last_hidden_state
        return {"encoder_outputs": BaseModelOutput(last_hidden_state=states), "decoder_input_ids": ids}
