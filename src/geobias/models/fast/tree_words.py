"""Template sentences under a causal model: all words of a region in one pass, as a token tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from geobias.models.fast.template_reader import AllWordsReader
from geobias.models.fast.template_tokens import TemplateSentences, TemplateTokens
from geobias.models.fast.token_tree import build_token_tree

if TYPE_CHECKING:
    from geobias.models.language.causal import CausalLM

MAX_TREE = 4096  # tokens: the mask of a tree has as many rows as columns
WINDOWS = ("sliding_window", "attention_chunk_size", "window_size")  # as configurations name them


class TreeWords(AllWordsReader):
    """What the words of one template add to the prefix of each region, as a tree.

    With `whole` all tokens count; otherwise those of the word alone, and what stands after it is not read.
    """

    lm: CausalLM

    def __init__(self, lm: CausalLM, tokens: TemplateTokens, *, whole: bool) -> None:
        words = [ids[:length].tolist() for ids, length in zip(tokens.words.ids, tokens.words.lengths, strict=True)]
        after = tokens.after.ids[0, : tokens.after.lengths[0]].tolist() if whole else []
        counted_from = [0] * len(words) if whole else tokens.blanks.tolist()
        self.whole, self.tree = whole, build_token_tree([[*word, *after] for word in words], counted_from)
        super().__init__(lm, tokens, self.tree.targets, self.tree.owners)
        self.first_predicted = max(1, tokens.added_before)  # of the tokens of a prefix

    def group_regions(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.tokens.before.lengths[regions]
        return lengths, lengths + len(self.tree.nodes)

    def serves(self, sentences: TemplateSentences) -> bool:
        after = self.tokens.after
        same_end = (after.ids == after.ids[0]).all() and (after.lengths == after.lengths[0]).all()
        lengths = self.tokens.before.lengths
        fits = lengths.min() > 0 and lengths.max() + len(self.tree.nodes) <= max_tree(self.lm)
        return bool(same_end or not self.whole) and bool(fits) and super().serves(sentences)

    @torch.inference_mode()
    def score_regions(self, regions: np.ndarray) -> torch.Tensor:
        head = self.lm.fast.head
        assert head is not None
        length = int(self.tokens.before.lengths[regions[0]])
        prefixes = self.tokens.before.ids[regions, :length]
        states = self.lm.read_tree(prefixes, self.tree)
        ends = states[:, length - 1 :]  # the last state of the prefix, and those of all nodes
        which = np.arange(len(regions))[:, None] * ends.shape[1] + 1 + self.tree.predicted_at
        values = head.log_p_of_many(ends.flatten(0, 1), which.ravel(), np.tile(self.targets, len(regions)))
        rows = self._sum_by_word(values.view(len(regions), -1))
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
