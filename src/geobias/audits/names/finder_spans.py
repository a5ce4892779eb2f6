"""The spans that a finder marked in the texts of a names audit: how many, and which of them are doubtful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geobias.models.finders import EMBEDDED_FINDER
from geobias.texts.doubtful_spans import REASONS, DoubtfulSpan, sort_spans
from geobias.texts.people import Span
from geobias.world.gazetteer import Gazetteer

MOST_EXAMPLES = 3  # for each reason
REASONS_COUNTED = 2  # in the short line
EMBEDDED_PRECISION = 0.81  # on the held-out marked texts, doubtful spans dropped: recipes/entities/evaluate_spans.py


@dataclass(frozen=True)
class FinderSpans:
    """What a finder marked as people, and how much of it is doubtful."""

    total: int
    """Names that the finder marked; handles, hashtags and links do not count."""
    doubtful: int
    """Those that are probably not a person, by their words."""
    doubtful_by_reason: dict[str, int]
    examples: dict[str, list[str]]
    """By reason, the most frequent doubtful names."""
    texts_with_doubtful_spans: int


@dataclass(frozen=True)
class SortedSpans:
    """The clear and the doubtful spans of every text."""

    clear: list[list[Span]]
    doubtful: list[list[DoubtfulSpan]]

    @classmethod
    def sort(cls, texts: Sequence[str], spans: Sequence[Sequence[Span]], gazetteer: Gazetteer) -> SortedSpans:
        pairs = [sort_spans(text, text_spans, gazetteer) for text, text_spans in zip(texts, spans, strict=True)]
        return cls([clear for clear, _ in pairs], [doubtful for _, doubtful in pairs])

    @property
    def has_doubtful(self) -> np.ndarray:
        """Of every text, whether it has a doubtful span (bool)."""
        return np.array([bool(spans) for spans in self.doubtful], dtype=bool)

    def merge(self) -> list[list[Span]]:
        """The clear and the doubtful spans of every text together."""
        return [
            sorted([*clear, *((span.start, span.end) for span in doubtful)])
            for clear, doubtful in zip(self.clear, self.doubtful, strict=True)
        ]

    def summarise(self, texts: Sequence[str]) -> FinderSpans:
        names: dict[str, Counter[str]] = {reason: Counter() for reason in REASONS}
        for text, spans in zip(texts, self.doubtful, strict=True):
            for span in spans:
                names[span.reason][text[span.start : span.end]] += 1
        by_reason = {reason: counter.total() for reason, counter in names.items() if counter}
        doubtful = sum(by_reason.values())
        return FinderSpans(
            total=sum(map(len, self.clear)) + doubtful,
            doubtful=doubtful,
            doubtful_by_reason=by_reason,
            examples={reason: [name for name, _ in names[reason].most_common(MOST_EXAMPLES)] for reason in by_reason},
            texts_with_doubtful_spans=int(self.has_doubtful.sum()),
        )


def count_spans(spans: FinderSpans, finder: str, treatment: str) -> str:
    """How many names were marked, and how many are doubtful and why, in a short line."""
    others_wrong = f" About {1 - EMBEDDED_PRECISION:.0%} of the others are no people either."
    remark = others_wrong if finder == EMBEDDED_FINDER and treatment == "drop" else ""
    if not spans.doubtful:
        return f"Finder: {spans.total:,} names, none doubtful.{remark}"
    by_reason = sorted(spans.doubtful_by_reason.items(), key=lambda item: -item[1])
    reasons = [f"{reason} {count:,}" for reason, count in by_reason[:REASONS_COUNTED]]
    others = spans.doubtful - sum(count for _, count in by_reason[:REASONS_COUNTED])
    reasons += [f"other reasons {others:,}"] if others else []
    consequence = {"drop": "not renamed", "keep": "renamed"}[treatment]
    return (
        f"Finder: {spans.total:,} names, {spans.doubtful:,} doubtful and {consequence}: {'; '.join(reasons)}.{remark}"
    )


def describe_spans(spans: FinderSpans, finder: str, treatment: str) -> str:
    """How many names were marked, and what became of the doubtful ones, in one line."""
    if not spans.doubtful:
        line = f"The finder marked {spans.total:,} names, none of them doubtful."
    else:
        by_reason = sorted(spans.doubtful_by_reason.items(), key=lambda item: -item[1])
        reasons = "; ".join(f"{reason} {count:,}{_list_names(spans, reason)}" for reason, count in by_reason)
        consequence = {"drop": "were not renamed", "keep": "were renamed"}[treatment]
        line = f"The finder marked {spans.total:,} names; {spans.doubtful:,} are doubtful and {consequence}: {reasons}."
    if finder == EMBEDDED_FINDER and treatment == "drop":
        share = f"{100 * EMBEDDED_PRECISION:.0f} %"
        line += f" In reviews, editorials and tweets marked by hand, {share} of the others are people."
    return line


def _list_names(spans: FinderSpans, reason: str) -> str:
    """The most frequent names in brackets; none in a copy of a run without its texts."""
    names = spans.examples.get(reason)
    return f" ({', '.join(names)})" if names else ""
