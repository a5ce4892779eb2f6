"""Many continuations of one prefix in a single pass of a causal model: a tree of tokens, read as one text.

After "People in Chad are" come " kind.", " shy.", " hard-working." and a hundred more. All their tokens stand one after
the other behind the prefix; a mask lets each of them see the prefix and the tokens that lead to it, and it gets the
position that it has in its own sentence. What two continuations share stands there once. No keys and values are kept or
copied, and regions whose prefixes have one length differ only in the ids of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from geobias.models.fast.fast_path import small_beside
from geobias.models.fast.templates import AllWordsReader, TemplateSentences, TemplateTokens

if TYPE_CHECKING:
    from geobias.models.causal import CausalLM

MAX_TREE = 4096  # tokens: the mask of a tree has as many rows as columns
WINDOWS = ("sliding_window", "attention_chunk_size", "window_size")  # as configurations name them
PREFIX_END = -1  # the node at which the first token of a continuation is predicted: the end of the prefix


@dataclass(frozen=True, eq=False)
class TokenTree:
    """Continuations as a tree. The last token of each is in no node, since nothing is predicted after it."""

    nodes: np.ndarray  # token ids
    parents: np.ndarray  # the node before each; PREFIX_END for the first
    depths: np.ndarray
    # For every token that counts, ordered by the node that predicts it: that node, the token, its continuation.
    predicted_at: np.ndarray
    targets: np.ndarray
    owners: np.ndarray
    _masks: dict[int, torch.Tensor] = field(default_factory=dict, init=False, repr=False)

    def positions(self, prefix: int) -> np.ndarray:
        """The position of each token in its own sentence, after a prefix of so many tokens."""
        return np.concatenate([np.arange(prefix), prefix + self.depths])

    def visible(self, prefix: int) -> np.ndarray:
        """tokens x tokens: whether the first sees the second."""
        sees = np.zeros((prefix + len(self.nodes),) * 2, dtype=bool)
        sees[:prefix, :prefix] = np.tri(prefix, dtype=bool)
        for node, parent in enumerate(self.parents):  # parents stand before their children
            row = prefix + node
            sees[row] = sees[prefix + parent]  # the last token of the prefix for PREFIX_END
            sees[row, row] = True
        return sees

    def mask(self, prefix: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """The same as an additive attention mask for all texts and heads."""
        if prefix not in self._masks:
            self._masks[prefix] = additive_mask(self.visible(prefix), dtype, device)
        return self._masks[prefix]


def additive_mask(visible: np.ndarray, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """1 x 1 x tokens x tokens: 0 where one token sees another, and the lowest number elsewhere."""
    hidden = torch.from_numpy(~visible)
    mask = torch.zeros(hidden.shape, dtype=dtype).masked_fill_(hidden, torch.finfo(dtype).min)
    return mask[None, None].to(device)


def build_token_tree(continuations: Sequence[Sequence[int]], counted_from: Sequence[int]) -> TokenTree:
    """The tree of these continuations; of each, the tokens from a given one on count."""
    places: dict[tuple[int, ...], int] = {(): PREFIX_END}
    nodes: list[tuple[int, int, int]] = []  # token, parent, depth
    reads = []
    for owner, (continuation, first) in enumerate(zip(continuations, counted_from, strict=True)):
        tokens = tuple(continuation)
        for place, token in enumerate(tokens):
            before = tokens[:place]
            if before not in places:
                places[before] = len(nodes)
                nodes.append((before[-1], places[before[:-1]], place - 1))
            if place >= first:
                reads.append((places[before], token, owner))
    reads.sort(key=lambda read: read[0])
    columns = (column for rows in (nodes, reads) for column in np.array(rows, dtype=np.int64).reshape(-1, 3).T)
    return TokenTree(*columns)


@torch.inference_mode()
def reads_token_trees(core: Any, ids: Sequence[int]) -> bool:
    """Whether continuations of a few tokens, read as a tree, give the states that they give by themselves.

    Not every architecture heeds such masks and positions. The error is compared with the difference that ignoring
    either of them would make.
    """
    parameter = next(core.parameters())
    device, dtype = parameter.device, parameter.dtype
    prefix, ends = list(ids[:2]), [ids[2:], [ids[2], *ids[:2]], ids[3:]]
    tree = build_token_tree(ends, [0] * len(ends))
    row = torch.tensor([[*prefix, *tree.nodes]], device=device)
    length = row.shape[1]
    rows_in_order = torch.arange(length, device=device)[None]
    causal = additive_mask(np.tri(length, dtype=bool), dtype, device)
    positions = torch.from_numpy(tree.positions(2)).to(device)[None]

    def read(positions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        output = core(input_ids=row, position_ids=positions, attention_mask=mask, use_cache=False)
        states: torch.Tensor = output.last_hidden_state[0]
        return states

    try:
        by_tree = read(positions, tree.mask(2, dtype, device))
        ignoring = [read(rows_in_order, tree.mask(2, dtype, device)), read(positions, causal)]
    except Exception:  # architectures refuse such masks or positions in different ways
        return False
    expected = by_tree.clone()
    for owner, end in enumerate(ends):
        alone = core(input_ids=torch.tensor([[*prefix, *end[:-1]]], device=device)).last_hidden_state[0, 1:]
        expected[2 + tree.predicted_at[tree.owners == owner]] = alone
    places = 2 + np.unique(tree.predicted_at)
    error = (by_tree - expected)[places]
    return all(small_beside(error, (wrong - expected)[places], dtype) for wrong in ignoring)


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
