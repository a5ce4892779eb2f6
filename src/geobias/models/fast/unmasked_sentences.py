"""AUL of template sentences that are put together from the tokens of their parts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from geobias.models.batching import equal_length_batches
from geobias.models.fast.template_reader import TemplateBatch, TemplateReader
from geobias.models.fast.template_tokens import ComposedSentences, TemplateSentences

if TYPE_CHECKING:
    from geobias.models.language.masked import MaskedLM


class UnmaskedSentences(TemplateReader):
    """Sentences of one length go through the model together, and their own tokens are read."""

    lm: MaskedLM

    def serves(self, sentences: TemplateSentences) -> bool:
        return True

    def batches(self, sentences: TemplateSentences) -> Iterator[TemplateBatch]:
        composed = ComposedSentences(self.tokens, sentences.regions, sentences.words, self.lm.tensor)
        compute_rows = partial(self._score_sentences, composed)
        for batch in equal_length_batches(composed.lengths, composed.lengths, self.lm.budget):
            yield sentences.positions[batch], batch, compute_rows

    @torch.inference_mode()
    def _score_sentences(self, composed: ComposedSentences, batch: np.ndarray) -> torch.Tensor:
        assert self.lm.fast.head is not None
        ids, text_tokens = composed.ids(batch)
        states = self.lm.selected_states(ids, lambda states: states[:, text_tokens])
        targets = ids[:, text_tokens]
        values = self.lm.fast.head.log_p(states.reshape(-1, states.shape[-1]), targets.reshape(-1)).double()
        total = values.view(targets.shape).sum(1)
        unknown_id = self.lm.tokenizer.unk_token_id
        unknown = (targets == (-1 if unknown_id is None else unknown_id)).sum(1).double()
        return torch.stack([total, torch.full_like(total, targets.shape[1]), unknown, torch.zeros_like(total)], 1)
