"""Sequences that share tokens behind a cached prefix: the shared tokens are read once, then each branch.

After a question, the answers " YES" and "YES" are two tokens each: " Y" and "Y" stand one after the other behind the
question, each at the position that it has in its own text, and a mask keeps the second from seeing the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from geobias.models.fast.self_checks import small_beside
from geobias.models.fast.template_tokens import pad_rows

if TYPE_CHECKING:
    from geobias.models.causal import CausalLM

SHARED = 0  # in place of a branch: tokens that all rows of a fork share; branches are numbered from 1 on

FindShared = Callable[[Sequence[np.ndarray]], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""From rows to their groups: first row, row after the last, and number of shared tokens."""


@dataclass(frozen=True)
class ForkedRows:
    """Rows of tokens, joined to forks. A row that shares nothing is a fork without branches."""

    ids: list[np.ndarray]  # the tokens of each fork
    branches: list[np.ndarray]  # of each token of a fork: its branch, or SHARED
    positions: list[np.ndarray]  # of each token of a fork, in its own row
    fork: np.ndarray  # of each row
    shared_length: np.ndarray  # of each row
    branch_start: np.ndarray  # of each row: position of its branch in the fork

    @classmethod
    def join(cls, rows: Sequence[np.ndarray], runs: np.ndarray, find_shared: FindShared | None) -> ForkedRows:
        """Join rows of the same run that `find_shared` groups; without it, each row is a fork of its own."""
        forks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        row_layout: list[tuple[int, int, int]] = []  # of each row: fork, shared_length, branch_start
        bounds = np.flatnonzero(np.diff(runs, prepend=-1, append=-1))
        for first, last in pairwise(bounds.tolist()):
            run_rows = rows[first:last]
            numbers = np.arange(len(run_rows))
            groups = (numbers, numbers + 1, numbers) if find_shared is None else find_shared(run_rows)
            for start, stop, shared in zip(*groups, strict=True):
                members = run_rows[start:stop]
                shared_length = int(shared) if len(members) > 1 else len(members[0])
                pieces = [members[0][:shared_length], *(row[shared_length:] for row in members)]
                lengths = np.array([len(piece) for piece in pieces])
                starts = np.cumsum(lengths) - lengths
                branch = np.repeat(np.arange(len(pieces)), lengths)
                offset = np.where(branch == SHARED, 0, starts[branch] - shared_length)
                row_layout += [(len(forks), shared_length, int(start)) for start in starts[1:]]
                forks.append((np.concatenate(pieces), branch, np.arange(lengths.sum()) - offset))
        fork, shared_lengths, branch_start = np.array(row_layout, dtype=np.int64).reshape(-1, 3).T
        ids, branches, positions = map(list, zip(*forks, strict=True))
        return cls(ids, branches, positions, fork, shared_lengths, branch_start)

    def locate(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Positions in the forks of these positions in rows."""
        in_branch = positions - self.shared_length[rows]
        return np.where(in_branch < 0, positions, self.branch_start[rows] + in_branch)


def mask_forks(branches: np.ndarray, prefix: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """forks x 1 x tokens x (prefix and tokens): 0 where one token sees another, and the lowest number elsewhere."""
    count, length = branches.shape
    is_seen = (branches[:, None, :] == SHARED) | (branches[:, None, :] == branches[:, :, None])
    hidden = np.zeros((count, 1, length, prefix + length), dtype=bool)
    hidden[:, 0, :, prefix:] = ~(is_seen & np.tri(length, dtype=bool))
    mask = torch.zeros(hidden.shape, dtype=dtype)
    return mask.masked_fill_(torch.from_numpy(hidden), torch.finfo(dtype).min).to(device)


@torch.inference_mode()
def reads_forks(lm: CausalLM, tokens: Sequence[int]) -> bool:
    """Whether rows read as a fork behind a cached prefix give the states that they give by themselves.

    The error is compared with the difference that ignoring the mask or the positions would make.
    """
    prefix, shared, length = np.array([tokens[:2]]), 1, 3
    rows = [np.array([tokens[2], *ids]) for ids in (tokens[:2], tokens[1:3])]
    fork = ForkedRows.join(rows, np.zeros(2, dtype=int), lambda _: (np.array([0]), np.array([2]), np.array([shared])))
    ids, branches, positions = (pad_rows(part) for part in (fork.ids, fork.branches, fork.positions))
    in_order, all_seen = np.arange(ids.shape[1])[None], np.zeros_like(branches)
    try:
        by_fork, without_positions, without_mask = (
            lm.read_on(ids, lm.read_on(prefix)[1], *layout)[0][0]
            for layout in ((branches, positions), (branches, in_order), (all_seen, positions))
        )
    except Exception:  # architectures refuse such masks or positions in different ways
        return False
    alone = [lm.read_on(row[None], lm.read_on(prefix)[1])[0][0] for row in rows]
    located = [fork.locate(np.full(length, row), np.arange(length)) for row in range(len(rows))]
    return all(
        small_beside(
            torch.cat([by_fork[where] - states for where, states in zip(located, alone, strict=True)]),
            torch.cat([wrong[where] - states for where, states in zip(located, alone, strict=True)]),
            by_fork.dtype,
        )
        for wrong in (without_positions, without_mask)
    )
