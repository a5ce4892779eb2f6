"""Time and memory of the measures over the whole world: HERB, the flat baseline, words, intervals.

    python bench/world.py

The answers come from a synthetic scorer, so this times the tool and not a model: 34,257 regions, 3.8 million
sentences, 587 million pairs in the flat baseline of the Earth alone.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence

import numpy as np

from geobias.audits.regions.answers import ask_regions
from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.measure import measure_regions, score_regions
from geobias.audits.study import prepare
from geobias.measures.herb import descriptive_vectors, flat_sparseness
from geobias.models.scorer import Scorer


class Synthetic(Scorer):
    """A number for every text, from its hash."""

    columns = ("log_likelihood",)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[-1.0 - (hash(text) % 997) / 997] for text in texts])


def main() -> None:
    design, scorer = prepare(audit_regions, cities="all").design, Synthetic()
    start = time.perf_counter()
    answers = ask_regions(design, scorer)
    time_answered = time.perf_counter()
    flat_sparseness(descriptive_vectors(answers.likelihoods[0]), design.tree.children)
    time_flat = time.perf_counter()
    score_regions(design, answers)
    time_scored = time.perf_counter()
    result = measure_regions(design, answers)
    time_measured = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{result.counts.sentences:,} sentences scored, deduplicated and collected: {time_answered - start:.1f} s")
    print(f"flat baseline of all regions: {time_flat - time_answered:.1f} s")
    print(f"every measure of every region (including the flat baseline): {time_scored - time_flat:.1f} s")
    print(f"the same with intervals, ranks and random regions: {time_measured - time_scored:.1f} s")
    print(f"peak memory {peak:.2f} GB; Earth {result.region('Earth').c_w_balanced.value:.4f}")


if __name__ == "__main__":
    main()
