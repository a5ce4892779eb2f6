"""Scoring the sentences of a template from the tokens of their parts.

Where a model can be asked about many words at once, the contexts in which a word's tokens are read do not depend on the
region: after "People in Chad are" comes a first token; after that and " hard", others. They are laid out once for a
template, and every region is read in all of them (`AllWordsReader`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from geobias.models.batching import equal_length_batches
from geobias.models.fast.template_tokens import TemplateSentences, TemplateTokens

MIN_SHARE = 0.5  # of all words of the regions to score; fewer are sooner read sentence by sentence

# Of these regions or sentences, by number: rows of (sum of log P, tokens, unknown tokens, tokens cut off).
ComputeRows = Callable[[np.ndarray], torch.Tensor]
TemplateBatch = tuple[np.ndarray, np.ndarray, ComputeRows]  # positions among the texts, numbers, what computes them


class TemplateReader(ABC):
    """Scores the sentences of one template."""

    def __init__(self, lm: Any, tokens: TemplateTokens) -> None:
        self.lm, self.tokens = lm, tokens

    @abstractmethod
    def serves(self, sentences: TemplateSentences) -> bool:
        """Whether these sentences can be read so, and are sooner read so than one by one."""

    @abstractmethod
    def batches(self, sentences: TemplateSentences) -> Iterator[TemplateBatch]:
        """What goes through the model together."""


class AllWordsReader(TemplateReader):
    """Reads all words of a region at once.

    `targets` are the tokens that count, and `owners` the words that they belong to.
    """

    def __init__(self, lm: Any, tokens: TemplateTokens, targets: np.ndarray, owners: np.ndarray) -> None:
        super().__init__(lm, tokens)
        self.targets, self.owners = targets, owners
        words = len(tokens.words.ids)
        self.token_counts = np.bincount(owners, minlength=words)
        self.unknown_counts = np.bincount(owners, weights=targets == lm.tokenizer.unk_token_id, minlength=words)

    @abstractmethod
    def group_regions(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A number that regions must share to go through the model together, and how many tokens each one takes."""

    @abstractmethod
    def score_regions(self, regions: np.ndarray) -> torch.Tensor:
        """regions x words x (sum of log P, tokens, unknown tokens, 0), for regions of one group."""

    def serves(self, sentences: TemplateSentences) -> bool:
        regions = len(np.unique(sentences.regions))
        return len(sentences.words) >= MIN_SHARE * regions * len(self.token_counts)

    def batches(self, sentences: TemplateSentences) -> Iterator[TemplateBatch]:
        regions, region_of = np.unique(sentences.regions, return_inverse=True)
        order = np.argsort(region_of, kind="stable")
        counts = np.bincount(region_of)
        starts = np.cumsum(counts) - counts

        def find_sentences(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """The sentences of these regions, and for each the number of its region among them."""
            row = np.repeat(np.arange(len(batch)), counts[batch])
            within = np.arange(len(row)) - np.repeat(np.cumsum(counts[batch]) - counts[batch], counts[batch])
            return order[starts[batch][row] + within], row

        def compute_rows(batch: np.ndarray) -> torch.Tensor:
            which, row = find_sentences(batch)
            return self.score_regions(regions[batch])[self.lm.tensor(row), self.lm.tensor(sentences.words[which])]

        for batch in equal_length_batches(*self.group_regions(regions), self.lm.budget):
            yield sentences.positions[find_sentences(batch)[0]], batch, compute_rows

    def _sum_by_word(self, values: torch.Tensor) -> torch.Tensor:
        """From log P of every target, regions x targets, the rows of all words."""
        total = torch.zeros(len(values), len(self.token_counts), dtype=torch.float64, device=values.device)
        total.index_add_(1, self.lm.tensor(self.owners), values)
        counts = [self.lm.tensor(count).double().expand_as(total) for count in (self.token_counts, self.unknown_counts)]
        return torch.stack([total, *counts, torch.zeros_like(total)], 2)
