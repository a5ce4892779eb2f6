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
from geobias.models.fast.composing import Composed, ComposedRows, part
from geobias.models.language.template_words import TemplateWords

if TYPE_CHECKING:
    from geobias.models.language.masked import MaskedLM


BATCHES_SORTED = 8  # so much together that sentences of one length, of which a region has few, fill a batch


class MaskedWords(TemplateWords):
    """In which masked sentences the tokens of each word are read."""

    lm: MaskedLM

    def __init__(self, lm: MaskedLM, parts: Composed) -> None:
        mask = lm.tokenizer.mask_token_id
        contexts: dict[tuple[int, ...], int] = {}
        reads = []
        for owner, (ids, length) in enumerate(zip(parts.words.ids, parts.words.lengths, strict=True)):
            word = ids[:length].tolist()
            for at in range(parts.blanks[owner], length):
                masked = (at, *word[:at], *[mask] * (length - at))
                reads.append((contexts.setdefault(masked, len(contexts)), word[at], owner))
        self.read_at, tokens, owners = np.array(reads, dtype=np.int64).reshape(-1, 3).T
        super().__init__(lm, parts, tokens, owners)
        self.places = np.array([at for at, *_ in contexts])
        self.contexts = replace(parts, words=part([masked for _, *masked in contexts]))

    def alike(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        around = self.parts.before.lengths[regions] + self.parts.after.lengths[regions]
        taken = around * len(self.places) + self.contexts.words.lengths.sum()
        return np.zeros_like(regions), taken // BATCHES_SORTED

    @torch.inference_mode()
    def scores(self, regions: np.ndarray) -> torch.Tensor:
        region, context = (axis.ravel() for axis in np.indices((len(regions), len(self.places))))
        rows = ComposedRows(self.contexts, regions[region], context, self.lm.device)
        at = self.parts.before.lengths[regions[region]] + self.places[context]
        states: torch.Tensor | None = None
        for some in equal_length_batches(rows.lengths, rows.lengths, self.lm.budget):
            found = self.lm.states_at(rows.ids(some)[0], self.lm.tensor(at[some]))
            if states is None:
                states = found.new_empty(len(region), found.shape[1])
            states[self.lm.tensor(some)] = found
        assert states is not None
        which = np.arange(len(regions))[:, None] * len(self.places) + self.read_at
        values = self.lm.log_probabilities(states, which.ravel(), np.tile(self.tokens, len(regions)))
        return self._rows(values.view(len(regions), -1))
