"""Many renamed texts are scored and measured in blocks, on disk: every number is that of a single block in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import geobias
from geobias import files
from geobias.audits.inputs import load_texts
from geobias.engine import ask as engine
from geobias.measures import arrays
from geobias.report.results import to_json


def judge(texts: Sequence[str]) -> np.ndarray:
    p = np.array([zlib.crc32(text.encode()) for text in texts]) / 2**32
    return np.column_stack([p, 0.9 - 0.9 * p, 0.1 - 0.1 * p])


judge.labels = ["negative", "neutral", "positive"]  # type: ignore[attr-defined]


def list_numbers(content: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from list_numbers(value, f"{path}/{key}")
    else:
        yield path, content


@pytest.mark.parametrize("names", ["random", "fixed"])
def test_blocks_change_no_number(names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are sorted by subset: some blocks have no text of it."""
    texts = [{"text": text, "half": str(i // 50)} for i, text in enumerate(load_texts(None, limit=100).texts)]

    def measure() -> tuple[Any, dict[str, Any]]:
        result = geobias.audit_names(judge, texts, subsets="half", draws=4, countries=["FR", "IN", "MX"], names=names)
        return result, dict(list_numbers({key: value for key, value in to_json(result).items() if key != "findings"}))

    _, expected = measure()
    monkeypatch.setattr(engine, "TEXTS_PER_BLOCK", 500)
    monkeypatch.setattr(arrays, "NUMBERS_AT_ONCE", 200)
    monkeypatch.setattr(files, "LARGEST_IN_MEMORY", 1000)
    result, numbers = measure()
    assert isinstance(result.answers[0].renamed, np.memmap)
    assert len(arrays.text_blocks(len(result.named), 12)) > 4
    assert numbers.keys() == expected.keys()
    del numbers["/classifiers/0/distinct_renamed_texts"]  # counted within blocks
    for path, number in numbers.items():  # simultaneous bounds are solved for numerically
        is_close = pytest.approx(expected[path], rel=1e-7, abs=1e-12) if isinstance(number, float) else expected[path]
        assert number == is_close, path
