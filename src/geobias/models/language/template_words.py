"""All words of a template for some regions at a time, where a model can be asked about many words at once.

Which contexts a word's tokens are read in does not depend on the region: after "People in Chad are" comes a first
token; after that and " hard", others. They are laid out once for a template, and every region is read in all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from geobias.models.batching import equal_length_batches
from geobias.models.fast.composing import Composed, OfTemplate

ASKED_AT_LEAST = 0.5  # of all words of the regions that are asked about; a few left over are sooner read one by one

Scores = Callable[[np.ndarray], torch.Tensor]  # of the sentences of these regions


class TemplateWords(ABC):
    """The words of one template; for every token of them that counts the token, and which word's it is."""

    def __init__(self, lm: Any, parts: Composed, tokens: np.ndarray, owners: np.ndarray) -> None:
        self.lm, self.parts, self.tokens, self.owners = lm, parts, tokens, owners
        words = len(parts.words.ids)
        self.counted = np.bincount(owners, minlength=words)
        self.unknown = np.bincount(owners, weights=tokens == lm.tokenizer.unk_token_id, minlength=words)

    @abstractmethod
    def alike(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A number that regions must have in common to go together, and how many tokens each takes."""

    @abstractmethod
    def scores(self, regions: np.ndarray) -> torch.Tensor:
        """regions x words x (sum of log P, tokens, unknown ones, 0), for regions that are alike."""

    def serves(self, some: OfTemplate) -> bool:
        """Whether it is the better way for these sentences, and a possible one."""
        return len(some.words) >= ASKED_AT_LEAST * len(np.unique(some.regions)) * len(self.counted)

    def batches(self, some: OfTemplate) -> Iterator[tuple[np.ndarray, np.ndarray, Scores]]:
        """Which of the sentences go together, their regions' numbers, and what scores them for such numbers."""
        regions, region_of = np.unique(some.regions, return_inverse=True)
        order = np.argsort(region_of, kind="stable")
        counts = np.bincount(region_of)
        starts = np.cumsum(counts) - counts

        def sentences(these: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """The sentences of these regions, and for each the number of its region among them."""
            row = np.repeat(np.arange(len(these)), counts[these])
            within = np.arange(len(row)) - np.repeat(np.cumsum(counts[these]) - counts[these], counts[these])
            return order[starts[these][row] + within], row

        def scores(these: np.ndarray) -> torch.Tensor:
            which, row = sentences(these)
            return self.scores(regions[these])[self.lm.tensor(row), self.lm.tensor(some.words[which])]

        for these in equal_length_batches(*self.alike(regions), self.lm.budget):
            yield some.at[sentences(these)[0]], these, scores

    def _rows(self, values: torch.Tensor) -> torch.Tensor:
        """From log P of every token, regions x tokens, the rows of all words."""
        total = torch.zeros(len(values), len(self.counted), dtype=torch.float64, device=values.device)
        total.index_add_(1, self.lm.tensor(self.owners), values)
        beside = (self.lm.tensor(one).double().expand_as(total) for one in (self.counted, self.unknown))
        return torch.stack([total, *beside, torch.zeros_like(total)], 2)
