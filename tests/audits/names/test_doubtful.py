"""Doubtful spans in a names audit: counted, dropped or kept, never those of the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy

import geobias
from geobias.audits.names.phrases import describe_spans
from geobias.audits.names.report import make_report
from geobias.audits.names.result import FinderSpans, NamesResult
from geobias.errors import InputError
from geobias.models.finders import EMBEDDED_FINDER
from geobias.texts.doubtful_spans import COMMON_WORD, INTERJECTION
from tests.conftest import spell

TEXTS = [
    "Mary is nice",
    "John is awful",
    "Stupidly Mary left",
    "God help Peter",
    "thank God",
    "nobody is here",
]


@pytest.fixture
def finder(tmp_path: Path) -> str:
    """A spaCy pipeline that marks three people and two words that are none."""
    pipeline = spacy.blank("en")
    ruler: Any = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": p} for p in ("Mary", "John", "Peter", "Stupidly", "God")])
    pipeline.to_disk(tmp_path / "finder")
    return str(tmp_path / "finder")


def judge(texts: Sequence[str]) -> list[dict[str, float]]:
    """Likes long texts."""
    return [{"negative": 1 - len(text) / 100, "positive": len(text) / 100} for text in texts]


def audit(finder: str | None, **options: Any) -> NamesResult:
    defaults: dict[str, Any] = {"countries": ["FR", "MA", "US"], "draws": 3, "texts": TEXTS}
    options = defaults | options
    return geobias.audit_names(judge, finder=finder, progress=False, **options)


def test_doubtful_spans_are_counted_and_dropped(finder: str) -> None:
    result = audit(finder)
    assert result.counts.finder_spans == FinderSpans(
        total=7,
        doubtful=3,
        doubtful_by_reason={INTERJECTION: 2, COMMON_WORD: 1},
        examples={INTERJECTION: ["God"], COMMON_WORD: ["Stupidly"]},
    )
    assert result.settings.doubtful == "drop"
    assert any("3 doubtful and not renamed" in note for note in make_report(result).notes)
    assert (result.counts.mentions, result.counts.texts_with_names) == (4, 4)
    assert result.counterfactuals is not None
    assert all(text.startswith(("Stupidly", "God")) for text in list(result.counterfactuals)[2 * 9 :])
    assert result.list_subsets() == []


def test_kept_ones_are_renamed(finder: str) -> None:
    result = audit(finder, doubtful="keep", texts=[f"{text} {spell(n)}" for text in TEXTS for n in range(3)])
    assert result.settings.doubtful == "keep"
    assert (result.counts.mentions, result.counts.texts_with_names) == (21, 15)
    (caution,) = (each for each in result.findings if "probably not people" in each.sentence)
    assert caution.sentence.startswith("9 of 21 spans")


@pytest.mark.parametrize("doubtful", ["drop", "keep"])
def test_spans_of_the_user_are_never_dropped(doubtful: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({"text": ["Stupidly left", "thank God"], "spans": ["[[0, 8]]", "[[6, 9]]"]})
    result = audit(None, texts=frame, spans="spans", doubtful=doubtful)
    assert result.counts.mentions == 2
    assert result.counts.finder_spans is None and result.settings.doubtful is None
    assert result.list_subsets() == []


def test_texts_with_doubtful_spans_only(finder: str) -> None:
    with pytest.raises(InputError, match="--preview"):
        audit(finder, texts=["thank God"])
    assert audit(finder, texts=["thank God"], doubtful="keep").counts.mentions == 1


def test_one_line_says_what_was_doubtful() -> None:
    by_reason = {COMMON_WORD: 4, INTERJECTION: 9, "a title without a name": 2, "no letter in it": 1}
    spans = FinderSpans(1200, 16, by_reason, {COMMON_WORD: ["Reign"], INTERJECTION: ["God"]})
    line = describe_spans(spans, "my/finder", "drop")
    assert "1,200 names, 16 doubtful and not renamed: " in line and f"{INTERJECTION} 9 (God); " in line
    short = describe_spans(spans, "my/finder", "keep", is_short=True)
    assert "16 doubtful and renamed: " in short and short.endswith("other reasons 3.") and "God" not in short
    assert "none doubtful" in describe_spans(FinderSpans(5, 0, {}, {}), "my/finder", "drop")
    assert "About 19% of the others" in describe_spans(spans, EMBEDDED_FINDER, "drop")
