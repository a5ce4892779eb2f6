"""Compare geobias with common alternatives: same models, same texts, one run.

    python -m bench.speed [--work aul,pll,classify,causal] [--model bert,...] [--way geobias,...] [--device cpu]
                          [--dtype float32] [--seconds 5] [--texts FILE] [--json OUT]      (make bench)

For each work and model: every method loads its model in its own process and scores a few texts in float32. If they
do not agree, nothing is timed and the exit code is 1. Then each finds its best batch size, and they take turns.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bench.speed import results, work
from bench.speed.measure import operations_for
from bench.speed.models import folder_of
from bench.speed.ways import agreement, disagreements, ways
from bench.speed.worker import Worker, wall

MODELS = {
    "aul": ("bert", "xlmr", "embedded/lm"),
    "pll": ("bert", "xlmr", "embedded/lm"),
    "classify": ("bert-classifier", "embedded/sentiment"),
    "causal": ("gpt2",),
}
ROUNDS = 3
CHECKED = {"aul": 2, "pll": 1, "classify": 2, "causal": 1}  # units of texts
PACKAGES = ("geobias", "torch", "transformers", "tokenizers", "numpy", "minicons", "onnxruntime", "openvino")


def main() -> None:
    options = _options()
    parts = work.read(options.texts) if options.texts else work.prepare_texts()
    run: dict[str, Any] = {
        "machine": machine(options.device, options.threads),
        "date": wall(),
        "command": command_line("bench.speed"),
        "versions": versions(),
        "tables": [],
    }
    with tempfile.TemporaryDirectory() as scratch:
        texts = Path(scratch) / "texts.json"
        parts.write(texts)
        for kind in options.work:
            for model in MODELS[kind]:
                if options.model and model not in options.model:
                    continue
                folder = folder_of(model, parts)
                run["tables"].append(measure_table(kind, model, folder, parts, texts, options))
                results.show(run["tables"][-1])
                if options.json:
                    options.json.parent.mkdir(parents=True, exist_ok=True)
                    options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def measure_table(
    kind: str, model: str, folder: Path, parts: work.Parts, texts: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """One table: rows of the same work on the same model."""
    device, dtype, seconds = options.device, options.dtype, options.seconds
    setup = {"work": kind, "folder": str(folder), "texts": str(texts), "device": device, "threads": options.threads}
    workers: dict[str, Worker] = {}
    try:
        scores, left_out = {}, {}
        table_ways = [way for way in ways(kind) if not options.way or way.name in options.way]
        for way in table_ways:
            workers[way.name] = Worker(way=way.name, **setup)  # all import their libraries at once
        for way in table_ways:
            worker = workers[way.name]
            answer = worker.ask("load", dtype="float32")
            if "left_out" in answer:
                left_out[way.name] = answer["left_out"]
                workers.pop(way.name).close()
                continue
            scores[way.name] = np.array(worker.ask("check", count=CHECKED[kind] * parts.unit(kind))["scores"])
        all_differences = agreement(scores)
        precisions = {way.name: way.precision for way in table_ways if way.precision and way.name in scores}
        differences = {name: value for name, value in all_differences.items() if name not in precisions}
        if wrong := disagreements(differences):
            sys.exit(f"{kind}, {model}: these ways do not give what {next(iter(scores))} gives: {'; '.join(wrong)}")
        if dtype != "float32":
            for name, worker in list(workers.items()):
                if "left_out" in (answer := worker.ask("load", dtype=dtype)):
                    left_out[name] = answer["left_out"]
                    workers.pop(name).close()
        pilots = {name: worker.ask("pilot", seconds=seconds) for name, worker in workers.items()}
        rate_worker = workers["matrix rate"] = Worker(**setup)
        rate = rate_worker.ask("rate", device=device, dtype=dtype)["rate"]
        workers.pop("matrix rate").close()
        seconds_by_way: dict[str, list[float]] = {name: [] for name in workers}
        for _ in range(ROUNDS):
            for name, worker in workers.items():
                seconds_by_way[name].append(worker.ask("time", count=pilots[name]["texts"], seconds=seconds)["seconds"])
        memory = {name: worker.ask("memory_use") for name, worker in workers.items()}
        ours = workers.get(results.OURS)
        profile = ours.ask("profile", count=pilots[results.OURS]["texts"])["profile"] if ours else []
    finally:
        for worker in workers.values():
            worker.close()
    every = parts.texts(kind)
    cost = operations_for(kind, folder, every[: 64 * parts.unit(kind)] if kind in ("aul", "causal") else list(every))
    rows = []
    counts = {way.name: way.counts for way in table_ways}
    for name, pilot in pilots.items():
        done = float(np.resize(cost, pilot["texts"]).sum())
        second = statistics.median(seconds_by_way[name])
        rows.append(
            {
                "way": name,
                "size": pilot["size"],
                "counts": counts[name],
                "texts": pilot["texts"],
                "seconds": seconds_by_way[name],
                "per_second": done / cost.mean() / second,
                "share": done / second / rate,
                **memory[name],
            }
        )
    return {
        "work": kind,
        "model": model,
        "device": device,
        "dtype": dtype,
        "matrix_rate": rate,
        "needed": float(cost.mean()),
        "differences": differences,
        "other_precisions": {name: [each, all_differences[name]] for name, each in precisions.items()},
        "left_out": left_out,
        "profile": profile,
        "rows": rows,
    }


def command_line(module: str) -> str:
    """The command, without where its results went."""
    return re.sub(r" --json \S+", "", f"python -m {module} {' '.join(sys.argv[1:])}").strip()


def machine(device: str, threads: int | None) -> str:
    """The machine in words: its GPU, or its processor and the threads that were used."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {threads or torch.get_num_threads()} threads"


def versions() -> dict[str, str]:
    versions_by_package = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions_by_package[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions_by_package


def _options() -> argparse.Namespace:
    def several(text: str) -> list[str]:
        return [part.strip() for part in text.split(",") if part.strip()]

    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=several, default=list(work.WORKS), help="aul, pll, classify, causal")
    parser.add_argument("--model", type=several, default=[], help="bert, xlmr, gpt2, bert-classifier, embedded/lm, ...")
    parser.add_argument("--way", type=several, default=[], help="some rows only, by name")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each row takes in each round")
    parser.add_argument("--texts", type=Path, help="the texts from `python -m bench.speed.work FILE`")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if unknown := set(options.work) - set(work.WORKS):
        parser.error(f"no such work: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    main()
