"""Template sentences under a masked model, their word masked: "People in Chad are [MASK]." asks for many words at once.

A word's token is read where it and the later tokens of the word are masked, and its earlier ones stand. Words of one
length that begin alike are read in the same sentence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from geobias.models.batching import equal_length_batches
from geobias.models.fast.template_reader import AllWordsReader
from geobias.models.fast.template_tokens import ComposedSentences, TemplateTokens, make_rows

if TYPE_CHECKING:
    from geobias.models.language.masked import MaskedLM

BATCHES_SORTED = 8  # so many together that sentences of one length, of which a region has few, fill a batch


class MaskedWords(AllWordsReader):
    """In which masked sentences the tokens of each word are read."""

    lm: MaskedLM

    def __init__(self, lm: MaskedLM, tokens: TemplateTokens) -> None:
        mask = lm.tokenizer.mask_token_id
        contexts: dict[tuple[int, ...], int] = {}
        reads = []
        for owner, (ids, length) in enumerate(zip(tokens.words.ids, tokens.words.lengths, strict=True)):
            word = ids[:length].tolist()
            for place in range(tokens.blanks[owner], length):
                masked = (place, *word[:place], *[mask] * (length - place))
                reads.append((contexts.setdefault(masked, len(contexts)), word[place], owner))
        self.context_of, targets, owners = np.array(reads, dtype=np.int64).reshape(-1, 3).T
        super().__init__(lm, tokens, targets, owners)
        self.places = np.array([place for place, *_ in contexts])
        self.contexts = replace(tokens, words=make_rows([masked for _, *masked in contexts]))

    def group_regions(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        around = self.tokens.before.lengths[regions] + self.tokens.after.lengths[regions]
        cost = around * len(self.places) + self.contexts.words.lengths.sum()
        return np.zeros_like(regions), cost // BATCHES_SORTED

    @torch.inference_mode()
    def score_regions(self, regions: np.ndarray) -> torch.Tensor:
        assert self.lm.fast.head is not None
        region, context = (axis.ravel() for axis in np.indices((len(regions), len(self.places))))
        composed = ComposedSentences(self.contexts, regions[region], context, self.lm.tensor)
        positions = self.tokens.before.lengths[regions[region]] + self.places[context]
        states: torch.Tensor | None = None
        for batch in equal_length_batches(composed.lengths, composed.lengths, self.lm.budget):
            batch_states = self.lm.states_at(composed.ids(batch)[0], self.lm.tensor(positions[batch]))
            if states is None:
                states = batch_states.new_empty(len(region), batch_states.shape[1])
            states[self.lm.tensor(batch)] = batch_states
        assert states is not None
        which = np.arange(len(regions))[:, None] * len(self.places) + self.context_of
        values = self.lm.fast.head.log_p_of_many(states, which.ravel(), np.tile(self.targets, len(regions)))
        return self._sum_by_word(values.view(len(regions), -1))
