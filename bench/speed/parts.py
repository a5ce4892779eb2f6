"""Ablation of the fast path: every part left out in turn, in one process, on the same texts.

    python -m bench.speed.parts [--work aul,conditional,...] [--device cpu] [--dtype float32] [--seconds 3]
                                [--rounds 5] [--texts FILE] [--json OUT]

For each kind of work the model is loaded with all parts, once without each of them, and once plain. They alternate,
forwards and backwards, and the median time of each is divided by that with all parts: 1.30 means that the work takes
30 % longer without this part. All must give the same scores before they are timed. On a CPU the seconds are those that
the process computes, with one thread, so that others on the machine matter little.
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

from bench.speed import results, work
from bench.speed.__main__ import command_line, machine, versions
from bench.speed.models import folder_of
from bench.speed.ways import TOLERANCE
from bench.speed.worker import wall
from geobias.models.fast import PARTS, leave_out
from geobias.models.load import load_classifier, load_weights
from geobias.models.model_files import quiet_transformers
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences, mark, select_texts

PLAIN = "all"
LABELS = ("negative", "neutral", "positive")
# The name of a kind of work: the model, and the score that it is asked for (None for a classifier).
WORKS: dict[str, tuple[str, str | None]] = {
    "aul": ("embedded/lm", "aul"),
    "conditional": ("embedded/lm", "conditional"),
    "pll": ("embedded/lm", "pll"),
    "classify": ("embedded/sentiment", None),
    "causal": ("gpt2", "conditional"),
    "prompted": ("gpt2", "conditional"),
}
UNITS = {"pll": 4, "classify": 16, "prompted": 3 * 4}  # texts that belong together; of templates one region's and more
REGIONS = 40  # so few that five hundred sentences are put together from their parts, as the whole world's are
HALF_PRECISION_TOLERANCE = 0.2  # of log P, where two right evaluations differ by rounding


def texts_for(kind: str, parts: work.Parts) -> Sequence[str]:
    """The texts of a kind of work; neighbours belong together."""
    if kind in ("aul", "conditional", "causal"):
        return Sentences([DEFAULT_TEMPLATE], parts.regions[:REGIONS], parts.words, marked=kind != "aul")
    if kind == "prompted":
        return [f"Text: {text}\nThe sentiment is {mark(label)}" for text in parts.tweets for label in LABELS]
    return parts.texts(kind)


def load_scorer(kind: str, folder: Path, device: str, dtype: str, left_out: Sequence[str]) -> Any:
    """A scorer without these parts."""
    with leave_out(*left_out):
        score = WORKS[kind][1]
        if score is None:
            return load_classifier(folder, device=device, dtype=dtype)
        return load_weights(folder, device=device, dtype=dtype).scorer(score)


def measure(kind: str, parts: work.Parts, options: argparse.Namespace) -> dict[str, Any]:
    """How many times longer one kind of work takes without each part."""
    model = WORKS[kind][0]
    folder, texts = folder_of(model, parts), texts_for(kind, parts)
    unit = UNITS.get(kind, 5 * len(parts.words))
    scorer = load_scorer(kind, folder, options.device, options.dtype, [])
    scorers = {"": scorer}
    for part in scorer.fast_parts:
        scorers[part] = load_scorer(kind, folder, options.device, options.dtype, [part])
    scorers[PLAIN] = load_scorer(kind, folder, options.device, options.dtype, list(PARTS))
    sample = select_texts(texts, np.arange(unit))
    expected = scorer.score(sample)[:, 0]
    for name, other in scorers.items():
        tolerance = TOLERANCE if options.dtype == "float32" else HALF_PRECISION_TOLERANCE
        if not np.abs(other.score(sample)[:, 0] - expected).max() <= tolerance:
            raise SystemExit(f"{kind}, {model}: without {name} the scores are others.")
    count = _count_texts(scorer, texts, unit, options.seconds)
    timed_texts = select_texts(texts, np.arange(count) % len(texts))
    # What is many times slower sees fewer texts; its time is scaled.
    shares = {name: _share_in_time(other, timed_texts, unit, options.seconds) for name, other in scorers.items()}
    seconds: dict[str, list[float]] = {name: [] for name in scorers}
    for turn in range(options.rounds):
        for name in sorted(scorers, key=list(scorers).index, reverse=turn % 2 == 1):
            part = select_texts(timed_texts, np.arange(int(count * shares[name])))
            seconds[name].append(_time(scorers[name], part) * count / len(part))
    median = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "work": kind,
        "model": model,
        "device": options.device,
        "dtype": options.dtype,
        "texts": count,
        "seconds": seconds,
        "without": {name: median[name] / median[""] for name in scorers if name},
    }


def _count_texts(scorer: Any, texts: Sequence[str], unit: int, seconds: float) -> int:
    """How many texts take about so many seconds, in whole units."""
    count, seconds_needed = unit, 0.0
    while seconds_needed < seconds / 4 and count < 2**20:
        seconds_needed = _time(scorer, select_texts(texts, np.arange(count) % len(texts)))
        count *= 2
    return max(1, int(count / 2 * seconds / seconds_needed / unit)) * unit


def _share_in_time(scorer: Any, texts: Sequence[str], unit: int, seconds: float) -> float:
    """Which share of the texts takes no more than three times as many seconds."""
    seconds_needed = _time(scorer, select_texts(texts, np.arange(unit))) * len(texts) / unit
    return min(1.0, max(unit / len(texts), 3 * seconds / seconds_needed))


def _time(scorer: Any, texts: Sequence[str]) -> float:
    model = getattr(scorer, "lm", None) or scorer  # a classifier has no language model
    clock = time.process_time if model.device.type == "cpu" else time.perf_counter
    start = clock()
    scorer.score(texts)  # results are read back, so a GPU has finished
    return clock() - start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.parts", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=lambda text: text.split(","), default=list(WORKS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=Path, help="the texts from `python -m bench.speed.work FILE`")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with quiet_transformers():
        if options.device == "cpu":
            torch.set_num_threads(1)
        parts = work.read(options.texts) if options.texts else work.prepare_texts()
        run: dict[str, Any] = {
            "machine": machine(options.device, 1),
            "date": wall(),
            "command": command_line("bench.speed.parts"),
            "versions": versions(),
            "tables": [],
            "parts": [],
        }
        for kind in options.work:
            run["parts"].append(measure(kind, parts, options))
            print(results.parts(run["parts"][-1:]), flush=True)
            if options.json:
                options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
