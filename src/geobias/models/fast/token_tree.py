"""Many continuations of one beginning in a single pass of a causal model: a tree, read as one text.

After "People in Chad are" come " kind.", " shy.", " hard-working." and a hundred more. All their tokens stand one after
the other behind the beginning; a mask lets each of them see the beginning and the tokens that lead to it, and it is
told the position that it has in its own sentence. What two continuations have in common stands there once. No key or
value is kept or copied, and regions whose beginnings are of one length differ in nothing but the ids of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

BEGINNING = -1  # where the first token of a continuation is foretold: at the end of the beginning


@dataclass(frozen=True, eq=False)
class Branches:
    """Continuations as a tree of tokens. The last one of each is in no node: nothing is foretold after it."""

    nodes: np.ndarray  # token ids
    parents: np.ndarray  # the node before each; BEGINNING for the first
    depths: np.ndarray
    # For every token that counts, ordered by where it is foretold: that node, the token, and whose it is.
    read_at: np.ndarray
    tokens: np.ndarray
    owners: np.ndarray
    _masks: dict[int, torch.Tensor] = field(default_factory=dict, repr=False)

    def node(self, path: Sequence[int]) -> int:
        """The node that these tokens lead to."""
        at = BEGINNING
        for token in path:
            at = int(np.flatnonzero((self.parents == at) & (self.nodes == token))[0])
        return at

    def positions(self, beginning: int) -> np.ndarray:
        """The place of each token in its own sentence, after a beginning of so many tokens."""
        return np.concatenate([np.arange(beginning), beginning + self.depths])

    def sight(self, beginning: int) -> np.ndarray:
        """Which token sees which."""
        sees = np.zeros((beginning + len(self.nodes),) * 2, dtype=bool)
        sees[:beginning, :beginning] = np.tri(beginning, dtype=bool)
        for node, parent in enumerate(self.parents):  # parents stand before their children
            at = beginning + node
            sees[at] = sees[beginning + parent]  # the last one of the beginning for BEGINNING
            sees[at, at] = True
        return sees

    def mask(self, beginning: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """The same, to be added to the attention of all texts and heads of a model."""
        if beginning not in self._masks:
            hidden = torch.from_numpy(~self.sight(beginning))
            added = torch.zeros(hidden.shape, dtype=dtype).masked_fill_(hidden, torch.finfo(dtype).min)
            self._masks[beginning] = added[None, None].to(device)
        return self._masks[beginning]


def branches(continuations: Sequence[Sequence[int]], counted_from: Sequence[int]) -> Branches:
    """The tree of these continuations. Of each the tokens from a certain one on count."""
    places: dict[tuple[int, ...], int] = {(): BEGINNING}
    nodes: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    reads = []
    for owner, (continuation, first) in enumerate(zip(continuations, counted_from, strict=True)):
        tokens = tuple(continuation)
        for at, token in enumerate(tokens):
            before = tokens[:at]
            if before not in places:
                places[before] = len(nodes)
                nodes.append(before[-1])
                parents.append(places[before[:-1]])
                depths.append(at - 1)
            if at >= first:
                reads.append((places[before], token, owner))
    reads.sort(key=lambda read: read[0])
    read_at, read, owners = np.array(reads, dtype=np.int64).reshape(-1, 3).T
    node_ids, parent_ids, node_depths = (np.array(part, dtype=np.int64) for part in (nodes, parents, depths))
    return Branches(node_ids, parent_ids, node_depths, read_at, read, owners)
