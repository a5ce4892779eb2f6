"""Read configuration, weights and tokenizer of a Hugging Face model, with one line for whatever can go wrong.

`compute_fingerprint` tells models apart, whichever release of transformers loads them.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
import transformers
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
from tokenizers import Tokenizer

from geobias.checks import need
from geobias.errors import InputError
from geobias.models.scorer import PROBE
from geobias.models.sources import GGUF, suggest_bundled

HUB_ANSWER_SECONDS = 60  # how long an answer of the hub is remembered
# Where a file came from, who wrote it, and in which precision: none of it changes a number. The precision in which the
# weights are loaded is part of every tensor's digest.
IGNORED_FIELDS = {"_name_or_path", "_commit_hash", "transformers_version", "dtype", "torch_dtype"}
# Where the bundled classifiers have their tokenizer from; the tokenizer itself is part of the fingerprint.
IGNORED_FIELDS |= {"tokenizer_folder", "tokenizer_normalizer"}
ADAPTER = "adapter_config.json"


def read_config(name: str, source: str) -> Any:
    """Read a model's configuration, which says what kind of model it is. No weights are loaded."""
    folder, options = _locate_files(name, source)
    try:
        with quiet_transformers():
            return _read_config(name, folder, options)
    except InputError:
        raise
    except Exception as error:
        raise InputError(_explain_failure(name, error, "language model")) from error


def _read_config(name: str, folder: str, options: Mapping[str, Any], head: Mapping[str, Any] | None = None) -> Any:
    """Read the configuration without what it says about how to compute: transformers would run code that it names.

    An attention or experts of the form "owner/kernel" are native code on the hub, which transformers fetches and runs
    if the package kernels is installed; it does so for "flash_attention_2", too. The choice is ours: its default, in
    all parts of the model. An adapter may name a module that the package peft imports; without that package the adapter
    would be ignored.
    """
    if Path(folder, ADAPTER).is_file():
        raise InputError(
            f"{name} has an adapter ({ADAPTER}), which is not loaded. Merge it with peft (merge_and_unload), and save "
            "the model to a folder of its own."
        )
    config = transformers.AutoConfig.from_pretrained(folder, **options, **(head or {}))
    config._attn_implementation = "eager" if config.output_attentions else None
    config._experts_implementation = None
    return config


def read_config_fields(source: str) -> dict[str, Any]:
    """Read the fields of config.json as they are written there; of a GGUF file, its metadata."""
    folder, options = _locate_files(source, source)
    fields, _ = transformers.PreTrainedConfig.get_config_dict(folder, **options)
    return dict(fields)


def load_pretrained(
    auto_class: Any, name: str, source: str, *, dtype: torch.dtype, kind: str, new_head: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """Load model and tokenizer from a folder or the hub: safetensors if there are any, never code from the hub.

    A model whose weights lack a part (a head that was never trained) is refused: that part would be random. If it is
    to be trained, `new_head` holds the settings of a new one.
    """
    folder, options = _locate_files(name, source)
    resize = {} if new_head is None else {"ignore_mismatched_sizes": True}
    try:
        with quiet_transformers():
            config = _read_config(name, folder, options, new_head)
            tokenizer = load_tokenizer(folder, options)
            model, report = auto_class.from_pretrained(
                folder, config=config, dtype=dtype, output_loading_info=True, **resize, **options
            )
    except InputError:
        raise
    except Exception as error:  # transformers raises errors of many kinds for a folder or name that cannot be loaded
        raise InputError(_explain_failure(name, error, kind)) from error
    _check_weights(name, model, report, kind, has_new_head=new_head is not None)
    check_tokenizer(name, tokenizer)
    return model, tokenizer


def load_tokenizer(folder: str, options: Mapping[str, Any]) -> Any:
    """Load a model's tokenizer.

    The bundled classifiers use that of the bundled language model with another normalizer; their config.json says so.
    A model trained from them is saved with a tokenizer of its own.
    """
    config = Path(folder) / "config.json"
    if (Path(folder) / "tokenizer.json").is_file() or not config.is_file():
        return transformers.AutoTokenizer.from_pretrained(folder, **options)
    fields = json.loads(config.read_text(encoding="utf-8"))
    source = Path(folder, fields.get("tokenizer_folder", "."))
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(source), **options)
    if "tokenizer_normalizer" in fields:
        backend = json.loads(tokenizer.backend_tokenizer.to_str())
        backend["normalizer"] = json.loads(Path(folder, fields["tokenizer_normalizer"]).read_text(encoding="utf-8"))
        tokenizer.backend_tokenizer.normalizer = Tokenizer.from_str(json.dumps(backend)).normalizer
    return tokenizer


def _check_weights(name: str, model: Any, report: Mapping[str, Any], kind: str, *, has_new_head: bool) -> None:
    """Refuse a model if some of its weights were not in its files."""
    missing = sorted(report["missing_keys"])
    if has_new_head:
        mismatched = [key if isinstance(key, str) else key[0] for key in report["mismatched_keys"]]
        body = f"{model.base_model_prefix}."
        missing = [key for key in (*missing, *mismatched) if key.startswith(body) and "pooler" not in key]
        if missing:
            raise InputError(
                f"The weights of {name} do not match its configuration: {missing[0]} is missing or has another size."
            )
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{name} has no trained {kind} head: its weights lack {missing[0]}{more}. Use a model trained for this "
            "task."
        )


def check_tokenizer(name: str, tokenizer: Any) -> None:
    """Refuse a tokenizer without offsets, or one that knows no word."""
    if not tokenizer.is_fast:
        raise InputError(
            f"{name} has a slow tokenizer ({type(tokenizer).__name__}), without offsets. Use a model with a fast one."
        )
    known_tokens = set(tokenizer(PROBE, add_special_tokens=False)["input_ids"]) - {tokenizer.unk_token_id}
    if not known_tokens:
        raise InputError(f"{name} has no usable tokenizer: it knows no word of {PROBE!r}. Check its tokenizer.json.")


def _locate_files(name: str, source: str) -> tuple[str, dict[str, Any]]:
    """Return the folder or the Hugging Face id of a model, and the options with which transformers reads it.

    If the hub does not answer, only local files are used: the libraries would ask it again for every file, for a
    minute, before they give up.
    """
    options: dict[str, Any] = {"trust_remote_code": False}
    if source.lower().endswith(GGUF):  # folder/file.gguf or owner/name:file.gguf
        need("gguf", "accelerate", extra="gguf", user=name)
        path = Path(source)
        source, options["gguf_file"] = (str(path.parent), path.name) if path.is_file() else source.rpartition(":")[::2]
    is_local = Path(source).is_dir()
    options["local_files_only"] = is_local or not hub_answers(source, int(time.time() // HUB_ANSWER_SECONDS))
    return source, options


@cache
def hub_answers(source: str, period: int) -> bool:
    """Whether the hub answers and has this model. It is asked once in each period of time (`period`)."""
    try:
        huggingface_hub.model_info(source, timeout=10)
    except (RepositoryNotFoundError, HFValidationError):
        raise InputError(
            f"There is no model {source!r} on the Hugging Face Hub, and no folder of that name. "
            f"{suggest_bundled(source)}"
        ) from None
    except Exception:  # no network, no answer, offline by choice
        return False
    return True


def _explain_failure(name: str, error: Exception, kind: str) -> str:
    text = " ".join(str(error).split())
    if "Unrecognized configuration class" in text:
        return f"{name} is not a {kind}: transformers has no such head for its architecture."
    if "weights_only" in text:
        return (
            f"{name} has pickled weights that hold more than numbers. They are not loaded, because a pickle can run "
            "any code. Use a model saved as model.safetensors."
        )
    if "no file named" in text:
        return f"The folder {name} has no weights (model.safetensors). Copy them there, or use another model."
    if any(hint in text for hint in ("not a valid model identifier", "couldn't connect", "Can't load", "offline")):
        return (
            f"There is no model {name!r} on this machine, and it cannot be downloaded from the Hugging Face Hub. "
            f"{suggest_bundled(name)} Check the network, or pass a local folder."
        )
    return f"Cannot load the model {name}: {text[:300]}"


def compute_fingerprint(model: Any, tokenizer: Any, config: Mapping[str, Any] | None = None) -> str:
    """Return a digest of weights, configuration and tokenizer: a copied model has the same one, a retrained another.

    `config` is what the model's files state (`read_config_fields`). The configuration object is filled up with the
    defaults of the installed transformers: a release that changes one would give every model a new fingerprint. It is
    used only for a model that was made in memory and has no files, without the fields that are defaults.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy())
    fields = _drop_ignored(model.config.to_diff_dict() if config is None else config)
    digest.update(json.dumps(fields, sort_keys=True, default=str).encode())
    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    backend = {key: part for key, part in backend.items() if key not in ("truncation", "padding")}  # set while in use
    digest.update(json.dumps(backend, sort_keys=True).encode())
    return digest.hexdigest()[:32]


def _drop_ignored(value: Any) -> Any:
    """Leave out the ignored fields at every level: models of several parts have a configuration for each."""
    if not isinstance(value, Mapping):
        return value
    return {key: _drop_ignored(part) for key, part in value.items() if key not in IGNORED_FIELDS}


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence advice and progress bars of transformers: what matters is checked here."""
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


@contextmanager
def use_attention(model: Any, implementation: str) -> Iterator[None]:
    """Let a model compute attention in another way for a while ("eager", "sdpa", or a registered name)."""
    before = model.config._attn_implementation
    model.set_attn_implementation(implementation)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
