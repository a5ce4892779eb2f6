from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from geobias.models import pretrained
from geobias.models.load import load_masked
from geobias.models.pretrained import Ragged, Tokens, equal_length_batches, prepared_ahead
from tests.conftest import MASKED

TEXTS = ["People in Chad are kind.", "", "hard-working", "Nigeria, Nigeria and Guinea", "loyal and loud"]


def test_batches_hold_one_length_within_the_budget_and_everything_once() -> None:
    lengths = np.random.default_rng(0).integers(1, 9, size=500)
    batches = list(equal_length_batches(lengths, lengths, lambda: 20))
    assert sorted(np.concatenate(batches)) == list(range(500))
    for batch in batches:
        assert len(set(lengths[batch])) == 1
        assert lengths[batch].sum() <= 20
    assert len(batches) < 500


def test_shares_are_made_one_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "SHARE_TEXTS", 3)
    made: list[list[str]] = []
    second = threading.Event()

    def prepare(texts: list[str]) -> str:
        made.append(texts)
        if len(made) == 2:
            second.set()
        return "".join(texts)

    shares = prepared_ahead("abcdefg", prepare)
    assert next(shares) == (0, "abc")
    assert second.wait(5)  # while the first is worked on, and no more than that one
    assert made == [["a", "b", "c"], ["d", "e", "f"]]
    assert list(shares) == [(3, "def"), (6, "g")]
    assert list(prepared_ahead([], prepare)) == []


def test_shares_of_long_texts_hold_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "SHARE_TEXTS", 3)
    monkeypatch.setattr(pretrained, "SHARE_CHARACTERS", 5)
    shares = list(prepared_ahead(["a" * 9, "b", "c", "d", "ee", "fff", "g"], "".join))
    assert shares == [(0, "a" * 9), (1, "bcd"), (4, "eefff"), (6, "g")]


def test_a_share_that_cannot_be_made_is_told_when_its_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "SHARE_TEXTS", 1)
    shares = prepared_ahead(["1", "x"], lambda texts: int(texts[0]))
    assert next(shares) == (0, 1)
    with pytest.raises(ValueError, match="'x'"):
        next(shares)


def test_a_budget_that_falls_counts_for_the_next_batch() -> None:
    left = [6, 2]
    batches = equal_length_batches(np.ones(8, dtype=int), np.ones(8, dtype=int), lambda: left[0])
    assert len(next(batches)) == 6
    left.pop(0)
    assert len(next(batches)) == 2


def test_rows_of_one_length_are_looked_up() -> None:
    rows = Ragged(np.array([1, 2, 3, 4, 5]), np.array([2, 0, 1, 2]))
    assert rows.take(np.array([3, 0])).tolist() == [[4, 5], [1, 2]]
    assert rows.take(np.array([2])).tolist() == [[3]]
    assert rows.take(np.array([1])).shape == (1, 0)
    assert rows.row.tolist() == [0, 0, 2, 3, 3]
    assert rows.place.tolist() == [0, 1, 0, 0, 1]
    assert rows.count(rows.numbers > 1).tolist() == [1, 0, 1, 2]
    assert rows.beside(rows.numbers * 10).take(np.array([0])).tolist() == [[10, 20]]


@pytest.mark.parametrize("kind", MASKED)
def test_tokens_are_those_of_every_text(kind: str, small_models: dict[str, Path]) -> None:
    encodings, _ = load_masked(small_models[kind]).encode(TEXTS)
    tokens = Tokens(encodings)
    start, end = [3, 0, 5, 8, 0], [9, 0, 9, 11, 2]
    inside = tokens.inside(start, end)
    for row, encoding in enumerate(encodings):
        at = tokens.ids.row == row
        assert tokens.ids.numbers[at].tolist() == encoding.ids
        assert tokens.is_text[at].tolist() == [special == 0 for special in encoding.special_tokens_mask]
        assert tokens.kinds.numbers[at].tolist() == encoding.type_ids
        assert [tuple(span) for span in tokens.spans[at]] == encoding.offsets
        assert tokens.words[at].tolist() == [-1 if word is None else word for word in encoding.word_ids]
        assert inside[at].tolist() == [
            special == 0 and b > start[row] and a < end[row]
            for (a, b), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
        ]
