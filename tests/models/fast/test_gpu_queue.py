"""Work for a GPU: results are read late and in order, threads take short turns meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from geobias.models.fast.gpu_queue import BATCHES_AHEAD, PendingResult, read_behind, short_turns
from geobias.models.load import load_masked


def test_results_are_read_in_order_and_late() -> None:
    started = 0

    def batches() -> Iterator[tuple[int, PendingResult]]:
        nonlocal started
        for k in range(12):
            started += 1
            yield k, lambda k=k: np.array([k])  # type: ignore[misc]

    for read, (which, result) in enumerate(read_behind(batches())):
        assert which == read == result[0]
        assert started == min(read + 1 + BATCHES_AHEAD, 12)
    assert read == 11


def test_what_was_begun_before_a_failure_is_read() -> None:
    def batches() -> Iterator[tuple[int, PendingResult]]:
        for k in range(3):
            yield k, lambda k=k: np.array([k])  # type: ignore[misc]
        raise ZeroDivisionError

    read = []
    with pytest.raises(ZeroDivisionError):
        for which, _ in read_behind(batches()):
            read.append(which)
    assert read == [0, 1, 2]


def test_arrays_of_any_layout_reach_the_device(small_models: dict[str, Path]) -> None:
    numbers = np.arange(12).reshape(3, 4)[:, ::-1]
    assert load_masked(small_models["bert"]).tensor(numbers).tolist() == numbers.tolist()


@pytest.mark.parametrize("fails", [False, True])
def test_threads_take_short_turns_while_a_model_is_asked(fails: bool, small_models: dict[str, Path]) -> None:
    before, scorer = sys.getswitchinterval(), load_masked(small_models["bert"]).scorer("aul")
    scorer.lm.fast.queues = True  # as on a GPU
    scorer.lm.tensor = torch.from_numpy  # type: ignore[method-assign,assignment]
    answers = scorer.batches(["People in Chad are kind.", "Kind people."])
    next(answers)
    assert sys.getswitchinterval() < before
    if fails:
        with pytest.raises(ZeroDivisionError):
            answers.throw(ZeroDivisionError)  # type: ignore[attr-defined]
    else:
        list(answers)
    assert sys.getswitchinterval() == before


def test_models_that_overlap_leave_the_turns_as_they_were() -> None:
    before, one, other = sys.getswitchinterval(), short_turns(), short_turns()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert sys.getswitchinterval() < before
    other.__exit__(None, None, None)
    assert sys.getswitchinterval() == before
