"""Loading a Hugging Face model so that whatever can go wrong is said in one sentence, and telling what was loaded."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import huggingface_hub
import numpy as np
import torch
import transformers
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

from geobias.errors import InputError
from geobias.models.fast import enabled_parts
from geobias.models.fast.fast_path import FastPath, ModelLock
from geobias.models.fast.gpu_queue import PendingResult, Which, copy_to_gpu, read_behind
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, EMBEDDED_LM, GGUF, PROBE

REMEMBERED = 60  # seconds for which an answer of the hub is taken for granted
NO_LIMIT = 2**20  # tokens, where neither tokenizer nor model names a limit
Result = TypeVar("Result")
TOKEN_BUDGET = {"cpu": 2048, "cuda": 131072}  # what passes between layers stays near the cache, or fills a GPU


class LoadedModel:
    """A model with its tokenizer, and what tells it apart: all that is alike for every kind of model."""

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
        where = resolve_device(device)
        model, tokenizer = pretrained(cls.auto_class, name, source, dtype=resolve_dtype(dtype, where), kind=cls.kind)
        identity = fingerprint(model, tokenizer)
        return cls(name, model.to(where).eval(), tokenizer, fingerprint=identity)

    def to(self, device: str) -> None:
        """Move it to another device, as if it had been loaded there."""
        self.model.to(device)
        self._settle()

    def _settle(self) -> None:
        """Whatever depends on the device that the model is on."""
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
        self, some: np.ndarray, compute: Callable[[np.ndarray], np.ndarray], budget: int | None = None
    ) -> np.ndarray:
        """What `compute` gives for some texts; where memory does not suffice in halves, and smaller batches after.

        `budget` is what these were meant to fit into, if not what it is now.
        """
        found = self._within_memory(compute, some)
        if found is not None:
            return found
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        budget = budget or self.token_budget
        if budget == 1 and len(some) == 1:
            raise InputError(
                f"A single text is too long for the memory of {self.device}: --device cpu, --dtype bfloat16, or "
                "shorter texts."
            )
        smaller = max(1, budget // 2)
        self.token_budget = min(self.token_budget, smaller)
        half = len(some) // 2
        parts = [part for part in (some[:half], some[half:]) if len(part)]  # one alone may go through in parts itself
        return np.concatenate([self.fitting(part, compute, smaller) for part in parts])

    def encode(
        self, texts: Sequence[str], *, special: bool = True, reserve: int = 0, knows_special: bool = True
    ) -> tuple[list[Any], np.ndarray]:
        """The texts as tokens, as many as the model can read, and how many were cut off each.

        `special` adds the tokens that the tokenizer puts around a text; `reserve` leaves room for so many others.
        Without `knows_special`, "<|im_start|>" in a text is these letters and not that token.
        """
        # The tokenizer itself would copy everything into lists that nobody reads: half of its time.
        tokenizer = self.tokenizer.backend_tokenizer
        with self.tokenizer_lock:  # another thread may want to truncate otherwise
            tokenizer.no_padding()
            tokenizer.enable_truncation(self.max_length - reserve, direction=self.tokenizer.truncation_side)
            tokenizer.encode_special_tokens = self.tokenizer.split_special_tokens or not knows_special
            encodings = tokenizer.encode_batch(list(texts), add_special_tokens=special)
        cut = [sum(part.special_tokens_mask.count(0) for part in encoding.overflowing) for encoding in encodings]
        return encodings, np.array(cut)

    def begun(self, some: np.ndarray, compute: Callable[[np.ndarray], torch.Tensor]) -> PendingResult:
        """Start a batch, and give what will have its answer. Where memory does not suffice it is had at once."""
        answer = self._within_memory(compute, some)
        if answer is not None:
            return lambda: answer.cpu().numpy()
        found = self.fitting(some, lambda fewer: compute(fewer).cpu().numpy())
        return lambda: found

    def finish(self, started: Iterable[tuple[Which, PendingResult]]) -> Iterator[tuple[Which, np.ndarray]]:
        """The results of batches, in order; from a GPU each is read after the next ones were started."""
        return read_behind(started) if self.fast.queues else ((which, result()) for which, result in started)

    def _within_memory(self, compute: Callable[[np.ndarray], Result], some: np.ndarray) -> Result | None:
        """What `compute` gives; None where memory does not suffice. Nothing of the try is left behind."""
        try:
            with self.lock:
                return compute(some)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error):
                return None
            raise

    def budget(self) -> int:
        """How many tokens go through together now; fewer once memory did not suffice."""
        return self.token_budget

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        """The array on the model's device."""
        if self.fast.queues:
            return copy_to_gpu(array, self.device)
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def resolve_device(device: str) -> str:
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(f"The device {device!r} is not available here; try --device cpu.") from None
    return device


def resolve_dtype(dtype: str, device: str) -> torch.dtype:
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if dtype == "auto":
        fast = device.startswith("cuda") and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32
    if dtype not in known:
        raise InputError(f"Unknown precision {dtype!r}: choose auto, {', '.join(known)}.")
    return known[dtype]


def configuration(name: str, source: str) -> Any:
    """A model's configuration alone, which says what kind of model it is."""
    folder, file = gguf_parts(source)
    if file:
        _need_gguf_reader(name)
    try:
        with quiet_transformers():
            return transformers.AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=_hub_out_of_reach(folder), gguf_file=file
            )
    except InputError:
        raise
    except Exception as error:
        raise InputError(_why_not_loaded(name, error, "language model")) from error


def pretrained(
    auto_class: Any, name: str, source: str, *, dtype: torch.dtype, kind: str, new_head: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """Model and tokenizer from a folder or the hub: safetensors where they exist, never code from the hub.

    A model whose weights lack a part (a head that was never trained) is refused: that part would be random. Unless
    it is to be trained: `new_head` says how it shall be.
    """
    source, file = gguf_parts(source)
    how: dict[str, Any] = {"trust_remote_code": False, "local_files_only": _hub_out_of_reach(source)}
    if file:
        _need_gguf_reader(name)
        how["gguf_file"] = file
    head = {} if new_head is None else {**new_head, "ignore_mismatched_sizes": True}
    try:
        with quiet_transformers(), redirect_stderr(StringIO()) if file else nullcontext():  # a bar of the converter's
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **how)
            model, report = auto_class.from_pretrained(source, dtype=dtype, output_loading_info=True, **head, **how)
    except Exception as error:  # the library raises errors of many kinds for a folder or name that cannot be loaded
        raise InputError(_why_not_loaded(name, error, kind)) from error
    missing = sorted(report["missing_keys"])
    if new_head is not None:
        wrong = [key if isinstance(key, str) else key[0] for key in report["mismatched_keys"]]
        body = f"{model.base_model_prefix}."
        missing = [key for key in (*missing, *wrong) if key.startswith(body) and "pooler" not in key]
        if missing:
            raise InputError(
                f"The weights of {name} do not fit its configuration: {missing[0]} is missing, or of another size."
            )
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{name} has no trained {kind} head: its weights lack {missing[0]}{more}. Give a model trained for it."
        )
    if not tokenizer.is_fast:
        raise InputError(f"{name} has a tokenizer without offsets ({type(tokenizer).__name__}); a fast one is needed.")
    known = set(tokenizer(PROBE, add_special_tokens=False)["input_ids"]) - {tokenizer.unk_token_id}
    if not known:
        raise InputError(f"{name} has no usable tokenizer (is tokenizer.json missing?): it knows no word of {PROBE!r}.")
    return model, tokenizer


def gguf_parts(source: str) -> tuple[str, str | None]:
    """Folder or Hugging Face id, and the GGUF file in it: from folder/file.gguf, or owner/name:file.gguf."""
    if not source.lower().endswith(GGUF):
        return source, None
    path = Path(source)
    if path.is_file():
        return str(path.parent), path.name
    repository, _, file = source.rpartition(":")
    return repository, file


def _need_gguf_reader(name: str) -> None:
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"{name} is a GGUF file, which takes the package {package}: pip install geobias[gguf].")


def _hub_out_of_reach(source: str) -> bool:
    """Ask the hub once for a name that is not a folder; without an answer only what was fetched before is tried.

    Left to themselves the libraries would ask again for every file, for a minute, before they give up.
    """
    return Path(source).is_dir() or not hub_answers(source, int(time.time() // REMEMBERED))


@cache
def hub_answers(source: str, when: int) -> bool:
    """Whether the hub has this model; asked once for all of its parts, and anew after a while (`when`)."""
    try:
        huggingface_hub.model_info(source, timeout=10)
    except (RepositoryNotFoundError, HFValidationError):
        raise InputError(
            f"There is no model {source!r} on the hub, nor a folder of that name: check the name."
        ) from None
    except Exception:  # no network, no answer, offline by choice
        return False
    return True


def _why_not_loaded(name: str, error: Exception, kind: str) -> str:
    text = " ".join(str(error).split())
    if "Unrecognized configuration class" in text:
        return f"{name} is not a {kind}: its architecture has no such form in transformers."
    if "no file named" in text:
        return f"The folder {name} holds no weights (model.safetensors): copy them there, or name another model."
    if any(hint in text for hint in ("not a valid model identifier", "couldn't connect", "Can't load", "offline")):
        return (
            f"There is no model {name!r} on this machine, and it cannot be fetched from the hub: check the name and "
            "the network, or give a local folder."
        )
    return f"The model {name} cannot be loaded: {text[:300]}"


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No advice and no bars while a model is read or written: what matters is checked and said in our own words."""
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def longest_input(model: Any, tokenizer: Any) -> int:
    """The longest input, in tokens, that both the tokenizer and the position embeddings allow."""
    limits = [tokenizer.model_max_length, NO_LIMIT]
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and positions > 0:  # XLNet has -1: no limit
        embeddings = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
        offset = getattr(embeddings, "padding_idx", None)  # RoBERTa counts positions from padding_idx + 1
        limits.append(positions - (offset + 1 if offset is not None else 0))
    return int(min(limits))


def fingerprint(model: Any, tokenizer: Any) -> str:
    """A digest of weights, configuration and tokenizer: a copied model has the same, a retrained one another."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy())
    volatile = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
    config = {key: value for key, value in model.config.to_diff_dict().items() if key not in volatile}
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    for state in ("truncation", "padding"):  # set by use, not by the model
        backend.pop(state, None)
    digest.update(json.dumps(backend, sort_keys=True).encode())
    return digest.hexdigest()[:32]


def base_model(name: str, source: str) -> str | None:
    """The language model that this one was fine-tuned from, as its card names it; None where nothing tells."""
    if name in EMBEDDED_CLASSIFIERS:
        return EMBEDDED_LM
    try:
        if Path(source).is_dir():
            card: Any = huggingface_hub.ModelCard.load(Path(source) / "README.md").data
        else:
            card = huggingface_hub.model_info(source, timeout=10).card_data
    except Exception:  # no card, a broken one, no hub: the base is worth naming, never worth failing for
        return None
    base = getattr(card, "base_model", None)
    if isinstance(base, list) and base:
        base = base[0]
    return base if isinstance(base, str) else None
