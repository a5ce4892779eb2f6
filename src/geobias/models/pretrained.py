"""A Hugging Face model on a device, and the batches of texts that go through it.

The tokens of many texts are in flat arrays, so that NumPy works on all of them at once. Batches are of equal or nearly
equal length: padding costs work and can change a score in the last digits; equal lengths need neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch

from geobias.checks import describe_choices, shorten
from geobias.errors import InputError
from geobias.models.fast import PARTS, VARIABLE, left_out
from geobias.models.fast.fast_path import FastPath, ModelLock
from geobias.models.model_files import compute_fingerprint, load_pretrained, read_config_fields
from geobias.models.scorer import ModelIdentity
from geobias.texts.templates import select_texts

LONGEST_REASON = 120  # characters of an error of a library
TOKEN_BUDGET = {"cpu": 2048, "cuda": 131072}  # what passes between layers stays near the cache, or fills a GPU
SHARE_TEXTS = 32768  # tokenised together,
SHARE_CHARACTERS = 2**23  # or fewer, if they are long: a token takes some hundred bytes until it is read

Prepared = TypeVar("Prepared")


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
        if any(hasattr(module, "hash_seed") for module in model.modules()):
            raise InputError(f"{name} ({self.architecture}) hashes tokens at random. Use another model.")
        is_plain = os.environ.get(VARIABLE) == "0"
        self.enabled_parts = frozenset() if is_plain else frozenset(PARTS) - left_out.get()
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
        try:
            with self.lock:
                return compute(positions)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Here, and not in the block above, nothing of the try holds memory any more.
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

    def budget(self) -> int:
        """Return how many tokens go through together now: fewer once memory ran out."""
        return self.token_budget

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        """The array on the model's device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory does not suffice."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


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


def count_added_tokens(tokenizer: Any, names: Sequence[str]) -> np.ndarray:
    """How many tokens each name adds to a text, after a word: many tokenizers write the space into the name's first."""
    before, *after = map(len, tokenizer(["a", *(f"a {name}" for name in names)])["input_ids"])
    return np.array(after, dtype=int) - before


class Ragged:
    """Rows of different lengths, one after the other in a flat array. Rows of equal length are gathered by index."""

    def __init__(self, numbers: np.ndarray, lengths: np.ndarray) -> None:
        self.numbers, self.lengths = numbers, lengths
        self.starts = np.cumsum(self.lengths) - self.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return these rows, which must have equal length, as a matrix."""
        return self.numbers[self.starts[rows][:, None] + np.arange(self.lengths[rows[0]])]

    def beside(self, numbers: np.ndarray) -> Self:
        """Return other numbers with the same row lengths."""
        other = copy(self)
        other.numbers = numbers
        return other

    @cached_property
    def row(self) -> np.ndarray:
        """The row of each number."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def place(self) -> np.ndarray:
        """The position of each number in its row."""
        return np.arange(len(self.numbers)) - np.repeat(self.starts, self.lengths)

    def count(self, which: np.ndarray) -> np.ndarray:
        """Count the numbers of each row that `which` marks."""
        return np.bincount(self.row[which], minlength=len(self))


class Tokens:
    """Tokenised texts. Arrays are copied when first used: on many cores, copying takes as long as tokenising."""

    def __init__(self, encodings: Sequence[Any]) -> None:
        self._encodings = encodings
        self.ids = Ragged(self._flat("ids"), np.array([len(encoding) for encoding in encodings], dtype=np.int64))

    @cached_property
    def is_text(self) -> np.ndarray:
        """Which tokens are not special tokens that the tokenizer added."""
        return self._flat("special_tokens_mask") == 0

    @cached_property
    def kinds(self) -> Ragged:
        """The token type ids."""
        return self.ids.beside(self._flat("type_ids"))

    @cached_property
    def spans(self) -> np.ndarray:
        """The first character of each token in its text, and the one after its last."""
        return np.fromiter(chain.from_iterable(self._each("offsets")), dtype=np.int64).reshape(-1, 2)

    @cached_property
    def words(self) -> np.ndarray:
        """The word of its text that each token belongs to; -1 for none."""
        return np.fromiter((-1 if word is None else word for word in self._each("word_ids")), dtype=np.int64)

    def inside(self, start: Sequence[int], end: Sequence[int]) -> np.ndarray:
        """Return which tokens overlap the given span of their text; special tokens do not."""
        first, last = self.spans.T
        row = self.ids.row
        return self.is_text & (last > np.array(start)[row]) & (first < np.array(end)[row])

    def _flat(self, what: str) -> np.ndarray:
        return np.fromiter(self._each(what), dtype=np.int64)

    def _each(self, what: str) -> Iterator[Any]:
        """Chain one attribute of all texts. Thousands of lists held at once would keep the garbage collector busy."""
        return chain.from_iterable(getattr(encoding, what) for encoding in self._encodings)


def prepared_ahead(texts: Sequence[str], prepare: Callable[[list[str]], Prepared]) -> Iterator[tuple[int, Prepared]]:
    """Yield where each share of the texts begins, and what `prepare` makes of it. A thread prepares the next one."""

    def prepare_share(start: int) -> tuple[Prepared, int]:
        share: list[str] = []
        characters = 0
        for text in select_texts(texts, np.arange(start, min(start + SHARE_TEXTS, len(texts)))):
            share.append(text)
            characters += len(text)
            if characters >= SHARE_CHARACTERS:
                break
        return prepare(share), start + len(share)

    with ThreadPoolExecutor(1) as thread:
        start, pending = 0, thread.submit(prepare_share, 0) if len(texts) else None
        while pending is not None:
            prepared, stop = pending.result()
            pending = thread.submit(prepare_share, stop) if stop < len(texts) else None
            yield start, prepared
            start = stop


def equal_length_batches(lengths: np.ndarray, costs: np.ndarray, budget: Callable[[], int]) -> Iterator[np.ndarray]:
    """Yield positions of sequences of one length, in order, whose costs sum to at most `budget` (at least one).

    The budget is read before every batch: it falls when memory runs out.
    """
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        total_costs = np.cumsum(costs[group])
        start = 0
        while start < len(group):
            before = total_costs[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(total_costs, before + budget(), side="right")))
            yield group[start:stop]
            start = stop


def like_length_batches(lengths: np.ndarray, budget: int, *, rows: int) -> Iterator[np.ndarray]:
    """Yield positions of sequences of nearly one length (at most a quarter longer), to be padded.

    A batch has at most `budget` tokens with padding and at most `rows` rows, but at least one. Empty sequences are
    left out.
    """
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    start = 0
    while start < len(order):
        reach = np.searchsorted(lengths[order], 1.25 * lengths[order[start]] + 1, side="right")
        fits = np.arange(1, reach - start + 1) * lengths[order[start:reach]] <= budget
        stop = start + max(1, min(int(fits.sum()), rows))
        yield order[start:stop]
        start = stop
