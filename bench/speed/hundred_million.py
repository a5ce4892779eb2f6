"""The names audit's engine, store and measures over millions of renamed texts, on Ray workers of this machine.

    python -m bench.speed.hundred_million [--millions 1,10,100] [--resume 10] [--json OUT]

The classifier is synthetic: a checksum of each text, so that nearly all of the time is the tool's. Every run is a
process of its own with an empty store. During it one worker is killed every minute. The run of `--resume` is killed
(SIGKILL) when half of its texts are scored, and started again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from geobias.files import read_block
from geobias.measures.arrays import text_blocks
from geobias.models.scorer import Classifier, probability_columns

COUNTRIES, DRAWS, CORES = 17, 50, 2
SECONDS_BETWEEN_KILLS = 60.0
POLL_SECONDS = 0.2


class ChecksumClassifier(Classifier):
    """A probability from the checksum of each text. Each worker counts its texts and its memory in a file."""

    name, labels = "checksum", ("negative", "positive")
    columns = probability_columns(labels)
    fingerprint = "checksum:1"

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def score(self, texts: Sequence[str]) -> np.ndarray:
        checksums = np.fromiter(map(zlib.crc32, map(str.encode, texts)), np.uint32, len(texts))
        positive = checksums / 2**32
        self.count += len(texts)
        temporary = self.folder.with_name(f"{os.getpid()}.tmp")
        temporary.write_text(f"{self.count} {peak_memory()} {time.process_time()}")
        temporary.replace(self.folder / str(os.getpid()))  # a kill leaves the last count
        return np.column_stack([1 - positive, positive, np.zeros(len(texts))])


def peak_memory() -> int:
    """The most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read_workers(folder: Path) -> dict[int, tuple[int, int, float]]:
    """By process, the texts that it has scored, its peak memory and its processor time."""
    contents = {int(file.name): file.read_text().split() for file in folder.iterdir()}
    return {process: (int(parts[0]), int(parts[1]), float(parts[2])) for process, parts in contents.items()}


def sum_processor_time(folder: Path) -> float:
    """The processor seconds of all workers, from when they started."""
    return sum(seconds for *_, seconds in read_workers(folder).values())


def make_rows(count: int) -> list[dict[str, Any]]:
    """Bundled tweets that name somebody, numbered so that no two are equal."""
    from geobias.texts.user_texts import sample_texts

    sample = sample_texts()
    pairs = [(text, spans) for text, spans in zip(sample.texts, sample.spans or (), strict=True) if spans]
    return [
        {"text": f"{text} {i // len(pairs)}", "spans": [list(span) for span in spans]}
        for i, (text, spans) in enumerate(pairs[i % len(pairs)] for i in range(count))
    ]


def run_audit(texts: int, folder: Path) -> None:
    """One audit in this process; its times, counts and memory go to `folder/report.json`."""
    import ray

    from geobias.audits.names.audit import audit_names
    from geobias.audits.study import prepare
    from geobias.engine.ask import compute_on

    workers = folder / "workers"
    workers.mkdir(exist_ok=True)
    classifier = ChecksumClassifier(workers)
    study = prepare(audit_names, classifier, make_rows(texts), spans="spans", draws=DRAWS, progress=False)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=CORES, num_gpus=0, include_dashboard=False, log_to_driver=False)
    start_memory, began, processor_began = peak_memory(), time.perf_counter(), time.process_time()
    killer = WorkerKiller(workers)
    with compute_on("auto", "cpu", "auto") as (device, dtype):
        answers = study.ask(study.load(device, dtype))
    killer.stop()
    report: dict[str, Any] = {
        "texts": answers[0].counts["renamed_texts"],
        "distinct": answers[0].counts["distinct_renamed_texts"],
        "scored": answers[0].work["renamed_texts_scored"] + answers[0].work["texts_scored"],
        "seconds_scoring": time.perf_counter() - began,
        "processor_seconds_scoring": time.process_time() - processor_began + sum_processor_time(workers),
        "start_memory": start_memory,
        "memory_scoring": peak_memory(),
        "workers_killed": killer.kills,
        "checksum": sum_positive(answers[0].renamed),
    }
    ray.shutdown()
    began, processor_began = time.perf_counter(), time.process_time()
    result = study.measure(answers)
    report["seconds_measuring"] = time.perf_counter() - began
    report["processor_seconds_measuring"] = time.process_time() - processor_began
    report["memory_measuring"] = peak_memory()
    report["delta"] = result.effects[0].against_originals.value
    (folder / "report.json").write_text(json.dumps(report))


def sum_positive(probabilities: np.ndarray) -> float:
    """The sum of all probabilities of the second label, block by block."""
    blocks = text_blocks(len(probabilities), int(np.prod(probabilities.shape[1:])))
    return sum(float(read_block(probabilities, block)[..., 1].sum()) for block in blocks)


class WorkerKiller:
    """A thread that kills the worker with the most texts, again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kills = folder, 0
        self._stop = threading.Event()
        self._before = set(read_workers(folder))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(SECONDS_BETWEEN_KILLS):
            alive = {
                process: count
                for process, (count, *_) in read_workers(self.folder).items()
                if process not in self._before and process != os.getpid() and Path(f"/proc/{process}").exists()
            }
            if alive:
                with suppress(ProcessLookupError):
                    os.kill(max(alive, key=alive.__getitem__), signal.SIGKILL)
                    self.kills += 1


def start_audit(texts: int, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench.speed.hundred_million", "--run", str(texts), "--folder", str(folder)]
    environment = os.environ | {"GEOBIAS_CACHE": str(folder / "store")}
    return subprocess.Popen(command, env=environment)


def measure_size(millions: float, *, is_killed: bool) -> dict[str, Any]:
    """One audit of so many million renamed texts in a process of its own; killed once on the way if `is_killed`."""
    texts = round(millions * 1e6 / COUNTRIES / DRAWS)
    folder = Path(tempfile.mkdtemp(prefix="geobias-millions-"))
    try:
        row: dict[str, Any] = {"killed": is_killed}
        if is_killed:
            (folder / "workers").mkdir()
            process = start_audit(texts, folder)
            while sum(count for count, *_ in read_workers(folder / "workers").values()) < texts * COUNTRIES * DRAWS / 2:
                if process.poll() is not None:
                    sys.exit("The audit ended before it could be killed: use more texts with --resume.")
                time.sleep(POLL_SECONDS)
            process.kill()
            process.wait()
            row["scored_before_kill"] = sum(count for count, *_ in read_workers(folder / "workers").values())
        if start_audit(texts, folder).wait():
            sys.exit(f"The audit of {millions:g} million texts failed: see the lines above.")
        row |= json.loads((folder / "report.json").read_text())
        workers = read_workers(folder / "workers")
        row["scored_in_all"] = sum(count for count, *_ in workers.values())
        row["memory_worker"] = max(memory for _, memory, _ in workers.values())
        row["store_bytes"] = sum(file.stat().st_size for file in (folder / "store").rglob("*.parquet"))
        return row
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fit_exponent(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    """The slope of log(number) on log(texts); None with fewer than two sizes."""
    points = [(row["texts"], row[name]) for row in rows if name in row and not row["killed"]]
    if len({texts for texts, _ in points}) < 2:
        return None
    sizes, numbers = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(sizes, numbers, 1)[0])


def main() -> None:
    options = _options()
    if options.run:
        run_audit(options.run, options.folder)
        return
    from bench.speed.__main__ import command_line, machine, versions
    from bench.speed.worker import wall

    rows = []
    sizes = [*((size, False) for size in options.millions), *((size, True) for size in options.resume)]
    for millions, is_killed in sizes:
        row = measure_size(millions, is_killed=is_killed)
        print(json.dumps(row), flush=True)
        rows.append(row)
    names = (
        "processor_seconds_scoring",
        "processor_seconds_measuring",
        "seconds_scoring",
        "seconds_measuring",
        "memory_scoring",
        "memory_measuring",
        "memory_worker",
        "store_bytes",
    )
    exponents = {name: fit_exponent(rows, name) for name in names}
    print(json.dumps(exponents))
    if options.json:
        run = {
            "machine": machine("cpu", CORES),
            "date": wall(),
            "command": command_line("bench.speed.hundred_million"),
            "versions": versions(),
            "tables": [],
            "millions": {"rows": rows, "exponents": exponents},
        }
        options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    def list_sizes(text: str) -> list[float]:
        return [float(part) for part in text.split(",") if part]

    parser = argparse.ArgumentParser(prog="python -m bench.speed.hundred_million")
    parser.add_argument("--millions", type=list_sizes, default=[1.0, 10.0, 100.0], help="sizes")
    parser.add_argument("--resume", type=list_sizes, default=[10.0], help="sizes of runs that are killed and resumed")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
