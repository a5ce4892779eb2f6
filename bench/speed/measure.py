"""Matrix rate of the machine, work per text, and cost of a row: `python -m bench.speed.measure` prints the first.

    per cent of the matrix rate = work that the texts need / time / (best matrix product in this precision)

The work is counted by one formula for all rows, from the tokens that are really there: padding, copies that could be
shared, and unused vocabulary projections do not count. With L layers of width D and
feed-forward width F, vocabulary V, a text of T tokens (added ones included) and n of its own:

    pass(T)   = 2 T L (4 D^2 + 2 D F) + 4 L D T^2         (causal: 2 L D T (T + 1), since half is never looked at)
    one(T)    = pass(T) less what the last layer does for the T - 1 positions that nobody reads: (T - 1) (2 (2 D^2 +
                2 D F) + 4 D T); their keys and values remain
    read      = 2 D V, and for a masked LM 2 D^2 more for the layer before it
    aul       = pass(T) + n read
    pll       = n (one(T) + read)
    classify  = one(T) + 2 D^2 + 2 D labels
    causal    = pass(tokens before the description) + 1 read once a region; then a further token and a further read for
                each beginning of a description that no other had
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geobias.models.fast.fast_path import can_pack, pack
from geobias.texts.templates import unmark


@dataclass(frozen=True)
class Shape:
    """The numbers of a model that its work depends on."""

    layers: int
    width: int
    inner: int
    vocabulary: int
    labels: int = 0
    embedding: int = 0  # width of the vocabulary projection, where it is not the model's own

    @classmethod
    def from_config(cls, config: Any) -> Shape:
        return cls(
            config.num_hidden_layers,
            config.hidden_size,
            getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None) or 4 * config.hidden_size,
            config.vocab_size,
            config.num_labels,
            getattr(config, "embedding_size", 0) or 0,
        )

    @property
    def per_token(self) -> int:
        return 2 * self.layers * (4 * self.width**2 + 2 * self.width * self.inner)

    def through(self, tokens: int) -> int:
        return self.per_token * tokens + 4 * self.layers * self.width * tokens**2

    def to_one(self, tokens: int) -> int:
        """The same, where one position alone is read in the end."""
        savings = 2 * (2 * self.width**2 + 2 * self.width * self.inner) + 4 * self.width * tokens
        return self.through(tokens) - (tokens - 1) * savings

    def causal(self, first: int, last: int) -> int:
        """Tokens number `first` to `last` through a causal model that has kept what came before."""
        attended_pairs = (last * (last + 1) - first * (first - 1)) // 2
        return self.per_token * (last - first + 1) + 4 * self.layers * self.width * attended_pairs

    @property
    def projection(self) -> int:
        return 2 * (self.embedding or self.width) * self.vocabulary

    @property
    def masked_read(self) -> int:
        return self.projection + 2 * self.width * (self.embedding or self.width)


def operations(work: str, shape: Shape, encodings: Sequence[Any], marks: Sequence[tuple[int, int]]) -> np.ndarray:
    """Floating-point operations for each text; what neighbours share counts for the first of them."""
    counts = np.empty(len(encodings))
    before: Sequence[int] | None = None
    prefixes: set[tuple[int, ...]] = set()
    for i, (encoding, (start, end)) in enumerate(zip(encodings, marks, strict=True)):
        tokens, text_tokens = len(encoding.ids), encoding.special_tokens_mask.count(0)
        if work == "aul":
            counts[i] = shape.through(tokens) + text_tokens * shape.masked_read
        elif work == "pll":
            counts[i] = text_tokens * (shape.to_one(tokens) + shape.masked_read)
        elif work == "classify":
            counts[i] = shape.to_one(tokens) + 2 * shape.width**2 + 2 * shape.width * shape.labels
        else:
            description = [position for position, (a, b) in enumerate(encoding.offsets) if b > start and a < end]
            prefix = description[0]
            counts[i] = 0
            if encoding.ids[:prefix] != before:
                before, prefixes = encoding.ids[:prefix], set()
                counts[i] += shape.causal(1, prefix) + shape.projection
            for position in description[:-1]:
                beginning = tuple(encoding.ids[prefix : position + 1])
                if beginning not in prefixes:
                    prefixes.add(beginning)
                    counts[i] += shape.causal(position + 1, position + 1) + shape.projection
    return counts


def operations_for(work: str, folder: Path, texts: Sequence[str]) -> np.ndarray:
    """The same, from a model's folder."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    plain = [unmark(text) for text in texts]
    encodings = tokenizer([text for text, _, _ in plain]).encodings
    shape = Shape.from_config(transformers.AutoConfig.from_pretrained(folder))
    return operations(work, shape, encodings, [(start, end) for _, start, end in plain])


def matrix_rate(device: str, dtype: str, seconds: float = 1.0, square: Sequence[int] = ()) -> float:
    """Floating-point operations a second of the best of several matrix products, kept up for `seconds`."""
    import torch

    if square:
        shapes = [(n, n, n) for n in square]
    else:
        square, rows = ((4096, 8192, 16384), 65536) if device.startswith("cuda") else ((1024, 2048, 4096), 4096)
        shapes = [*((n, n, n) for n in square), (rows, 768, 3072), (rows, 3072, 768)]
    best, fastest = 0.0, shapes[0]
    with torch.inference_mode():
        for sizes in shapes:
            rate = _product_rate(sizes, device, dtype, seconds / 4)
            best, fastest = max((best, fastest), (rate, sizes))
        return max(_product_rate(fastest, device, dtype, seconds) for _ in range(2))


def _product_rate(sizes: tuple[int, int, int], device: str, dtype: str, seconds: float) -> float:
    import torch

    m, k, n = sizes
    left = torch.randn(m, k, device=device).to(getattr(torch, dtype))
    right = torch.randn(k, n, device=device).to(getattr(torch, dtype))
    out = left @ right
    repeats = 16 if device.startswith("cuda") else 1
    products = [lambda: torch.mm(left, right, out=out)]
    if can_pack(right):
        packed = pack(right.T, None)
        products.append(lambda: packed(left))
    return max(_repeats_per_second(product, repeats, device, seconds) for product in products) * 2 * m * k * n


def _repeats_per_second(product: Callable[[], Any], repeats: int, device: str, seconds: float) -> float:
    """How often a second."""
    synchronize(device)
    count, start = 0, time.perf_counter()
    while (seconds_passed := time.perf_counter() - start) < seconds or not count:
        for _ in range(repeats):
            product()
        synchronize(device)
        count += repeats
    return count / seconds_passed


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize(device)


class Memory:
    """Peak memory since `reset`, in bytes: of the GPU where there is one, otherwise of this process."""

    def __init__(self, device: str) -> None:
        self.cuda = device if device.startswith("cuda") else None

    def now(self) -> int:
        if self.cuda:
            import torch

            return torch.cuda.memory_allocated(self.cuda)
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def reset(self) -> None:
        if self.cuda:
            import torch

            torch.cuda.reset_peak_memory_stats(self.cuda)
            return
        with contextlib.suppress(OSError):  # otherwise the peak of loading counts too
            Path("/proc/self/clear_refs").write_text("5")  # Linux: the high-water mark falls to what is used now

    def peak(self) -> int:
        if self.cuda:
            import torch

            return torch.cuda.max_memory_allocated(self.cuda)
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def time_scoring(score: Callable[[Sequence[str]], Any], texts: Sequence[str], device: str) -> float:
    synchronize(device)
    start = time.perf_counter()
    score(texts)
    synchronize(device)
    return time.perf_counter() - start


if __name__ == "__main__":
    import torch

    where = "cuda" if torch.cuda.is_available() else "cpu"
    for precision in ("float32", "bfloat16"):
        print(f"{where} {precision}: {matrix_rate(where, precision) / 1e9:,.0f} GFLOP/s")
