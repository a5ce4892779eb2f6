"""A Hugging Face model on a device: what all kinds of loaded models have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np
import torch

from geobias.checks import describe_choices, shorten
from geobias.errors import InputError
from geobias.models.fast.fast_path import FastPath, ModelLock, enabled_parts
from geobias.models.model_files import compute_fingerprint, load_pretrained, read_config_fields
from geobias.models.scorer import ModelIdentity

HASH_SEED = 0
LONGEST_REASON = 120  # characters of an error of a library
TOKEN_BUDGET = {"cpu": 2048, "cuda": 131072}  # what passes between layers stays near the cache, or fills a GPU


class LoadedModel:
    """A model with its tokenizer, on a device: what all kinds of models have in common."""

    auto_class: ClassVar[Any]
    kind: ClassVar[str]

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        self.name, self.fingerprint = name, fingerprint
        self.model, self.tokenizer = model, tokenizer
        self.dtype = str(model.dtype).removeprefix("torch.")
        self.max_length = longest_input(model, tokenizer)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.architecture = type(model).__name__
        self.hashes_at_random = any(hasattr(module, "hash_seed") for module in model.modules())  # Reformer
        self.enabled_parts = enabled_parts()
        self.lock, self.tokenizer_lock = ModelLock(), ModelLock()
        self._settle()

    @classmethod
    def from_pretrained(cls, name: str, source: str, *, device: str = "auto", dtype: str = "auto") -> Self:
        """Load weights and tokenizer from a folder, a GGUF file or the hub."""
        device = resolve_device(device)
        precision = resolve_dtype(dtype, device)
        model, tokenizer = load_pretrained(cls.auto_class, name, source, dtype=precision, kind=cls.kind)
        fingerprint = compute_fingerprint(model, tokenizer, read_config_fields(source))
        return cls(name, model.to(device).eval(), tokenizer, fingerprint=fingerprint)

    def describe(self, score: str, fingerprint: str | None) -> ModelIdentity:
        """Say which model this is, for scores of this name and fingerprint."""
        fields = {name: getattr(self, name) for name in ("architecture", "parameters", "dtype", "max_length")}
        return ModelIdentity(self.name, score, fingerprint, device=self.device.type, **fields)

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
        """The parts of the fast path that this model uses, by name; none with GEOBIAS_FAST=0."""
        return self.fast.parts

    def run_model(self, module: Any, **inputs: Any) -> Any:
        """Return the output of the model, or of a part of it. What it cannot read is refused in one line.

        Architectures have limits of their own: Funnel reads no text of four tokens, X-MOD none without a language.
        """
        try:
            with seed_random_numbers(self.device) if self.hashes_at_random else nullcontext():
                return module(**inputs)
        except InputError:
            raise
        except Exception as error:  # of any kind: whatever the architecture raises
            if is_out_of_memory(error):
                raise
            lengths = [ids.shape[1] for name, ids in inputs.items() if name.endswith("input_ids")]
            reason = shorten(" ".join(str(error).split()).rstrip(".") or type(error).__name__, LONGEST_REASON)
            raise InputError(
                f"{self.name} ({self.architecture}) cannot read a text of {max(lengths, default=0)} tokens: {reason}. "
                "Use another model, or other texts."
            ) from error

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
                f"One text does not fit into the memory of {self.device}. Use --device cpu, --dtype bfloat16 or "
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

    def _within_memory(self, compute: Callable[[np.ndarray], np.ndarray], positions: np.ndarray) -> np.ndarray | None:
        """What `compute` gives; None where memory does not suffice. Nothing of the try is left behind."""
        try:
            with self.lock:
                return compute(positions)
        except RuntimeError as error:
            if is_out_of_memory(error):
                return None
            raise

    def budget(self) -> int:
        """Return how many tokens go through together now: fewer once memory ran out."""
        return self.token_budget

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        """The array on the model's device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory does not suffice."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


@contextmanager
def seed_random_numbers(device: torch.device) -> Iterator[None]:
    """Inside, torch draws the same random numbers every time; outside, nobody notices."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(HASH_SEED)
        yield


def resolve_device(device: str) -> str:
    """Return the device to compute on; `auto` is a GPU if there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(f"The device {device!r} is not available. Use --device cpu or auto.") from None
    return device


def resolve_dtype(dtype: str, device: str) -> torch.dtype:
    """Return the precision to compute in; `auto` is bfloat16 on a GPU that has it."""
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if dtype not in known:
        raise InputError(f"Unknown --dtype {dtype!r}. {describe_choices(dtype, ('auto', *known))}")
    return known[dtype]


def longest_input(model: Any, tokenizer: Any) -> int:
    """Return the longest input, in tokens, that both the tokenizer and the position embeddings allow."""
    limits = [tokenizer.model_max_length, 2**20]  # where neither names a limit
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and positions > 0:  # XLNet has -1: no limit
        embeddings = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
        offset = getattr(embeddings, "padding_idx", None)  # RoBERTa counts positions from padding_idx + 1
        limits.append(positions - (offset + 1 if offset is not None else 0))
    return int(min(limits))
