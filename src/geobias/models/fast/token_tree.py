"""Many continuations of one prefix in a single pass of a causal model: a tree of tokens, read as one text.

After "People in Chad are" come " kind.", " shy.", " hard-working." and a hundred more. All their tokens stand one after
the other behind the prefix; a mask lets each of them see the prefix and the tokens that lead to it, and it gets the
position that it has in its own sentence. What two continuations share stands there once. No keys and values are kept or
copied, and regions whose prefixes have one length differ only in the ids of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from geobias.models.fast.self_checks import small_beside

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
