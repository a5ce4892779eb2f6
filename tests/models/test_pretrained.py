"""Names that are not folders: one question to the hub, and what was fetched before when it does not answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
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
