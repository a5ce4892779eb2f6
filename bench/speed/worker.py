"""One row in its own process, so that its memory can be measured: `python -m bench.speed` starts one for each.

The parent writes one request a line to standard input, and gets one answer a line: load, check, pilot, time, memory.
All rows of a table are loaded first; then they alternate, so that a slowdown of the machine affects all.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.speed.measure import Memory, matrix_rate, time_scoring
from bench.speed.ways import Ready, Way, ways
from bench.speed.work import Parts, read
from geobias.texts.templates import select_texts

MOST_TEXTS = 512 * 112  # handed over at once: what the engine does with a long list, too
LOGITS_HELD = 4e9  # bytes: batch sizes that would need more for the vocabulary projection are not tried
PILOT_SECONDS = 1.0
KERNELS_SHOWN = 6
MOST_TEXTS_GPU = 8192 * 112
MANY = {"aul": 4, "pll": 4, "classify": 32, "causal": 4}  # units at least: enough that texts of one length fill a batch


class Row:
    """The worker's side: a way of doing a work, on one model."""

    def __init__(self, way: Way, parts: Parts, work: str, folder: str, device: str) -> None:
        self.way, self.folder, self.device = way, folder, device
        self.texts, self.unit = parts.texts(work), parts.unit(work)
        batch = -(-max(way.candidates(device)) // self.unit)
        self.least = self.unit * (MANY[work] if way.sorts else max(1, batch))
        self.most = (MOST_TEXTS_GPU if device.startswith("cuda") else MOST_TEXTS) // self.unit * self.unit
        self.work = work
        self.ready: Ready | None = None
        self.memory = Memory(device)
        self.size = way.candidates(device)[0]

    def load(self, dtype: str) -> dict[str, Any]:
        self.ready = None
        gc.collect()
        self.ready = self.way.prepare(self.folder, self.device, dtype)
        for parameter in self.ready.model.parameters():
            parameter.sum()  # read from disk now, not when it is first used
        self.model_bytes = self.memory.now()
        return {}

    def check(self, count: int) -> dict[str, Any]:
        return {"scores": self._score(self._select(count)).tolist()}

    def pilot(self, seconds: float) -> dict[str, Any]:
        """The best batch size, and how many texts fill `seconds`; it warms up as well."""
        best, short = 0.0, min(PILOT_SECONDS, seconds)
        for size in self._sizes():
            self.size, count, seconds_taken = size, self.least, 0.0
            self._score(self._select(count))  # what is done once
            while seconds_taken < short and count <= self.most:  # the last and largest count tells
                if self.device.startswith("cuda"):
                    self._score(self._select(count))  # kernels are chosen, and planned, when a size is first seen
                seconds_taken = time_scoring(self._score, self._select(count), self.device)
                rate, count = count / seconds_taken, count * max(2, min(8, int(short / seconds_taken)))
            if rate < 0.9 * best:
                break  # sizes grow, and larger ones will not be better
            if rate > best:
                best, best_size = rate, size
        self.size = best_size
        count = round(best * seconds / self.unit) * self.unit
        self.memory.reset()
        return {"size": self.size, "texts": min(max(count, self.least), self.most)}

    def time(self, count: int, seconds: float) -> dict[str, Any]:
        """Seconds for so many texts; the same again while less than nine tenths of `seconds` have passed."""
        texts, rounds, seconds_taken = self._select(count), 0, 0.0
        while not rounds or seconds_taken < 0.9 * seconds:
            seconds_taken += time_scoring(self._score, texts, self.device)
            rounds += 1
        return {"seconds": seconds_taken / rounds}

    def profile(self, count: int) -> dict[str, Any]:
        """The kernels that take most of the time, and their shares of it."""
        import torch

        device = torch.profiler.ProfilerActivity.CUDA if self.device.startswith("cuda") else None
        activities = [torch.profiler.ProfilerActivity.CPU, *([device] if device else [])]
        with torch.profiler.profile(activities=activities) as profile:
            time_scoring(self._score, self._select(count), self.device)
        seconds_by_kernel = {
            event.key: event.self_device_time_total if device else event.self_cpu_time_total
            for event in profile.key_averages()
            if not device or "CUDA" in str(event.device_type)
        }
        total = sum(seconds_by_kernel.values())
        slowest = sorted(seconds_by_kernel, key=lambda key: -seconds_by_kernel[key])[:KERNELS_SHOWN]
        return {"profile": [[name, seconds_by_kernel[name] / total] for name in slowest]}

    def memory_use(self) -> dict[str, Any]:
        peak = self.memory.peak()
        return {"peak": peak, "above_model": max(0, peak - self.model_bytes)}

    def _score(self, texts: Sequence[str]) -> Any:
        assert self.ready is not None
        return self.ready.score(texts, self.size)

    def _select(self, count: int) -> Sequence[str]:
        return select_texts(self.texts, np.arange(count) % len(self.texts))

    def _sizes(self) -> list[int]:
        """The candidates whose vocabulary projection fits; at least the smallest."""
        candidates = self.way.candidates(self.device)
        if not self.way.reads_all or len(candidates) == 1 or self.device.startswith("cuda"):
            return list(candidates)
        assert self.ready is not None
        tokens = 32 if self.work == "pll" else 12
        copies = tokens if self.work == "pll" and self.way.counts == "texts" else 1
        held = 4 * self.ready.model.config.vocab_size * tokens * copies
        return [size for size in candidates if size * held <= LOGITS_HELD] or [min(candidates)]


def serve() -> None:
    """Answer requests until there are no more. Whatever libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    setup = json.loads(sys.stdin.readline())
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if setup["threads"]:
        torch.set_num_threads(setup["threads"])
    row: Row | None = None
    if setup["way"]:
        way = next(way for way in ways(setup["work"]) if way.name == setup["way"])
        row = Row(way, read(Path(setup["texts"])), setup["work"], setup["folder"], setup["device"])
    for line in sys.stdin:
        request = json.loads(line)
        name = request.pop("do")
        call: Callable[..., dict[str, Any]] = _rate if name == "rate" else getattr(row, name)
        try:
            answer = call(**request)
        except (ImportError, _input_error()) as error:
            answer = {"left_out": str(error)}
        print(json.dumps(answer), file=answers, flush=True)


def _rate(**options: Any) -> dict[str, Any]:
    return {"rate": matrix_rate(**options)}


def _input_error() -> type[Exception]:
    from geobias.errors import InputError

    return InputError


class Worker:
    """The parent's side of a row's process."""

    def __init__(self, **setup: Any) -> None:
        self.name = setup.get("way") or "matrix rate"
        command = [sys.executable, "-m", "bench.speed.worker"]
        quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=quiet, stderr=subprocess.PIPE
        )
        self._send({"way": None, "threads": None, **setup})

    def ask(self, request: str, **options: Any) -> dict[str, Any]:
        self._send({"do": request, **options})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise RuntimeError(f"{self.name} ended while asked to {request}:\n{self.process.stderr.read()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()


def wall() -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime())


if __name__ == "__main__":
    serve()
