"""Models that are scored at the same time, in several threads, do not get into each other's way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geobias.models.load import load_weights

TEXTS = [f"People in {region} are {word}." for region in ("France", "Nigeria", "Chad") for word in ("kind", "shy")] * 3


@pytest.fixture(autouse=True)
def threads_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def score_together(scorers: list[Any]) -> list[np.ndarray]:
    """Each scorer in a thread of its own, several times."""
    with ThreadPoolExecutor(len(scorers)) as pool:
        rounds = [list(pool.map(lambda scorer: scorer.score(TEXTS), scorers)) for _ in range(4)]
    for others in rounds[1:]:
        for first, other in zip(rounds[0], others, strict=True):
            np.testing.assert_allclose(other, first, atol=1e-5)
    return rounds[-1]


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_several_scores_of_one_model(kind: str, small_models: dict[str, Path]) -> None:
    """One reads masked tokens through a shortened layer, one needs another attention, one reads everything."""
    lm = load_weights(small_models[kind])
    lm.token_budget = 20  # many small batches
    scorers = [lm.scorer(method) for method in (("pll", "aula", "aul") if kind == "bert" else ("mean", "sum"))]
    expected = [scorer.score(TEXTS) for scorer in scorers]
    for alone, together in zip(expected, score_together(scorers), strict=True):
        np.testing.assert_allclose(together, alone, atol=1e-5)
    assert lm.fast.users == 0 and not any("forward" in vars(module) for module in lm.model.modules())
    assert lm.model.config._attn_implementation == "sdpa"
