"""Names that are not folders: one question to the hub, and what was fetched before when it does not answer."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
import transformers
from huggingface_hub.errors import RepositoryNotFoundError

from geobias.errors import InputError
from geobias.models import model_files
from geobias.models.load import load


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A hub that answers as told, and a loader that only notes how it was called."""
    said: dict[str, Any] = {"answer": None, "loaded": []}

    def model_info(name: str, **_: object) -> None:
        if said["answer"] is not None:
            raise said["answer"]

    def from_pretrained(name: str, **options: object) -> None:
        said["loaded"].append((name, options["local_files_only"], options["trust_remote_code"]))
        raise OSError("Can't load it")

    monkeypatch.setattr(huggingface_hub, "model_info", model_info)
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", from_pretrained)
    model_files.hub_answers.cache_clear()
    return said


def test_a_name_the_hub_knows_is_fetched_without_its_code(hub: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        load("bert-base-cased")
    assert hub["loaded"] == [("bert-base-cased", False, False)]


def test_without_network_only_what_was_fetched_before_is_tried(hub: dict[str, Any]) -> None:
    hub["answer"] = ConnectionError("no route")
    with pytest.raises(InputError, match="Check the network"):
        load("bert-base-cased")
    assert hub["loaded"] == [("bert-base-cased", True, False)]


def test_the_hub_is_asked_once_for_all_parts_of_a_model(hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(huggingface_hub, "model_info", lambda name, **_: asked.append(name))
    monkeypatch.setattr("time.time", lambda: 0.0)
    for _ in range(2):
        with pytest.raises(InputError):
            load("bert-base-cased")
    assert asked == ["bert-base-cased"]


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation", "_experts_implementation"])
@pytest.mark.parametrize("value", ["owner/kernel", "flash_attention_2", {"": "sdpa", "text_config": "owner/kernel"}])
@pytest.mark.parametrize("nested", [False, True])
def test_a_configuration_does_not_choose_code_on_the_hub(
    small_models: dict[str, Path], tmp_path: Path, key: str, value: Any, nested: bool
) -> None:
    """For "flash_attention_2", too, transformers may fetch native code."""
    folder = shutil.copytree(small_models["bert"], tmp_path / "model")
    fields = json.loads((folder / "config.json").read_text())
    fields |= {"text_config": {key: value}} if nested else {key: value}
    (folder / "config.json").write_text(json.dumps(fields))
    config = load(folder).model.config  # type: ignore[union-attr]
    assert config._attn_implementation == "sdpa" and "/" not in str(config._experts_implementation)


def test_an_adapter_is_neither_loaded_nor_ignored(small_models: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(small_models["bert"], tmp_path / "model")
    (folder / "adapter_config.json").write_text('{"megatron_core": "antigravity", "megatron_config": {"a": 1}}')
    with pytest.raises(InputError, match="has an adapter"):
        load(folder)


@pytest.mark.parametrize("is_zip", [True, False])
def test_pickled_weights_with_code_are_refused_in_our_own_words(
    small_models: dict[str, Path], tmp_path: Path, is_zip: bool
) -> None:
    folder = shutil.copytree(small_models["bert"], tmp_path / "model")
    (folder / "model.safetensors").unlink()
    marker = tmp_path / "ran"
    weights = {"weight": RunsCode(marker)}
    if is_zip:
        torch.save(weights, folder / "pytorch_model.bin")
    else:
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(weights, protocol=2))
    with pytest.raises(InputError, match="pickled weights") as error:
        load(folder)
    assert "weights_only" not in str(error.value) and not marker.exists()


class RunsCode:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def test_a_name_the_hub_does_not_know_is_refused_at_once(hub: dict[str, Any]) -> None:
    hub["answer"] = RepositoryNotFoundError.__new__(RepositoryNotFoundError)
    with pytest.raises(InputError, match="There is no model 'nobody/nothing' on the Hugging Face Hub"):
        load("nobody/nothing")
    assert hub["loaded"] == []


def test_a_folder_asks_no_hub(hub: dict[str, Any], small_models: dict[str, Path]) -> None:
    hub["answer"] = AssertionError("the hub was asked")
    with pytest.raises(InputError):
        load(small_models["bert"])
    assert hub["loaded"] == [(str(small_models["bert"]), True, False)]
