"""Rows that go on alike behind a cached prefix, and then part: what they share is read once, then the end of each.

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
    from geobias.models.language.causal import CausalLM

STEM = 0  # what the rows of a fork share; its ends are numbered from 1 on

FindStems = Callable[[Sequence[np.ndarray]], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class ForkedRows:
    """Neighbouring rows, put together in forks. A row that shares nothing is a fork without ends."""

    ids: list[np.ndarray]
    ends: list[np.ndarray]  # of each token of a fork, the end that it is in, or STEM
    positions: list[np.ndarray]  # of each token of a fork, in its own row
    fork: np.ndarray  # of each row
    stem: np.ndarray  # of each row: tokens that the whole fork shares
    end_start: np.ndarray  # of each row: where its end begins in the fork

    @classmethod
    def join(cls, rows: Sequence[np.ndarray], runs: np.ndarray, find_stems: FindStems | None) -> ForkedRows:
        """Put rows of the same run together where `find_stems` says so; without it, each row is by itself."""
        forks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        places: list[tuple[int, int, int]] = []  # of each row: fork, stem, end_start
        bounds = np.flatnonzero(np.diff(runs, prepend=-1, append=-1))
        for first, last in pairwise(bounds.tolist()):
            own = rows[first:last]
            starts = np.arange(len(own))
            stems = (starts, starts + 1, starts) if find_stems is None else find_stems(own)
            for start, stop, shared in zip(*stems, strict=True):
                members = own[start:stop]
                stem = int(shared) if len(members) > 1 else len(members[0])
                pieces = [members[0][:stem], *(row[stem:] for row in members)]
                lengths = np.array([len(piece) for piece in pieces])
                begins = np.cumsum(lengths) - lengths
                end = np.repeat(np.arange(len(pieces)), lengths)
                position = np.arange(lengths.sum()) - np.where(end == STEM, 0, begins[end] - stem)
                places += [(len(forks), stem, int(begin)) for begin in begins[1:]]
                forks.append((np.concatenate(pieces), end, position))
        fork, stem_of, end_start = np.array(places, dtype=np.int64).reshape(-1, 3).T
        ids, ends, positions = map(list, zip(*forks, strict=True))
        return cls(ids, ends, positions, fork, stem_of, end_start)

    def locate(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Where these places of rows are in their forks."""
        past_stem = places - self.stem[rows]
        return np.where(past_stem < 0, places, self.end_start[rows] + past_stem)


def mask_forks(ends: np.ndarray, prefix: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """forks x 1 x tokens x (prefix and tokens): 0 where one token sees another, and the lowest number elsewhere."""
    count, length = ends.shape
    is_seen = (ends[:, None, :] == STEM) | (ends[:, None, :] == ends[:, :, None])
    hidden = np.zeros((count, 1, length, prefix + length), dtype=bool)
    hidden[:, 0, :, prefix:] = ~(is_seen & np.tri(length, dtype=bool))
    mask = torch.zeros(hidden.shape, dtype=dtype)
    return mask.masked_fill_(torch.from_numpy(hidden), torch.finfo(dtype).min).to(device)


@torch.inference_mode()
def reads_forks(lm: CausalLM, tokens: Sequence[int]) -> bool:
    """Whether rows read as a fork behind a cached prefix give the states that they give by themselves.

    The error is compared with the difference that ignoring the mask or the positions would make.
    """
    prefix, stem, length = np.array([tokens[:2]]), 1, 3
    rows = [np.array([tokens[2], *ids]) for ids in (tokens[:2], tokens[1:3])]
    fork = ForkedRows.join(rows, np.zeros(2, dtype=int), lambda own: (np.array([0]), np.array([2]), np.array([stem])))
    ids, ends, positions = (pad_rows(part) for part in (fork.ids, fork.ends, fork.positions))
    in_order, all_seen = np.arange(ids.shape[1])[None], np.zeros_like(ends)
    try:
        by_fork, without_positions, without_mask = (
            lm.read_on(ids, lm.read_on(prefix)[1], *layout)[0][0]
            for layout in ((ends, positions), (ends, in_order), (all_seen, positions))
        )
    except Exception:  # architectures refuse such masks or positions in different ways
        return False
    alone = [lm.read_on(row[None], lm.read_on(prefix)[1])[0][0] for row in rows]
    places = [fork.locate(np.full(length, row), np.arange(length)) for row in range(len(rows))]
    return all(
        small_beside(
            torch.cat([by_fork[place] - states for place, states in zip(places, alone, strict=True)]),
            torch.cat([wrong[place] - states for place, states in zip(places, alone, strict=True)]),
            by_fork.dtype,
        )
        for wrong in (without_positions, without_mask)
    )
