"""Read configuration, weights and tokenizer of a Hugging Face model, with one line for whatever can go wrong."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
import transformers
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

from geobias.errors import InputError
from geobias.models.scorer import PROBE
from geobias.models.sources import split_gguf

HUB_ANSWER_SECONDS = 60  # how long an answer of the hub is remembered


def read_config(name: str, source: str) -> Any:
    """Read a model's configuration, which says what kind of model it is. No weights are loaded."""
    folder, gguf_file = split_gguf(source)
    if gguf_file:
        _require_gguf_packages(name)
    try:
        with quiet_transformers():
            return transformers.AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=_is_offline(folder), gguf_file=gguf_file
            )
    except InputError:
        raise
    except Exception as error:
        raise InputError(_explain_failure(name, error, "language model")) from error


def read_config_fields(source: str) -> dict[str, Any]:
    """Read the fields of config.json as they are written there; of a GGUF file, its metadata."""
    folder, gguf_file = split_gguf(source)
    fields, _ = transformers.PreTrainedConfig.get_config_dict(
        folder, local_files_only=_is_offline(folder), gguf_file=gguf_file
    )
    return dict(fields)


def load_pretrained(
    auto_class: Any, name: str, source: str, *, dtype: torch.dtype, kind: str, new_head: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """Load model and tokenizer from a folder or the hub: safetensors if there are any, never code from the hub.

    A model whose weights lack a part (a head that was never trained) is refused: that part would be random. If it is
    to be trained, `new_head` holds the settings of a new one.
    """
    folder, gguf_file = split_gguf(source)
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": _is_offline(folder)}
    if gguf_file:
        _require_gguf_packages(name)
        options["gguf_file"] = gguf_file
    head = {} if new_head is None else {**new_head, "ignore_mismatched_sizes": True}
    hide_progress = redirect_stderr(StringIO()) if gguf_file else nullcontext()  # the converter shows a bar
    try:
        with quiet_transformers(), hide_progress:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
            model, report = auto_class.from_pretrained(folder, dtype=dtype, output_loading_info=True, **head, **options)
    except Exception as error:  # transformers raises errors of many kinds for a folder or name that cannot be loaded
        raise InputError(_explain_failure(name, error, kind)) from error
    _check_weights(name, model, report, kind, has_new_head=new_head is not None)
    _check_tokenizer(name, tokenizer)
    return model, tokenizer


def _check_weights(name: str, model: Any, report: Mapping[str, Any], kind: str, *, has_new_head: bool) -> None:
    """Refuse a model if some of its weights were not in its files."""
    missing = sorted(report["missing_keys"])
    if has_new_head:
        mismatched = [key if isinstance(key, str) else key[0] for key in report["mismatched_keys"]]
        body = f"{model.base_model_prefix}."
        missing = [key for key in (*missing, *mismatched) if key.startswith(body) and "pooler" not in key]
        if missing:
            raise InputError(
                f"The weights of {name} do not fit its configuration: {missing[0]} is missing, or of another size."
            )
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{name} has no trained {kind} head: its weights lack {missing[0]}{more}. Give a model trained for it."
        )


def _check_tokenizer(name: str, tokenizer: Any) -> None:
    if not tokenizer.is_fast:
        raise InputError(f"{name} has a tokenizer without offsets ({type(tokenizer).__name__}); a fast one is needed.")
    known_tokens = set(tokenizer(PROBE, add_special_tokens=False)["input_ids"]) - {tokenizer.unk_token_id}
    if not known_tokens:
        raise InputError(f"{name} has no usable tokenizer (is tokenizer.json missing?): it knows no word of {PROBE!r}.")


def _require_gguf_packages(name: str) -> None:
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"{name} is a GGUF file, which takes the package {package}: pip install geobias[gguf].")


def _is_offline(source: str) -> bool:
    """Whether only local files can be used: for a folder, or if the hub does not answer.

    The libraries would ask the hub again for every file, for a minute, before they give up.
    """
    return Path(source).is_dir() or not hub_answers(source, int(time.time() // HUB_ANSWER_SECONDS))


@cache
def hub_answers(source: str, period: int) -> bool:
    """Whether the hub answers and has this model. It is asked once in each period of time (`period`)."""
    try:
        huggingface_hub.model_info(source, timeout=10)
    except (RepositoryNotFoundError, HFValidationError):
        raise InputError(
            f"There is no model {source!r} on the hub, nor a folder of that name: check the name."
        ) from None
    except Exception:  # no network, no answer, offline by choice
        return False
    return True


def _explain_failure(name: str, error: Exception, kind: str) -> str:
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
