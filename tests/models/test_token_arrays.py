"""Tokens of many texts in flat arrays say what each text's own encoding says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geobias.models.load import load_masked
from geobias.models.token_arrays import Ragged, Tokens
from tests.conftest import MASKED

TEXTS = ["People in Chad are kind.", "", "hard-working", "Nigeria, Nigeria and Guinea", "loyal and loud"]


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
