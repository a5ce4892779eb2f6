"""Every method of scoring, by its row in the table: `WAYS["aul"]` and so on.

A method is prepared before timing (`prepare` loads the model) and then scores texts, including tokenisation. Batch
sizes with several candidates are chosen by a pilot: each library runs at its best. All methods compute the same
quantity, and `agreement` is the difference of each from the first: nothing is timed unless that is small.

    method                                    taken from
    HERB's method, the names paper's method   what the papers' released code does, as described in the papers' notes
    minicons                                  its documented calls
    Hugging Face pipeline                     its documented calls
    plain loop                                what a careful person writes with transformers alone
    torch.compile, ONNX Runtime, OpenVINO     their documented calls around the plain loop
    llama.cpp                                 llama-cpp-python's documented calls
    geobias                                   this package: `load(...).scorer(...)`, `load_classifier(...)`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-3
Score = Callable[[Sequence[str], int], np.ndarray]  # texts, batch size -> a number, or a row of them, for each text


@dataclass(frozen=True)
class Ready:
    """A way that has loaded its model."""

    score: Score
    model: Any


@dataclass(frozen=True)
class Way:
    """One row: how to prepare it, and the batch sizes it is tried with on either kind of device."""

    name: str
    prepare: Callable[[str, str, str], Ready]  # folder, device, dtype
    sizes: tuple[int, ...] = (0,)
    cuda_sizes: tuple[int, ...] | None = None
    counts: str = "texts"  # what a batch size counts
    reads_all: bool = False  # the vocabulary projection is held for every token
    sorts: bool = False  # texts by their length, so that it shows what it can with many of them only
    precision: str | None = None  # another than that of the table: its scores differ, and are not checked

    def candidates(self, device: str) -> tuple[int, ...]:
        return self.cuda_sizes if device.startswith("cuda") and self.cuda_sizes else self.sizes


def ways(work: str) -> list[Way]:
    from bench.speed import ways_llama, ways_masked, ways_other, ways_runtimes

    return {
        "aul": ways_masked.AUL,
        "pll": ways_masked.PLL,
        "classify": [*ways_other.CLASSIFY[:-1], *ways_runtimes.CLASSIFY, ways_other.CLASSIFY[-1]],
        "causal": [*ways_other.CAUSAL[:-1], *ways_llama.CAUSAL, ways_other.CAUSAL[-1]],
    }[work]


def agreement(scores: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest difference of each way from the first; a NaN is never small."""
    first = next(iter(scores.values()))
    return {
        name: float("inf") if np.isnan(values).any() else float(np.abs(values - first).max())
        for name, values in scores.items()
    }


def disagreements(differences: dict[str, float]) -> list[str]:
    return [f"{name}: {value:.2g}" for name, value in differences.items() if not value <= TOLERANCE]


def load_model(auto_class: Any, folder: str, device: str, dtype: str, **options: Any) -> tuple[Any, Any]:
    """Model and tokenizer as transformers gives them."""
    import torch
    import transformers

    model = auto_class.from_pretrained(folder, dtype=getattr(torch, dtype), **options).to(device).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)
