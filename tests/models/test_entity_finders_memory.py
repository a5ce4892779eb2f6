"""Finders read few long texts at a time: spaCy takes gigabytes for a million characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from spacy.language import Language

from geobias.models.finders import load_finder

TEXTS = ["Angela Merkel met Narendra Modi in Lagos"] * 3


@pytest.mark.parametrize(("at_once", "batch"), [(1_000_000, 1000), (100, 2), (10, 1)])
def test_fewer_texts_at_a_time_where_they_are_long(monkeypatch: pytest.MonkeyPatch, at_once: int, batch: int) -> None:
    sizes, pipe = [], Language.pipe

    def recorded(self: Any, texts: Sequence[str], **options: Any) -> Iterator[Any]:
        sizes.append(options["batch_size"])
        return pipe(self, texts, **options)

    monkeypatch.setattr(Language, "pipe", recorded)
    monkeypatch.setattr("geobias.models.finders.BATCH_CHARACTERS", at_once)
    find = load_finder()
    assert find(TEXTS) == [[(0, 13), (18, 31)]] * 3 and find([]) == []
    assert sizes[0] == min(batch, 1000)
