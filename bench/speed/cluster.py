"""One process compared with Ray with two workers: same models, same texts, one run.

    python -m bench.speed.cluster [--device cuda] [--seconds 20] [--json OUT]

On the CPU, one process has two threads and each worker one core. With `--device cuda`, both workers share the first
GPU: Ray counts it as two, and starts one worker for each.

Both are warm: models are loaded and workers have started. The start-up time is printed separately. Nothing is stored,
so every round scores again. Rounds alternate, and the median counts: other work on the machine affects both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch

from bench.speed import work
from bench.speed.__main__ import command_line, machine, versions
from bench.speed.worker import wall
from geobias.engine.ask import ask, compute_on
from geobias.models.load import load_classifier, load_weights
from geobias.models.scorer import Scorer
from geobias.texts.templates import Sentences

ROUNDS = 3
CORES = WORKERS = 2


def main() -> None:
    options = _options()
    torch.set_num_threads(CORES)
    os.environ["GEOBIAS_CACHE"] = tempfile.mkdtemp()
    parts = work.prepare_texts()
    gpus = 0
    if options.device == "cuda":
        gpus, os.environ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"] = WORKERS, "1"  # all see the same GPU
    ray.init(address="local", num_cpus=CORES, num_gpus=gpus, include_dashboard=False, log_to_driver=False)
    lm = load_weights("embedded/lm", device="cpu", dtype="float32")
    lm.trained_on = True  # has no fingerprint: nothing is kept
    classifier: Any = load_classifier("embedded/sentiment", device="cpu", dtype="float32")
    classifier.fingerprint = None
    run = {
        "machine": machine(options.device, CORES),
        "date": wall(),
        "command": command_line("bench.speed.cluster"),
        "versions": versions() | {"ray": ray.__version__},
        "tables": [],
        "cluster": [
            measure_table("aul", "embedded/lm", lm.scorer("aul"), parts.texts("aul"), options),
            measure_table("classify", "embedded/sentiment", classifier, parts.texts("classify"), options),
        ],
    }
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def measure_table(
    kind: str, model: str, scorer: Scorer, texts: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    """One table of two rows, on as many texts as one process does in that time."""
    device, seconds = options.device, options.seconds
    scorer.to(device)
    pilot = take_texts(texts, 4 * 112)
    sample = take_texts(texts, int(len(pilot) * seconds / time_scoring(scorer, pilot)[0]))
    count = len(sample)
    alone, on_ray = "in process" + (", 2 threads" if device == "cpu" else ""), "Ray, 2 workers"
    times: dict[str, list[float]] = {alone: [], on_ray: []}
    for _ in range(ROUNDS):
        scorer.to(device)
        second, local_scores = time_scoring(scorer, sample)
        times[alone].append(second)
        scorer.to("cpu")  # as workers get it
        ray_start = time.perf_counter()
        with compute_on("auto", device, "float32"):
            time_scoring(scorer, pilot)
            start_seconds = time.perf_counter() - ray_start
            second, ray_scores = time_scoring(scorer, sample)
            times[on_ray].append(second)
    rows: list[dict[str, Any]] = [
        {"way": way, "texts": count, "seconds": each, "per_second": count / statistics.median(each)}
        for way, each in times.items()
    ]
    slower = rows[0]["per_second"] / rows[1]["per_second"] - 1
    difference = float(np.abs(local_scores - ray_scores).max())
    print(f"{kind}, {model}: " + ", ".join(f"{row['way']} {row['per_second']:,.0f} texts/s" for row in rows), end="; ")
    print(f"Ray takes {100 * slower:+.1f} % time; largest difference {difference:.1e}; ", end="")
    print(f"workers started in {start_seconds:.1f} s.")
    return {
        "work": kind,
        "model": model,
        "slower": slower,
        "difference": difference,
        "start_seconds": start_seconds,
        "rows": rows,
    }


def take_texts(texts: Sequence[str], count: int) -> Sequence[str]:
    """About so many of them; sentences stay a block."""
    if isinstance(texts, Sentences):
        return replace(texts, regions=texts.regions[: max(1, count // len(texts.words))])
    return texts[:count]


def time_scoring(scorer: Scorer, texts: Sequence[str]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    answers = ask(scorer, texts, progress=False)
    return time.perf_counter() - start, answers.scores


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.cluster", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="how long a round takes in one process")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="what both compute on")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
