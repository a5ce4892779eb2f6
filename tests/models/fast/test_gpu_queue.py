"""Work that reaches a device: answers are read late and in order, threads take short turns meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from geobias.models.fast.gpu_queue import BATCHES_AHEAD, Answer, read_late, sent, short_turns
from geobias.models.load import load_masked


@pytest.mark.parametrize(("device", "ahead"), [("cuda", BATCHES_AHEAD), ("cpu", 0)])
def test_answers_are_read_in_order_and_late_where_a_gpu_computes(device: str, ahead: int) -> None:
    begun = 0

    def batches() -> Iterator[tuple[int, Answer]]:
        nonlocal begun
        for k in range(12):
            begun += 1
            yield k, lambda k=k: np.array([k])  # type: ignore[misc]

    for read, (which, answer) in enumerate(read_late(batches(), torch.device(device))):
        assert which == read == answer[0]
        assert begun == min(read + 1 + ahead, 12)
    assert read == 11


def test_what_was_begun_before_a_failure_is_read() -> None:
    def batches() -> Iterator[tuple[int, Answer]]:
        for k in range(3):
            yield k, lambda k=k: np.array([k])  # type: ignore[misc]
        raise ZeroDivisionError

    read = []
    with pytest.raises(ZeroDivisionError):
        for which, _ in read_late(batches(), torch.device("cuda")):
            read.append(which)
    assert read == [0, 1, 2]


def test_what_is_sent_arrives_whatever_its_layout() -> None:
    numbers = np.arange(12).reshape(3, 4)[:, ::-1]
    assert sent(numbers, torch.device("cpu")).tolist() == numbers.tolist()


@pytest.mark.parametrize("fails", [False, True])
def test_threads_take_short_turns_while_a_model_is_asked(fails: bool, small_models: dict[str, Path]) -> None:
    before, scorer = sys.getswitchinterval(), load_masked(small_models["bert"]).scorer("aul")
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
