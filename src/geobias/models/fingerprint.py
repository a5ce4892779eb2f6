"""A digest that tells models apart, whichever release of transformers loads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch

# Where a file came from, who wrote it, and in which precision: none of it changes a number. The precision in which the
# weights are loaded is part of every tensor's digest.
IGNORED_FIELDS = {"_name_or_path", "_commit_hash", "transformers_version", "dtype", "torch_dtype"}


def compute_fingerprint(model: Any, tokenizer: Any, config: Mapping[str, Any] | None = None) -> str:
    """Return a digest of weights, configuration and tokenizer: a copied model has the same one, a retrained another.

    `config` is the configuration as the model's files state it (`pretrained.read_config_fields`). The configuration
    object would not do: it is filled up with the defaults of the installed transformers, so that a release that
    changes one would give every model a new fingerprint. A model that was made in memory has no files. Then the
    fields in which its configuration differs from the defaults are all there is, and they hold for this release only.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy())
    fields = _drop_ignored(model.config.to_diff_dict() if config is None else config)
    digest.update(json.dumps(fields, sort_keys=True, default=str).encode())
    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    for state in ("truncation", "padding"):  # set while the tokenizer is used
        backend.pop(state, None)
    digest.update(json.dumps(backend, sort_keys=True).encode())
    return digest.hexdigest()[:32]


def _drop_ignored(value: Any) -> Any:
    """Leave out the ignored fields at every level: models of several parts have a configuration for each."""
    if not isinstance(value, Mapping):
        return value
    return {key: _drop_ignored(part) for key, part in value.items() if key not in IGNORED_FIELDS}
