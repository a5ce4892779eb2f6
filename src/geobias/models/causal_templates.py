"""Template sentences under a causal model: all words of a region in one pass (see `branches`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from geobias.models.batching import equal_length_batches
from geobias.models.branches import branches
from geobias.models.composing import Composed, OfTemplate, Part, composed
from geobias.prompts.templates import Sentences

if TYPE_CHECKING:
    from geobias.models.causal import CausalLM

ASKED_AT_LEAST = 0.5  # of all words of the regions that are asked about; a few left over are sooner read one by one


def begun_parts(lm: CausalLM, begin: list[int], sentences: Sentences, template: int, **how: Any) -> Composed | None:
    """The parts of one template's sentences, each behind the tokens that begin a text."""
    longest = lm.max_length - len(begin)
    parts = composed(
        lambda some: lm.encode(some, special=False, reserve=len(begin), **how)[0], sentences, template, longest=longest
    )
    if parts is None:
        return None
    first = np.tile(np.array(begin, dtype=np.int64), (len(parts.before.ids), 1))
    before = Part(np.concatenate([first, parts.before.ids], axis=1), parts.before.lengths + len(begin))
    return replace(parts, before=before, added_before=len(begin))


Scores = Callable[[np.ndarray], torch.Tensor]  # of the sentences of these regions


class TemplateBranches:
    """What the words of one template add to the beginning of each region, as a tree.

    With `whole` all tokens count; otherwise those of the word alone, and what stands after it is not read.
    """

    def __init__(self, lm: CausalLM, parts: Composed, *, whole: bool) -> None:
        self.lm, self.parts, self.whole = lm, parts, whole
        words = [ids[:length].tolist() for ids, length in zip(parts.words.ids, parts.words.lengths, strict=True)]
        after = parts.after.ids[0, : parts.after.lengths[0]].tolist() if whole else []
        first = [0] * len(words) if whole else parts.blanks.tolist()
        self.tree = branches([[*word, *after] for word in words], first)
        self.counted = np.bincount(self.tree.owners, minlength=len(words))
        self.unknown = np.bincount(
            self.tree.owners, weights=self.tree.tokens == lm.tokenizer.unk_token_id, minlength=len(words)
        )
        self.first = max(1, parts.added_before)  # of the tokens of a beginning, the first that is foretold

    def serves(self, some: OfTemplate) -> bool:
        """Whether it is the better way for these sentences, and one that fits."""
        after = self.parts.after
        alike = (after.ids == after.ids[0]).all() and (after.lengths == after.lengths[0]).all()
        longest = int(self.parts.before.lengths.max()) + len(self.tree.nodes)
        asked = len(some.words) / (len(np.unique(some.regions)) * len(self.counted))
        return (alike or not self.whole) and longest <= self.lm.token_budget and asked >= ASKED_AT_LEAST

    def batches(self, some: OfTemplate) -> Iterator[tuple[np.ndarray, np.ndarray, Scores]]:
        """Which of the sentences go together, their regions' numbers, and what scores them for such numbers."""
        regions, region_of = np.unique(some.regions, return_inverse=True)
        order = np.argsort(region_of, kind="stable")
        ends = np.cumsum(np.bincount(region_of))
        starts = ends - np.bincount(region_of)

        def sentences(these: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """The sentences of these regions, and for each the number of its region among them."""
            counts = ends[these] - starts[these]
            row = np.repeat(np.arange(len(these)), counts)
            within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
            return order[starts[these][row] + within], row

        def scores(these: np.ndarray) -> torch.Tensor:
            which, row = sentences(these)
            return self.scores(regions[these])[self.lm.tensor(row), self.lm.tensor(some.words[which])]

        lengths = self.parts.before.lengths[regions]
        for these in equal_length_batches(lengths, lengths + len(self.tree.nodes), self.lm.token_budget):
            yield some.at[sentences(these)[0]], these, scores

    @torch.inference_mode()
    def scores(self, regions: np.ndarray) -> torch.Tensor:
        """regions x words x (sum of log P, tokens, unknown ones, 0), for regions with beginnings of one length."""
        tree, lm = self.tree, self.lm
        length = int(self.parts.before.lengths[regions[0]])
        begun = self.parts.before.ids[regions, :length]
        hidden = lm.read_branches(begun, tree)
        ends = hidden[:, length - 1 :]  # the last state of the beginning, and those of all nodes
        which = np.arange(len(regions))[:, None] * ends.shape[1] + 1 + tree.read_at
        values = lm.log_probabilities(ends.flatten(0, 1), which.ravel(), np.tile(tree.tokens, len(regions)))
        total = torch.zeros(len(regions), len(self.counted), dtype=torch.float64, device=lm.device)
        total.index_add_(1, lm.tensor(tree.owners), values.view(len(regions), -1))
        counted, unknown = self.counted[None], self.unknown[None]
        if self.whole and length > self.first:
            own = begun[:, self.first :]
            before = hidden[:, self.first - 1 : length - 1].flatten(0, 1)
            total += lm.log_p(before, lm.tensor(own.ravel())).double().view(len(regions), -1).sum(1, keepdim=True)
            counted = counted + own.shape[1]
            unknown = unknown + (own == lm.tokenizer.unk_token_id).sum(1, keepdims=True)
        beside = (lm.tensor(one).double().expand_as(total) for one in (counted, unknown))
        return torch.stack([total, *beside, torch.zeros_like(total)], 2)
