"""Template sentences under a causal model: all words of a region in one pass (see `branches`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from geobias.models.fast.composing import Composed, OfTemplate, Part, composed
from geobias.models.fast.token_tree import branches
from geobias.models.language.template_words import TemplateWords
from geobias.texts.templates import Sentences

if TYPE_CHECKING:
    from geobias.models.language.causal import CausalLM


def begun_parts(
    lm: CausalLM, begin: list[int], sentences: Sentences, template: int, *, knows_special: bool
) -> Composed | None:
    """The parts of one template's sentences, each behind the tokens that begin a text."""
    longest = lm.max_length - len(begin)

    def tokenise(some: Sequence[str]) -> list[Any]:
        return lm.encode(some, special=False, reserve=len(begin), knows_special=knows_special)[0]

    parts = composed(tokenise, sentences, template, longest=longest)
    if parts is None:
        return None
    first = np.tile(np.array(begin, dtype=np.int64), (len(parts.before.ids), 1))
    before = Part(np.concatenate([first, parts.before.ids], axis=1), parts.before.lengths + len(begin))
    return replace(parts, before=before, added_before=len(begin))


class BranchingWords(TemplateWords):
    """What the words of one template add to the beginning of each region, as a tree.

    With `whole` all tokens count; otherwise those of the word alone, and what stands after it is not read.
    """

    lm: CausalLM

    def __init__(self, lm: CausalLM, parts: Composed, *, whole: bool) -> None:
        words = [ids[:length].tolist() for ids, length in zip(parts.words.ids, parts.words.lengths, strict=True)]
        after = parts.after.ids[0, : parts.after.lengths[0]].tolist() if whole else []
        first = [0] * len(words) if whole else parts.blanks.tolist()
        self.whole, self.tree = whole, branches([[*word, *after] for word in words], first)
        super().__init__(lm, parts, self.tree.tokens, self.tree.owners)
        self.first = max(1, parts.added_before)  # of the tokens of a beginning, the first that is foretold

    def alike(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.parts.before.lengths[regions]
        return lengths, lengths + len(self.tree.nodes)

    def serves(self, some: OfTemplate) -> bool:
        after = self.parts.after
        same_end = (after.ids == after.ids[0]).all() and (after.lengths == after.lengths[0]).all()
        lengths = self.parts.before.lengths
        fits = lengths.min() > 0 and lengths.max() + len(self.tree.nodes) <= self.lm.longest_tree
        return bool(same_end or not self.whole) and bool(fits) and super().serves(some)

    @torch.inference_mode()
    def scores(self, regions: np.ndarray) -> torch.Tensor:
        length = int(self.parts.before.lengths[regions[0]])
        begun = self.parts.before.ids[regions, :length]
        hidden = self.lm.read_branches(begun, self.tree)
        ends = hidden[:, length - 1 :]  # the last state of the beginning, and those of all nodes
        which = np.arange(len(regions))[:, None] * ends.shape[1] + 1 + self.tree.read_at
        values = self.lm.log_probabilities(ends.flatten(0, 1), which.ravel(), np.tile(self.tokens, len(regions)))
        rows = self._rows(values.view(len(regions), -1))
        if self.whole and length > self.first:
            own = begun[:, self.first :]
            before = hidden[:, self.first - 1 : length - 1].flatten(0, 1)
            said = self.lm.log_p(before, self.lm.tensor(own.ravel())).double().view(len(regions), -1)
            rows[..., 0] += said.sum(1, keepdim=True)
            rows[..., 1] += own.shape[1]
            rows[..., 2] += self.lm.tensor((own == self.lm.tokenizer.unk_token_id).sum(1, keepdims=True))
        return rows
