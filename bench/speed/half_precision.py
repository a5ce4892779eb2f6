"""What bfloat16 brings on a CPU, and what it does to scores and to the numbers of an audit.

    python -m bench.speed.half_precision [--seconds 20] [--json bench/results/half_precision.json]

Speed: one thread, models of the size of BERT base with random weights, both precisions in turns, the median of three.
Effect: the bundled models in both precisions. `largest share` is the largest change of a headline number, divided by
the width of its 95 % interval.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import geobias
from bench.speed import work
from bench.speed.models import folder_of
from geobias.models.load import load_classifier, load_weights
from geobias.models.scorer import Scorer

ROUNDS, SAMPLE = 3, 64
DTYPES = ("float32", "bfloat16")
COUNTRIES = "FR DE ES IT PL SE NG KE EG GH SN ZA JP IN TH VN IR CN BR AR PE CO CL EC".split()


def load_scorer(kind: str, folder: str, dtype: str) -> Scorer:
    if kind == "classify":
        return load_classifier(folder, device="cpu", dtype=dtype)
    return load_weights(folder, device="cpu", dtype=dtype).scorer(kind)


def measure_rate(scorer: Scorer, texts: Sequence[str], seconds: float) -> float:
    """Texts in a second of processor time, which other processes on the machine hardly change."""
    scored, began = 0, time.process_time()
    while (spent := time.process_time() - began) < seconds:
        scorer.score(texts)
        scored += len(texts)
    return scored / spent


def compare_speed(seconds: float) -> list[dict[str, Any]]:
    parts = work.prepare_texts()
    tweets = parts.tweets[:SAMPLE]
    sentences = [f"People in {country} are kind." for country in parts.regions[:SAMPLE]]
    rows = []
    for kind, model, texts in (
        ("aul", "bert", sentences),
        ("pll", "bert", tweets),
        ("classify", "bert-classifier", tweets),
    ):
        folder = str(folder_of(model, parts))
        scorers = {dtype: load_scorer(kind, folder, dtype) for dtype in DTYPES}
        scores = {dtype: scorer.score(texts) for dtype, scorer in scorers.items()}
        rates: dict[str, list[float]] = {dtype: [] for dtype in DTYPES}
        for _ in range(ROUNDS):
            for dtype, scorer in scorers.items():
                rates[dtype].append(measure_rate(scorer, texts, seconds / ROUNDS))
        medians = {dtype: statistics.median(rates[dtype]) for dtype in DTYPES}
        difference = np.abs(scores["bfloat16"][:, 0] - scores["float32"][:, 0])
        rows.append(
            {
                "score": kind,
                **{f"{dtype}, texts/s": round(medians[dtype], 1) for dtype in DTYPES},
                "ratio": round(medians["bfloat16"] / medians["float32"], 2),
                "largest difference": float(difference.max()),
                "mean difference": float(difference.mean()),
                "spread of scores": float(scores["float32"][:, 0].std()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def compare_results() -> list[dict[str, Any]]:
    """How far the numbers of two audits of the bundled models move, in widths of their intervals."""
    regions, names = [], []
    for dtype in DTYPES:
        options: dict[str, Any] = {"dtype": dtype, "device": "cpu", "progress": False}
        regions.append(geobias.audit_regions("embedded/lm", cities=0, countries=COUNTRIES, paraphrases=0, **options))
        names.append(geobias.audit_names("embedded/sentiment", limit=100, draws=4, **options))
    rows = []
    for audit, (first, second), measure in (("regions", regions, None), ("names", names, "delta")):
        frames = [result.to_frame() for result in (first, second)]
        if measure:
            frames = [frame[frame.measure == measure] for frame in frames]
        known = frames[0].low.notna() & frames[0].high.notna() & (frames[0].high > frames[0].low)
        width = (frames[0].high - frames[0].low)[known]
        share = ((frames[1].value - frames[0].value)[known].abs() / width).to_numpy(dtype=float)
        rows.append(
            {
                "audit": audit,
                "numbers": int(known.sum()),
                "largest share": float(share.max()),
                "median share": float(np.median(share)),
                "above a twentieth": int((share > 0.05).sum()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = {"speed": compare_speed(options.seconds), "effect": compare_results()}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
