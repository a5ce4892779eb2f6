"""Blind and averaging classifiers: what the wrapped classifier reads, and how they are saved and loaded."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch

import geobias
from geobias.models.functions import FunctionClassifier
from geobias.models.mitigated import PeopleReader, UnreadableTextWarning
from geobias.models.wrappers import AveragingClassifier, BlindClassifier
from geobias.world.gazetteer import is_for_mitigation
from tests.conftest import spell
from tests.models.mitigated.planted import dislike_poland, find_everybody, make_texts, name_of

SEEN: list[str] = []
ALLOW = ["tests.models.mitigated.planted:dislike_poland", "tests.models.mitigated.planted:find_everybody"]


def judge(texts: list[str]) -> np.ndarray:
    """Scores depend on the letters of the whole text, so a different text has a different score."""
    SEEN.extend(texts)
    good = np.array([(sum(map(ord, text)) % 97) / 100 for text in texts])
    return np.column_stack([1 - good, good])


judge.labels = ["negative", "positive"]  # type: ignore[attr-defined]
judge.fingerprint = "1"  # type: ignore[attr-defined]


def test_a_blind_classifier_reads_the_placeholder_in_the_case_of_the_name() -> None:
    SEEN.clear()
    blind = BlindClassifier(judge, find_everybody)
    blind(["I met Mary Smith at noon.", "I met MARY SMITH at noon.", "Nobody came."])
    assert {"I met Sam at noon.", "I met SAM at noon.", "Nobody came."} <= set(SEEN)
    assert not any("mary" in text.lower() for text in SEEN)


@pytest.mark.parametrize(
    "wrapper", [BlindClassifier(judge, find_everybody), AveragingClassifier(judge, 4, find_everybody)]
)
def test_texts_that_differ_in_names_only_get_the_same_answer(wrapper: BlindClassifier) -> None:
    texts = [f"I met {name} in town, and Dr. Who." for name in ("Mary Smith", "Kwame Mensah", "Nguyễn Thị Hoa")]
    answers = wrapper(texts)
    assert (answers == answers[0]).all() and answers.shape == (3, 2)
    assert wrapper.predict(texts) == [["negative", "positive"][answers[0].argmax()]] * 3


def test_a_lone_name_is_a_first_name_wherever_it_comes_from() -> None:
    wrapper = AveragingClassifier(judge, 2, find_everybody)
    first, last = ("I met Mary at noon.", "I met Smith at noon.")  # a first name, and a last name to the gazetteer
    assert (wrapper([first]) == wrapper([last])).all()
    assert (wrapper([first]) != wrapper(["Then I met Mary at noon."])).any()


def test_averaging_is_the_mean_over_balanced_names_for_mitigation() -> None:
    SEEN.clear()
    wrapper = AveragingClassifier(judge, 8, find_everybody)
    texts = make_texts(60)
    answers = wrapper(texts)
    versions = [
        wrapper.list_versions(text, read.people) for text, read in zip(texts, wrapper.reader.read(texts), strict=True)
    ]
    assert all(len(set(each)) == 8 for each in versions)
    expected = np.stack([judge(each).mean(axis=0) for each in versions])
    np.testing.assert_allclose(answers, expected)
    names = [name_of(version) for each in versions for version in each]
    gazetteer = wrapper.names
    firsts = [
        next(
            (code, kind)
            for kind in ("male", "female")
            for code in wrapper.countries
            for each in gazetteer.names(code, kind)
            if name.startswith(f"{each} ")
        )
        for name in names
    ]
    genders = Counter(kind for _, kind in firsts)
    assert 0.4 < genders["male"] / len(names) < 0.6  # names that both have count as men's here
    all_names = {name for code in wrapper.countries for kind in gazetteer.kinds for name in gazetteer.names(code, kind)}
    assert all(map(is_for_mitigation, all_names)) and len(wrapper.countries) > 100


def test_equal_texts_and_equal_versions_are_scored_once() -> None:
    wrapper = AveragingClassifier(judge, 3, find_everybody)
    texts = [f"I met {name} in town." for name in ("Mary Smith", "John Brown")] * 5 + ["Hello."] * 5
    SEEN.clear()
    wrapper(texts)
    assert len(SEEN) == len(set(SEEN)) == 4


def test_texts_in_another_language_are_counted_and_warned_about() -> None:
    wrapper = BlindClassifier(judge)  # the bundled finder, which reads English
    texts = [
        "I met Mary Smith in town and we talked about the weather.",
        "Ayer encontré a mi vecina en el mercado porque quería comprar pan.",
        "Вчера я видел Марию на рынке, она покупала хлеб.",
        "ok",
    ]
    with pytest.warns(UnreadableTextWarning, match="2 of 4 texts are in a language that embedded/entities does not"):
        wrapper(texts)
    assert wrapper.score(texts)[:, -1].tolist() == [0, 1, 1, 0]
    assert "is unknown" in BlindClassifier(judge, find_everybody).notes[0]


def test_an_audit_counts_texts_in_another_language() -> None:
    foreign = "Ayer encontré a mi vecina en el mercado porque quería comprar pan."
    texts = [*make_texts(5), *(f"{foreign} {spell(n)}" for n in range(3))]
    result = geobias.audit_names(BlindClassifier(judge), texts, countries="PL,FR", draws=2)
    assert any("3 of 8 texts seem to be in a language" in note for note in result.classifiers[0].notes)


def test_a_wrapper_is_saved_and_loaded_by_name(tmp_path: Path) -> None:
    wrapper = AveragingClassifier("tests.models.mitigated.planted:dislike_poland", 4, find_everybody, seed=3)
    folder = geobias.save_mitigated(wrapper, tmp_path / "saved")
    loaded = geobias.load_classifier(f"mitigated:{folder}", allow=ALLOW)
    texts = make_texts(6)
    np.testing.assert_array_equal(loaded.score(texts), wrapper.score(texts))
    assert loaded.name == f"mitigated:{folder}" and loaded.fingerprint == wrapper.fingerprint
    assert wrapper.fingerprint != AveragingClassifier(dislike_poland, 5, find_everybody, seed=3).fingerprint
    with pytest.raises(geobias.InputError, match=r"saved exists and is not empty\. Choose another folder\."):
        geobias.save_mitigated(wrapper, folder)


def test_a_wrapper_of_a_changed_model_is_refused(tmp_path: Path) -> None:
    folder = geobias.save_mitigated(
        BlindClassifier("tests.models.mitigated.planted:dislike_poland", find_everybody), tmp_path / "a"
    )
    content = json.loads((folder / "mitigation.json").read_text())
    (folder / "mitigation.json").write_text(json.dumps(content | {"model_fingerprint": "another"}))
    with pytest.raises(geobias.InputError, match=r"dislike_poland has changed since .* was saved"):
        geobias.load_classifier(f"mitigated:{folder}", allow=ALLOW)
    (folder / "mitigation.json").write_text("[]")
    with pytest.raises(geobias.InputError, match=r"mitigation.json is damaged"):
        geobias.load_classifier(f"mitigated:{folder}")
    with pytest.raises(geobias.InputError, match=r"has no mitigation.json\. Name a folder"):
        geobias.load_classifier(f"mitigated:{tmp_path}")


def test_a_new_version_of_the_scores_is_no_other_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dislike_poland, "fingerprint", "1", raising=False)
    folder = geobias.save_mitigated(BlindClassifier(dislike_poland_name(), find_everybody), tmp_path / "a")
    monkeypatch.setattr(FunctionClassifier, "version", 2)
    assert geobias.load_classifier(f"mitigated:{folder}", allow=ALLOW).fingerprint
    monkeypatch.setattr(dislike_poland, "fingerprint", "2")
    with pytest.raises(geobias.InputError, match="dislike_poland has changed"):
        geobias.load_classifier(f"mitigated:{folder}", allow=ALLOW)


def test_paths_are_absolute_and_the_precision_is_that_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finder: Any = spacy.blank("en")
    finder.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Mary"}])
    finder.to_disk("finder")
    wrapper = AveragingClassifier("embedded/sentiment", 2, "finder")
    shutil.copytree(geobias.save_mitigated(wrapper, "saved"), "copy")
    content = json.loads((tmp_path / "copy/mitigation.json").read_text())
    assert content["finder"] == str(tmp_path / "finder")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    copy = geobias.load_classifier("mitigated:../copy", allow=content["finder"], device="cpu", dtype="bfloat16")
    assert isinstance(copy, AveragingClassifier)
    network = copy.classifier.model  # type: ignore[attr-defined]
    assert {weight.dtype for weight in network.parameters()} == {torch.bfloat16}
    (tmp_path / "copy/mitigation.json").write_text(json.dumps(content | {"model_fingerprint": "another"}))
    with pytest.raises(geobias.InputError, match="embedded/sentiment has changed"):
        geobias.load_classifier("mitigated:../copy", allow=content["finder"], device="cpu", dtype="bfloat16")


def test_what_no_name_stands_for_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(geobias.InputError, match="cannot be loaded by a name, so its wrapper cannot be saved"):
        geobias.save_mitigated(
            BlindClassifier(lambda texts: [{"a": 0.5, "b": 0.5} for _ in texts], find_everybody), tmp_path / "a"
        )
    with pytest.raises(geobias.InputError, match="is no importable function"):
        geobias.save_mitigated(
            BlindClassifier(dislike_poland_name(), lambda texts: [[] for _ in texts]), tmp_path / "a"
        )
    assert not (tmp_path / "a").exists()


def dislike_poland_name() -> str:
    return "tests.models.mitigated.planted:dislike_poland"


@pytest.mark.parametrize("copies", [0, -1, 5000])
def test_bad_numbers_of_copies(copies: int) -> None:
    with pytest.raises(geobias.InputError, match="K of average:K"):
        AveragingClassifier(judge, copies, find_everybody)
    with pytest.raises(geobias.InputError, match="placeholder of a blind classifier is empty"):
        BlindClassifier(judge, find_everybody, placeholder=" ")


def test_a_reader_reads_a_text_once() -> None:
    calls: list[int] = []

    def find(texts: list[str]) -> list[list[tuple[int, int]]]:
        calls.append(len(texts))
        return [[] for _ in texts]

    reader = PeopleReader(find)
    for wrapper in (BlindClassifier(judge, reader), AveragingClassifier(judge, 2, reader)):
        wrapper(["Hello.", "Hello.", "Good bye."])
    assert calls == [2]
