"""Scoring the sentences of a template from the tokens of their parts.

Where a model can score many words at once, the contexts in which a word's tokens are read do not depend on the
region: after "People in Chad are" comes a first token; after that and " hard", others. They are laid out once for a
template, and every region is read in all of them (`AllWordsReader`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from geobias.models.batching import equal_length_batches
from geobias.models.fast.template_tokens import (
    ComposedSentences,
    TemplateSentences,
    TemplateTokens,
    TokenRows,
    pad_rows,
)
from geobias.models.fast.token_tree import build_token_tree

if TYPE_CHECKING:
    from geobias.models.causal import CausalLM
    from geobias.models.masked import MaskedLM

MIN_SHARE = 0.5  # of all words of the regions to score; fewer are sooner read sentence by sentence
BATCHES_SORTED = 8  # so many together that sentences of one length, of which a region has few, fill a batch
MAX_TREE = 4096  # tokens: the mask of a tree has as many rows as columns
WINDOWS = ("sliding_window", "attention_chunk_size", "window_size")  # as configurations name them

# Of these regions or sentences, by number: rows of (sum of log P, tokens, unknown tokens, tokens cut off).
ComputeRows = Callable[[np.ndarray], np.ndarray]
TemplateBatch = tuple[np.ndarray, np.ndarray, ComputeRows]  # positions among the texts, numbers, what computes them


class TemplateReader(ABC):
    """Scores the sentences of one template."""

    def __init__(self, lm: Any, tokens: TemplateTokens) -> None:
        self.lm, self.tokens = lm, tokens

    def serves(self, sentences: TemplateSentences) -> bool:
        """Whether these sentences can be read so, and are sooner read so than one by one."""
        return True

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

        def compute_rows(batch: np.ndarray) -> np.ndarray:
            which, row = find_sentences(batch)
            rows = self.score_regions(regions[batch])[self.lm.tensor(row), self.lm.tensor(sentences.words[which])]
            return np.asarray(rows.cpu())

        for batch in equal_length_batches(*self.group_regions(regions), self.lm.budget):
            yield sentences.positions[find_sentences(batch)[0]], batch, compute_rows

    def _read_words(self, states: torch.Tensor, which: np.ndarray) -> torch.Tensor:
        """The rows of all words; `which`, regions x targets, says at which state each target is read."""
        targets = np.tile(self.targets, len(which))
        values = self.lm.fast.head.log_p_of_many(states, which.ravel(), targets).view(which.shape)
        total = torch.zeros(len(values), len(self.token_counts), dtype=torch.float64, device=values.device)
        total.index_add_(1, self.lm.tensor(self.owners), values)
        counts = [self.lm.tensor(count).double().expand_as(total) for count in (self.token_counts, self.unknown_counts)]
        return torch.stack([total, *counts, torch.zeros_like(total)], 2)


class UnmaskedSentences(TemplateReader):
    """AUL: sentences of one length go through a masked model together, and their own tokens are read."""

    lm: MaskedLM

    def batches(self, sentences: TemplateSentences) -> Iterator[TemplateBatch]:
        composed = ComposedSentences(self.tokens, sentences.regions, sentences.words, self.lm.tensor)
        compute_rows = partial(self._score_sentences, composed)
        for batch in equal_length_batches(composed.lengths, composed.lengths, self.lm.budget):
            yield sentences.positions[batch], batch, compute_rows

    @torch.inference_mode()
    def _score_sentences(self, composed: ComposedSentences, batch: np.ndarray) -> np.ndarray:
        assert self.lm.fast.head is not None
        ids, text_tokens = composed.ids(batch)
        states = self.lm.states(ids)[:, text_tokens]
        targets = ids[:, text_tokens]
        values = self.lm.fast.head.log_p(states.reshape(-1, states.shape[-1]), targets.reshape(-1)).double()
        total = values.view(targets.shape).sum(1)
        unknown_id = self.lm.tokenizer.unk_token_id
        unknown = (targets == (-1 if unknown_id is None else unknown_id)).sum(1).double()
        rows = [total, torch.full_like(total, targets.shape[1]), unknown, torch.zeros_like(total)]
        return np.asarray(torch.stack(rows, 1).cpu())


class MaskedWords(AllWordsReader):
    """Words under a masked model: "People in Chad are [MASK]." asks for many of them at once.

    A word's token is read where it and the later tokens of the word are masked, and its earlier ones stand. Words of
    one length that begin alike are read in the same sentence.
    """

    lm: MaskedLM

    def __init__(self, lm: MaskedLM, tokens: TemplateTokens) -> None:
        mask = lm.mask
        contexts: dict[tuple[int, ...], int] = {}
        reads = []
        for owner, word in enumerate(tokens.words.rows()):
            for place in range(tokens.blanks[owner], len(word)):
                masked = (place, *word[:place], *[mask] * (len(word) - place))
                reads.append((contexts.setdefault(masked, len(contexts)), word[place], owner))
        self.context_of, targets, owners = np.array(reads, dtype=np.int64).reshape(-1, 3).T
        super().__init__(lm, tokens, targets, owners)
        self.places = np.array([place for place, *_ in contexts])
        masked_words = [masked for _, *masked in contexts]
        lengths = np.array([len(masked) for masked in masked_words], dtype=np.int64)
        self.contexts = replace(tokens, words=TokenRows(pad_rows(masked_words), lengths))

    def group_regions(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        around = self.tokens.before.lengths[regions] + self.tokens.after.lengths[regions]
        cost = around * len(self.places) + self.contexts.words.lengths.sum()
        return np.zeros_like(regions), cost // BATCHES_SORTED

    @torch.inference_mode()
    def score_regions(self, regions: np.ndarray) -> torch.Tensor:
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
        return self._read_words(states, which)


class TreeWords(AllWordsReader):
    """What the words of one template add to the prefix of each region under a causal model, as a token tree.

    With `whole` all tokens count; otherwise those of the word alone, and the text after it is not read.
    """

    lm: CausalLM

    def __init__(self, lm: CausalLM, tokens: TemplateTokens, *, whole: bool) -> None:
        after = tokens.after.row(0) if whole else []
        counted_from = np.zeros_like(tokens.blanks) if whole else tokens.blanks
        self.whole = whole
        self.tree = build_token_tree([[*word, *after] for word in tokens.words.rows()], counted_from.tolist())
        super().__init__(lm, tokens, self.tree.targets, self.tree.owners)
        self.first_predicted = max(1, tokens.added_before)  # of the tokens of a prefix

    def group_regions(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.tokens.before.lengths[regions]
        return lengths, lengths + len(self.tree.nodes)

    def serves(self, sentences: TemplateSentences) -> bool:
        after, lengths = self.tokens.after, self.tokens.before.lengths
        same_end = not self.whole or after.is_always(after.row(0))
        fits = lengths.min() > 0 and lengths.max() + len(self.tree.nodes) <= max_tree(self.lm)
        return same_end and bool(fits) and super().serves(sentences)

    @torch.inference_mode()
    def score_regions(self, regions: np.ndarray) -> torch.Tensor:
        head = self.lm.fast.head
        assert head is not None
        length = int(self.tokens.before.lengths[regions[0]])
        prefixes = self.tokens.before.ids[regions, :length]
        states = self.lm.read_tree(prefixes, self.tree)
        ends = states[:, length - 1 :]  # the last state of the prefix, and those of all nodes
        which = np.arange(len(regions))[:, None] * ends.shape[1] + 1 + self.tree.predicted_at
        rows = self._read_words(ends.flatten(0, 1), which)
        if self.whole and length > self.first_predicted:
            targets = prefixes[:, self.first_predicted :]
            before = states[:, self.first_predicted - 1 : length - 1].flatten(0, 1)
            log_p = head.log_p(before, self.lm.tensor(targets.ravel())).double().view(len(regions), -1)
            rows[..., 0] += log_p.sum(1, keepdim=True)
            rows[..., 1] += targets.shape[1]
            rows[..., 2] += self.lm.tensor((targets == self.lm.tokenizer.unk_token_id).sum(1, keepdims=True))
        return rows


def max_tree(lm: CausalLM) -> int:
    """The most tokens of a prefix and its tree: some models look back only so far, or by place in a row."""
    config = lm.model.config.get_text_config()
    windows = (getattr(config, name, None) for name in WINDOWS)
    return min(lm.token_budget, lm.max_length, MAX_TREE, *(window for window in windows if window))
