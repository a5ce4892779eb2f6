"""Overhead of the names audit over the classifier: some 1,000 texts x 17 countries x 50 draws.

    python bench/names.py

The overhead (finding people, renaming, deduplicating, storing, measuring, writing) is timed with a function that
returns at once; then the bundled sentiment classifier scores a sample of the same texts, in the same run on the same
machine.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import geobias
from geobias.texts.user_texts import sample_texts

TEXTS, DRAWS, SCORED = 1170, 50, 4000  # people are found in about 1,000 of so many


def score_instantly(texts: list[str]) -> np.ndarray:
    positive = np.fromiter((len(text) % 7 / 7 for text in texts), float, len(texts))
    return np.column_stack([1 - positive, positive])


score_instantly.fingerprint = "1"  # type: ignore[attr-defined]
score_instantly.labels = ["negative", "positive"]  # type: ignore[attr-defined]


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    texts = list(sample_texts().texts[:TEXTS])
    classifier = geobias.load_classifier("embedded/sentiment")
    before = peak()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GEOBIAS_CACHE"] = f"{folder}/cache"
        start = time.perf_counter()
        result = geobias.audit_names(score_instantly, texts, draws=DRAWS, out=f"{folder}/run")
        tool = time.perf_counter() - start
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.parquet")) / 1e6
    counts, renamed = result.answers[0].counts, result.counterfactuals
    assert renamed is not None  # a result that was just measured
    print(
        f"{counts['renamed_texts']:,} renamed texts, {counts['distinct_renamed_texts']:,} distinct ({size:.0f} MB kept)"
    )
    print(f"overhead: {tool:.1f} s; peak memory above the loaded model: {peak() - before:.2f} GB")

    step = len(renamed) // SCORED
    part = [renamed[i * step] for i in range(SCORED)]
    start = time.perf_counter()
    classifier.score(part)
    rate = SCORED / (time.perf_counter() - start)
    scoring = counts["distinct_renamed_texts"] / rate
    print(f"embedded/sentiment: {rate:,.0f} texts/s, so {scoring:,.0f} s for all of them")
    print(f"overhead relative to scoring: {100 * tool / scoring:.1f} %")


if __name__ == "__main__":
    main()
