"""A Hugging Face model on a device: what all kinds of loaded models have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.fast import enabled_parts
from geobias.models.fast.fast_path import FastPath, ModelLock
from geobias.models.fast.gpu_queue import PendingResult, Which, copy_to_gpu, read_behind
from geobias.models.fingerprint import compute_fingerprint
from geobias.models.model_files import load_pretrained, read_config_fields
from geobias.models.scorer import ModelIdentity

NO_LIMIT = 2**20  # tokens, where neither tokenizer nor model names a limit
Result = TypeVar("Result")
TOKEN_BUDGET = {"cpu": 2048, "cuda": 131072}  # what passes between layers stays near the cache, or fills a GPU


class LoadedModel:
    """A model with its tokenizer, on a device: what all kinds of models have in common."""

    auto_class: ClassVar[Any]
    kind: ClassVar[str]

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.model = model
        self.tokenizer = tokenizer
        self.dtype = str(model.dtype).removeprefix("torch.")
        self.max_length = longest_input(model, tokenizer)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.architecture = type(model).__name__
        self.enabled_parts = enabled_parts()
        self.lock, self.tokenizer_lock = ModelLock(), ModelLock()
        self._settle()

    @classmethod
    def from_pretrained(cls, name: str, source: str, *, device: str = "auto", dtype: str = "auto") -> Self:
        """Load weights and tokenizer from a folder, a GGUF file or the hub."""
        device = resolve_device(device)
        model, tokenizer = load_pretrained(
            cls.auto_class, name, source, dtype=resolve_dtype(dtype, device), kind=cls.kind
        )
        fingerprint = compute_fingerprint(model, tokenizer, read_config_fields(source))
        return cls(name, model.to(device).eval(), tokenizer, fingerprint=fingerprint)

    def describe(self, score: str, fingerprint: str | None) -> ModelIdentity:
        """Say which model this is, for scores of this name and fingerprint."""
        return ModelIdentity(
            self.name,
            score,
            fingerprint,
            architecture=self.architecture,
            parameters=self.parameters,
            dtype=self.dtype,
            device=self.device.type,
            max_length=self.max_length,
        )

    def to(self, device: str) -> None:
        """Move the model to another device, as if it had been loaded there."""
        self.model.to(device)
        self._settle()

    def _settle(self) -> None:
        """Set whatever depends on the device that the model is on."""
        self.device = next(self.model.parameters()).device
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)  # measures are computed there, too
        self.token_budget = TOKEN_BUDGET.get(self.device.type, TOKEN_BUDGET["cpu"])  # tokens that go through together
        self.fast = FastPath(self.model, self.enabled_parts, self.lock)

    @property
    def fast_parts(self) -> tuple[str, ...]:
        """The parts of the fast path that this model uses, by name; none with --plain."""
        return self.fast.parts

    def fitting(
        self, positions: np.ndarray, compute: Callable[[np.ndarray], np.ndarray], budget: int | None = None
    ) -> np.ndarray:
        """Return what `compute` gives for these positions. If memory runs out, halve them, and later batches too.

        `budget` is the number of tokens that they were meant to fit into, if not the current one.
        """
        rows = self._within_memory(compute, positions)
        if rows is not None:
            return rows
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        budget = budget or self.token_budget
        if budget == 1 and len(positions) == 1:
            raise InputError(
                f"A single text is too long for the memory of {self.device}: --device cpu, --dtype bfloat16, or "
                "shorter texts."
            )
        smaller = max(1, budget // 2)
        self.token_budget = min(self.token_budget, smaller)
        half = len(positions) // 2
        parts = [part for part in (positions[:half], positions[half:]) if len(part)]  # one text may be split
        return np.concatenate([self.fitting(part, compute, smaller) for part in parts])

    def encode(
        self, texts: Sequence[str], *, special: bool = True, reserve: int = 0, knows_special: bool = True
    ) -> tuple[list[Any], np.ndarray]:
        """Tokenise texts; return as many tokens as the model can read, and how many were cut off each text.

        `special` adds the tokens that the tokenizer puts around a text; `reserve` leaves room for so many others.
        Without `knows_special`, "<|im_start|>" in a text is these letters and not that token.
        """
        # The tokenizer of transformers copies everything into lists that nobody reads: half of its time.
        tokenizer = self.tokenizer.backend_tokenizer
        with self.tokenizer_lock:  # another thread may want to truncate otherwise
            tokenizer.no_padding()
            tokenizer.enable_truncation(self.max_length - reserve, direction=self.tokenizer.truncation_side)
            tokenizer.encode_special_tokens = self.tokenizer.split_special_tokens or not knows_special
            encodings = tokenizer.encode_batch(list(texts), add_special_tokens=special)
        cut = [sum(part.special_tokens_mask.count(0) for part in encoding.overflowing) for encoding in encodings]
        return encodings, np.array(cut)

    def begun(self, positions: np.ndarray, compute: Callable[[np.ndarray], torch.Tensor]) -> PendingResult:
        """Start a batch and return a function that waits for its rows. If memory runs out, compute them at once."""
        answer = self._within_memory(compute, positions)
        if answer is not None:
            return lambda: answer.cpu().numpy()
        rows = self.fitting(positions, lambda fewer: compute(fewer).cpu().numpy())
        return lambda: rows

    def finish(self, started: Iterable[tuple[Which, PendingResult]]) -> Iterator[tuple[Which, np.ndarray]]:
        """The results of batches, in order; from a GPU each is read after the next ones were started."""
        return read_behind(started) if self.fast.queues else ((which, result()) for which, result in started)

    def _within_memory(self, compute: Callable[[np.ndarray], Result], positions: np.ndarray) -> Result | None:
        """What `compute` gives; None where memory does not suffice. Nothing of the try is left behind."""
        try:
            with self.lock:
                return compute(positions)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error):
                return None
            raise

    def budget(self) -> int:
        """Return how many tokens go through together now: fewer once memory ran out."""
        return self.token_budget

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        """The array on the model's device."""
        if self.fast.queues:
            return copy_to_gpu(array, self.device)
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def resolve_device(device: str) -> str:
    """Return the device to compute on; `auto` is a GPU if there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(f"The device {device!r} is not available here; try --device cpu.") from None
    return device


def resolve_dtype(dtype: str, device: str) -> torch.dtype:
    """Return the precision to compute in; `auto` is bfloat16 on a GPU that has it."""
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if dtype == "auto":
        fast = device.startswith("cuda") and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32
    if dtype not in known:
        raise InputError(f"Unknown precision {dtype!r}: choose auto, {', '.join(known)}.")
    return known[dtype]


def longest_input(model: Any, tokenizer: Any) -> int:
    """Return the longest input, in tokens, that both the tokenizer and the position embeddings allow."""
    limits = [tokenizer.model_max_length, NO_LIMIT]
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and positions > 0:  # XLNet has -1: no limit
        embeddings = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
        offset = getattr(embeddings, "padding_idx", None)  # RoBERTa counts positions from padding_idx + 1
        limits.append(positions - (offset + 1 if offset is not None else 0))
    return int(min(limits))
