"""Texts that begin alike, under a causal model: what they share is read once, and kept as keys and values.

What stands behind a cached prefix may share tokens, too. After a question, the answers " YES" and "YES" are two tokens
each: " Y" and "Y" stand one after the other behind the question, each at the position that it has in its own text, and
a mask keeps the second from seeing the first (`ForkedRows`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from geobias.models.fast.fast_path import small_beside
from geobias.models.fast.templates import pad_rows
from geobias.models.fast.token_tree import max_tree
from geobias.models.pretrained import equal_length_batches, like_length_batches

if TYPE_CHECKING:
    from geobias.models.causal import CausalLM, CausalTexts

Runs = tuple[np.ndarray, np.ndarray, np.ndarray]  # first text, the one after the last, tokens shared
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


def find_runs(rows: Sequence[np.ndarray], budget: int) -> Runs:
    """Runs of consecutive rows such that few tokens remain to be read, and in each run no more than `budget`.

    A run of n rows that share p tokens saves (n - 1) p of them. The next row joins if that saves no less, though it
    may shorten what all share; the words of one region stay together, and the next region begins a new run.
    """
    runs: list[tuple[int, int, int]] = []
    row = 0
    while row < len(rows):
        first, common, members = row, len(rows[row]), 1
        tokens = len(rows[row])
        while row + 1 < len(rows):
            with_next = _count_shared(rows[row], rows[row + 1], common)
            if with_next == 0 or members * with_next < (members - 1) * common:
                break
            if tokens + len(rows[row + 1]) - members * with_next > budget:
                break
            row, common, members = row + 1, with_next, members + 1
            tokens += len(rows[row])
        row += 1
        runs.append((first, row, common if members > 1 else 0))
    start, stop, shared = np.array(runs, dtype=np.int64).reshape(-1, 3).T
    return start, stop, shared


def _count_shared(row: np.ndarray, other: np.ndarray, limit: int) -> int:
    """How many first tokens the two have in common, of at most `limit`."""
    length = min(len(row), len(other), limit)
    differs = row[:length] != other[:length]
    return int(np.argmax(differs)) if differs.any() else length


def score_runs(lm: CausalLM, texts: CausalTexts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batch by batch: positions among the texts, and the sum of log P over the tokens that count of each."""
    text_starts = find_row_starts(texts.inputs)
    longest = text_starts[1:] - 1
    start, stop, shared = find_runs([texts.inputs[text] for text in longest], lm.token_budget)
    costs = np.add.reduceat(texts.costs[longest], start) - (stop - start - 1) * shared
    # Texts that share nothing are put together by their own length.
    groups = np.where(shared > 0, shared, -texts.shapes[longest[start]])
    for batch in equal_length_batches(groups, costs, lm.budget):
        positions = np.concatenate([np.arange(text_starts[start[run]], text_starts[stop[run]]) for run in batch])
        total = lm.fitting(
            batch, lambda runs: _sum_runs(lm, texts, text_starts, start[runs], stop[runs], int(shared[runs[0]]))
        )
        yield positions, total


def find_row_starts(inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Where rows of neighbours begin that are read together, each a prefix of the next; and the end of the last row.

    The states of the longest, which comes last, are those of all: the answers to one question differ in their last
    tokens, and these are not read.
    """
    begins = (
        len(text) == 0 or _count_shared(text, next_text, len(text)) < len(text) for text, next_text in pairwise(inputs)
    )
    return np.flatnonzero([True, *begins, True])


def _sum_runs(
    lm: CausalLM, texts: CausalTexts, text_starts: np.ndarray, start: np.ndarray, stop: np.ndarray, shared: int
) -> np.ndarray:
    """For the texts of runs that share equally many tokens: the sum of log P over the tokens that count.

    A run is one of rows; row number i is read for the texts from `text_starts[i]` to before `text_starts[i + 1]`.
    """
    assert lm.fast.head is not None
    rows = np.concatenate([np.arange(*run) for run in zip(start, stop, strict=True)])
    members = text_starts[rows + 1] - 1
    run_of = np.repeat(np.arange(len(start)), stop - start)
    states: list[torch.Tensor] = []
    cache, state_count = None, 0
    if shared:
        prefix_states, cache = lm.read_on(
            np.stack([texts.inputs[text][:shared] for text in text_starts[start + 1] - 1])
        )
        states.append(prefix_states.flatten(0, 1))
        state_count = len(states[0])
    rests = [texts.inputs[text][shared:] for text in members]
    room = max_tree(lm) - shared
    may_fork = cache is not None and lm.fast.forked_rows and max(map(len, rests)) <= room
    forks = ForkedRows.join(rests, run_of, partial(find_runs, budget=room) if may_fork else None)
    run_of_fork = run_of[np.unique(forks.fork, return_index=True)[1]]
    fork_starts = np.full(len(forks.ids), -1)  # where the states of each fork begin among all
    lengths = np.array([len(ids) for ids in forks.ids])
    max_rows = max(1, 2 * lm.token_budget // (shared + int(lengths.max(initial=1))))
    for batch in like_length_batches(lengths, lm.token_budget, rows=max_rows):
        # What stands behind a token changes nothing at it, so rows may be filled up with any id.
        parts = [pad_rows([part[fork] for fork in batch]) for part in (forks.ids, forks.branches, forks.positions)]
        width = parts[0].shape[1]
        distinct, same = np.unique(np.column_stack([run_of_fork[batch], *parts]), axis=0, return_inverse=True)
        ids, branches, positions = np.split(distinct[:, 1:], 3, axis=1)
        if cache is None:
            rest_states = lm.states(lm.tensor(ids))
        else:
            forked = (branches, positions) if branches.any() else ()
            rest_states, _ = lm.read_on(ids, repeat_cache(cache, distinct[:, 0]), *forked)
        fork_starts[batch] = state_count + width * same.reshape(-1)
        states.append(rest_states.flatten(0, 1))
        state_count += len(states[-1])
    row_of = np.repeat(np.arange(len(rows)), text_starts[rows + 1] - text_starts[rows])
    owner, place, targets = texts.predictions(np.concatenate([np.arange(*text_starts[row : row + 2]) for row in rows]))
    if not len(owner):
        return np.zeros(len(row_of))
    row = row_of[owner]
    in_fork = fork_starts[forks.fork[row]] + forks.locate(row, place - shared)
    which = np.where(place < shared, run_of[row] * shared + place, in_fork)
    needed, which = np.unique(which, return_inverse=True)
    states_read = torch.cat(states)[lm.tensor(needed)]
    values = lm.fast.head.log_p_of_many(states_read, which.reshape(-1), targets).cpu().numpy()
    return np.bincount(owner, weights=values, minlength=len(row_of))


def repeat_cache(cache: Any, rows: np.ndarray) -> Any:
    """Keys and values of these rows, in a copy: the next part of a text is written behind them."""
    copied = copy.deepcopy(cache)
    copied.batch_select_indices(torch.from_numpy(rows).to(copied.layers[0].keys.device))
    return copied


@torch.inference_mode()
def keeps_prefixes(lm: CausalLM, tokens: Sequence[int]) -> bool:
    """Whether a text read in two parts gives the states that it gives in one.

    Some architectures keep no keys and values. The error is compared with the difference that leaving out the prefix
    would make.
    """
    ids = np.array([tokens] * 2)
    whole = lm.states(lm.tensor(ids))[:, 2:]
    try:
        _, cache = lm.read_on(ids[:1, :2])
        in_parts, _ = lm.read_on(ids[:, 2:], repeat_cache(cache, np.array([0, 0])))
    except Exception:  # caches differ by architecture, and so do their errors
        return False
    without_prefix = lm.states(lm.tensor(ids[:, 2:]))
    return small_beside(in_parts - whole, without_prefix - whole, whole.dtype)
