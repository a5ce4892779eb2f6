"""How long the measures take over the whole world, and how much memory: HERB, the flat baseline, words, intervals.

    python bench/world.py

The answers come from a synthetic scorer, so this times the tool and not a model: 34,257 regions, 3.8 million
sentences, 587 million pairs in the flat baseline of the Earth alone.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence

import numpy as np

import geobias
from geobias.measures.herb import descriptive_vectors, flat_sparseness


class Synthetic:
    """A number for every text, from its hash."""

    fingerprint, columns = None, ("log_likelihood",)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[-1.0 - (hash(text) % 997) / 997] for text in texts])


def main() -> None:
    began = time.perf_counter()
    result = geobias.audit_regions(Synthetic(), cities="all")
    asked = time.perf_counter()
    flat_sparseness(descriptive_vectors(result.likelihoods[0]), result.question.tree.children)
    flat = time.perf_counter()
    result.measure("c_w.balanced")
    measured = time.perf_counter()
    earth = result.region("Earth")
    inferred = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{result.counts['sentences']:,} sentences asked, deduplicated and gathered: {asked - began:.1f} s")
    print(f"flat baseline of all regions: {flat - asked:.1f} s")
    print(f"every measure of every region (that baseline among them): {measured - flat:.1f} s")
    print(f"intervals, ranks, random regions and all else that says how sure they are: {inferred - measured:.1f} s")
    print(f"peak memory {peak:.2f} GB; Earth {earth['c_w']['balanced']:.4f}")


if __name__ == "__main__":
    main()
