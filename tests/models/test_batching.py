from __future__ import annotations

import numpy as np

from geobias.models.batching import equal_length_batches


def test_batches_hold_one_length_within_the_budget_and_everything_once() -> None:
    lengths = np.random.default_rng(0).integers(1, 9, size=500)
    batches = list(equal_length_batches(lengths, lengths, 20))
    assert sorted(np.concatenate(batches)) == list(range(500))
    for batch in batches:
        assert len(set(lengths[batch])) == 1
        assert lengths[batch].sum() <= 20
    assert len(batches) < 500


def test_a_sequence_longer_than_the_budget_goes_alone() -> None:
    batches = list(equal_length_batches(np.array([50, 50]), np.array([50, 50]), 20))
    assert [len(batch) for batch in batches] == [1, 1]


def test_costs_may_differ_within_one_length() -> None:
    batches = list(equal_length_batches(np.full(5, 3), np.array([5, 5, 10, 11, 1]), 10))
    assert [list(batch) for batch in batches] == [[0, 1], [2], [3], [4]]


def test_nothing_gives_no_batch() -> None:
    assert list(equal_length_batches(np.array([], dtype=np.int64), np.array([], dtype=np.int64), 20)) == []
