"""Fingerprints depend on what a model's files state, not on the installed transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import transformers

from geobias.models.load import load_weights
from geobias.models.model_files import compute_fingerprint


def fingerprint_of(folder: Path) -> str:
    return load_weights(folder, device="cpu").fingerprint


def change_config(folder: Path, copy: Path, *, without: Sequence[str] = (), **fields: Any) -> Path:
    """Copy a model's folder, and set or remove fields of its config.json."""
    shutil.copytree(folder, copy)
    config = json.loads((copy / "config.json").read_text()) | fields
    (copy / "config.json").write_text(json.dumps({key: config[key] for key in config if key not in without}))
    return copy


def change_default(monkeypatch: pytest.MonkeyPatch, config_class: Any, field: str, value: Any) -> None:
    """Simulate a release of transformers that has another default for a field."""
    create = config_class.__init__

    def create_with_default(self: Any, *arguments: Any, **fields: Any) -> None:
        create(self, *arguments, **{field: value, **fields})

    monkeypatch.setattr(config_class, "__init__", create_with_default)
    if field in vars(config_class):
        monkeypatch.setattr(config_class, field, value)


@pytest.mark.parametrize(
    ("kind", "config_class"), [("bert", transformers.BertConfig), ("gpt2", transformers.GPT2Config)]
)
@pytest.mark.parametrize(("field", "value"), [("initializer_range", 0.5), ("field_of_a_new_release", "on")])
def test_a_changed_default_leaves_it_unchanged(
    small_models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    config_class: Any,
    field: str,
    value: Any,
) -> None:
    folder = change_config(small_models[kind], tmp_path / "model", without=[field])
    before = fingerprint_of(folder)
    change_default(monkeypatch, config_class, field, value)
    assert getattr(transformers.AutoConfig.from_pretrained(folder), field) == value  # the new release is simulated
    assert fingerprint_of(folder) == before


def test_a_changed_field_changes_it(small_models: dict[str, Path], tmp_path: Path) -> None:
    before = fingerprint_of(small_models["bert"])
    assert fingerprint_of(change_config(small_models["bert"], tmp_path / "copy")) == before
    assert fingerprint_of(change_config(small_models["bert"], tmp_path / "other", layer_norm_eps=1e-3)) != before


def test_fields_that_change_no_number_are_ignored(small_models: dict[str, Path], tmp_path: Path) -> None:
    fields = {"transformers_version": "9.9", "_name_or_path": "elsewhere", "torch_dtype": "float16"}
    copy = change_config(small_models["bert"], tmp_path / "copy", without=["dtype"], **fields)
    assert fingerprint_of(copy) == fingerprint_of(small_models["bert"])


def test_a_model_in_memory_is_told_apart_by_its_configuration(small_models: dict[str, Path]) -> None:
    lm = load_weights(small_models["bert"], device="cpu")
    before = compute_fingerprint(lm.model, lm.tokenizer)
    lm.model.config.layer_norm_eps = 1e-3
    assert compute_fingerprint(lm.model, lm.tokenizer) != before
