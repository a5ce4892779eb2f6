"""Names in a mitigation.json that somebody else wrote: nothing is imported or downloaded unless the user repeats it."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import spacy
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import geobias
from geobias import extensions
from geobias.models.finders import EMBEDDED_FINDER, digest_files, find_pipeline_folder
from geobias.models.wrappers import BlindClassifier
from geobias.world.gazetteer import load_gazetteer, select_for_mitigation
from tests.conftest import Run
from tests.models.mitigated.planted import make_texts

EVIL = """
import pathlib
pathlib.Path({marker!r}).touch()
def f(texts):
    return [{{"negative": 0.5, "positive": 0.5}} for _ in texts]
def find(texts):
    return [[] for _ in texts]
"""
SETTINGS = {
    "format": 1,
    "method": "blind",
    "placeholder": "Sam",
    "model": "embedded/sentiment",
    "finder": "embedded/entities",
    "dtype": None,
    "model_fingerprint": None,
}


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with blind/evil.py; the file that it writes when it is imported."""
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "imported"
    (tmp_path / "blind").mkdir()
    (tmp_path / "blind/evil.py").write_text(EVIL.format(marker=str(marker)))
    yield marker
    for name in ("blind", "blind.evil"):  # a namespace package has no file
        sys.modules.pop(name, None)


def write(folder: str | Path, **settings: Any) -> str:
    """Write a mitigation.json; return its name as a model."""
    Path(folder).mkdir(exist_ok=True)
    finder = find_pipeline_folder(str(settings.get("finder", EMBEDDED_FINDER)))
    fingerprint = {"finder_fingerprint": finder and digest_files(finder)}
    (Path(folder) / "mitigation.json").write_text(json.dumps(SETTINGS | fingerprint | settings))
    return f"mitigated:{Path(folder).resolve()}"


@pytest.mark.parametrize("key", ["model", "finder"])
@pytest.mark.parametrize(
    "name", ["blind.evil:f", "antigravity:x", "owner/model", "en_core_web_sm", "declared", "models/relative"]
)
def test_a_name_in_the_file_is_neither_imported_nor_downloaded(
    evil: Path, monkeypatch: pytest.MonkeyPatch, key: str, name: str
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("this name was looked up")

    point = EntryPoint("declared", "blind.evil:f", extensions.SCORERS)
    monkeypatch.setattr(extensions, "list_extensions", lambda group: {"declared": point})
    monkeypatch.setattr(huggingface_hub, "model_info", refuse)
    monkeypatch.setattr(spacy, "load", refuse)
    with pytest.raises(geobias.InputError, match=f"--allow {name}"):
        geobias.load_classifier(write("blind", **{key: name}))
    assert not evil.exists() and "antigravity" not in sys.modules


def test_a_wrapper_around_another_is_neither_made_nor_loaded(evil: Path) -> None:
    names = ["blind.evil:f", "blind.evil:find"]
    inner = write("blind", finder=names[1], model=names[0])
    with pytest.raises(geobias.InputError):
        geobias.load_classifier(write("outer", model=inner), allow=[*names, inner])
    assert not evil.exists()
    with pytest.raises(geobias.InputError, match="is mitigated already"):
        BlindClassifier(geobias.load_classifier(inner, allow=names))


def test_a_function_itself_may_be_allowed(evil: Path) -> None:
    def judge(texts: list[str]) -> list[dict[str, float]]:
        return [{"negative": 0.25, "positive": 0.75} for _ in texts]

    judge.__module__, judge.__qualname__ = "blind.evil", "f"
    wrapper = geobias.load_classifier(write("blind", model="blind.evil:f"), allow=judge)
    assert wrapper.score(["Mary came."])[0, 1] == 0.75 and not evil.exists()


WAYS = [
    ("names", "--draws", "2", "--countries", "FR,PL"),
    ("names", "--plan", "--draws", "2", "--countries", "FR,PL"),
    ("downstream", "--countries", "FR,PL"),
    ("downstream", "--plan", "--countries", "FR,PL"),
    ("mitigate", "--method", "blind", "--draws", "2", "--countries", "FR,PL"),
    ("audit",),
    ("audit", "--plan"),
]


COMMANDS = ("names", "downstream", "mitigate", "decide", "audit", "find", "regions", "compare", "map", "gate", "export")


@pytest.mark.parametrize(("key", "name"), [("model", "blind.evil:f"), ("finder", "owner/model")])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_imports_or_fetches_what_a_file_names(
    run: Run, evil: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str, key: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was called")

    for function in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, function, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    model = write("outer", **{key: name})
    code, _, err = run(command, model, *(["--rule", "findings.clear <= 0"] if command == "gate" else []))
    assert code == 2 and err.count("\n") == 1 and not evil.exists()
    if command in ("names", "downstream", "mitigate", "audit"):
        assert f"--allow {name}" in err
        code, _, err = run(command, model, "--allow", "blind.evil:other", "--allow", "other/model")
        assert code == 2 and f"--allow {name}" in err and not evil.exists()
        with pytest.raises(geobias.InputError, match=f"--allow {name}"):
            geobias.load_classifier(model, allow="blind.evil:other")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(way[:2]))
def test_every_command_refuses_it_and_takes_it_once_allowed(run: Run, evil: Path, way: tuple[str, ...]) -> None:
    Path("texts.txt").write_text("\n".join(make_texts(5)))
    command, *options = way
    arguments = (command, write("blind", model="blind.evil:f"), "--texts", "texts.txt", *options)
    code, _, err = run(*arguments)
    assert code == 2 and "--allow blind.evil:f" in err and not evil.exists()
    if command != "audit":  # which takes long
        code, _, err = run(*arguments, "--allow", "blind.evil:f")
        assert evil.exists() and (code, "is mitigated already" in err) == (
            (2, True) if command == "mitigate" else (0, False)
        )


@pytest.mark.parametrize(
    "files",
    [
        {"pytorch_model.bin": b""},
        {"model.safetensors": b"", "meta.json": b"{}"},  # a spaCy pipeline
    ],
)
def test_a_folder_whose_files_could_run_code_has_to_be_allowed(tmp_path: Path, files: dict[str, bytes]) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for name, content in {"config.json": b"{}", **files}.items():
        (model / name).write_bytes(content)
    with pytest.raises(geobias.InputError, match=f"--allow {model}"):
        geobias.load_classifier(write(tmp_path / "blind", model=str(model)))


def test_bundled_models_and_safe_folders_need_no_permission(tmp_path: Path) -> None:
    for model in ("embedded/sentiment", str(save_skops(tmp_path))):
        folder = geobias.save_mitigated(BlindClassifier(model), tmp_path / Path(model).name.replace(".", "-"))
        assert geobias.load_classifier(f"mitigated:{folder}").labels


def save_skops(folder: Path, texts: tuple[str, ...] = ("good day", "awful day")) -> Path:
    import skops.io

    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, ["positive", "negative"])
    skops.io.dump(pipeline, folder / "model.skops")
    return folder / "model.skops"


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    folder = geobias.save_mitigated(BlindClassifier(str(save_skops(tmp_path))), tmp_path / "blind")
    save_skops(tmp_path, ("fine", "bad"))
    with pytest.raises(geobias.InputError, match=r"model\.skops has changed"):
        geobias.load_classifier(f"mitigated:{folder}")


def test_other_names_or_another_finder_are_refused_before_anything_is_imported(evil: Path) -> None:
    names = select_for_mitigation(load_gazetteer()).digest
    average = {"method": "average:4", "seed": 0, "model": "blind.evil:f", "finder_fingerprint": "another"}
    with pytest.raises(geobias.InputError, match="The list of names has changed"):
        geobias.load_classifier(write("blind", **average, names="another"), allow="blind.evil:f")
    with pytest.raises(geobias.InputError, match="embedded/entities has changed"):
        geobias.load_classifier(write("blind", **average, names=names), allow="blind.evil:f")
    assert not evil.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"model": None},
        {"model": " "},
        {"finder": ["embedded/entities"]},
        {"placeholder": 3},
        {"dtype": "float8"},
        {"model_fingerprint": {}},
        {"method": "average:0", "seed": 0, "names": "a"},
        {"method": "average:1e3", "seed": 0, "names": "a"},
        {"method": "average:8", "seed": 1.5, "names": "a"},
        {"method": "average:8", "seed": True, "names": "a"},
        {"method": "average:8", "seed": 0, "names": None},
    ],
    ids=str,
)
def test_values_of_a_wrong_type_are_damage(tmp_path: Path, change: dict[str, Any]) -> None:
    name = write(tmp_path / "blind", **change)
    with pytest.raises(geobias.InputError, match=r"mitigation\.json is damaged"):
        geobias.load_classifier(name)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff", b"[]", b"{"])
def test_what_is_no_json_object_is_damage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mitigation.json").write_bytes(content)
    with pytest.raises(geobias.InputError, match=r"mitigation\.json is damaged"):
        geobias.load_classifier(f"mitigated:{tmp_path}")


def test_names_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    for model in ("/" + "a" * 5000, "/a\0b", "\ud800", "mitigated:/" + "b/" * 3000, "mitigated:/a\0b"):
        with pytest.raises(geobias.InputError):
            geobias.load_classifier(write(tmp_path / "blind", model=model))
