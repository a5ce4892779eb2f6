"""Finders of people: the embedded one, spaCy pipelines and token classifiers by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
import transformers
from spacy.language import Language

from geobias.errors import InputError
from geobias.models.finders import Entity, load_entity_finder, load_finder, widen_to_words

TEXT = "Angela Merkel met Narendra Modi in Lagos"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A spaCy pipeline that knows two people and a city."""
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns(  # type: ignore[attr-defined]
        [{"label": "PERSON", "pattern": "Zed Zeddy"}, {"label": "GPE", "pattern": "Zedland"}]
    )
    pipeline.to_disk(tmp_path / "rules")
    return tmp_path / "rules"


@pytest.fixture
def tagger(small_models: dict[str, Path], tmp_path: Path) -> Path:
    """A token classifier that calls every token a person."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(small_models["bert"])
    config = transformers.AutoConfig.from_pretrained(small_models["bert"])
    config.id2label = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-ORG"}
    config.label2id = {label: number for number, label in config.id2label.items()}
    model = transformers.AutoModelForTokenClassification.from_config(config)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([0.0, 0.0, 5.0, 0.0]))
    model.save_pretrained(tmp_path / "tagger")
    tokenizer.save_pretrained(tmp_path / "tagger")
    return tmp_path / "tagger"


def test_the_embedded_finder_finds_people_and_places() -> None:
    (people,) = load_finder()([TEXT])
    assert [TEXT[start:end] for start, end in people] == ["Angela Merkel", "Narendra Modi"]
    (entities,) = load_entity_finder().find([TEXT])
    assert [TEXT[each.start : each.end] for each in entities if each.label == "place"] == ["Lagos"]


def test_a_token_classifier_by_folder(tagger: Path) -> None:
    text = "People in France"
    assert load_finder(str(tagger))([text]) == [[(0, 16)]]


def test_a_token_classifier_reads_texts_longer_than_it_takes(tagger: Path) -> None:
    text = "People in France are kind. " * 20
    (found,) = load_finder(str(tagger))([text])
    assert max(end for _, end in found) > len(text) / 2  # the model takes a fifth of it at once


def test_pieces_of_words_become_whole_words() -> None:
    text = "Giannis met Zo-e"
    assert widen_to_words(text, [(0, 2), (3, 5), (12, 13)]) == [(0, 7), (12, 14)]


def test_a_finder_without_that_entity_is_refused(tagger: Path) -> None:
    with pytest.raises(InputError, match=r"no label for a place\. Its labels: O, ORG, PER"):
        load_entity_finder(str(tagger)).require("place")


def test_a_finder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no model"):
        load_finder("no_such_pipeline")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/meta.json").write_text("{}")
    with pytest.raises(InputError, match=r"Cannot load the spaCy pipeline"):
        load_finder(str(tmp_path / "broken"))


def test_a_function_is_a_finder() -> None:
    def find(texts: list[str]) -> list[list[tuple[int, ...]]]:
        return [[(0, 13)] for _ in texts]

    assert load_entity_finder(find).find([TEXT]) == [[Entity(0, 13, "person")]]
    assert load_finder(find)([TEXT]) == [[(0, 13)]]


def test_labels_come_along(rules: Path) -> None:
    finder = load_entity_finder(rules)
    assert finder.find(["Zed Zeddy of Zedland"]) == [[Entity(0, 9, "person"), Entity(13, 20, "place")]]
    loaded = load_entity_finder(spacy.load(rules))
    assert loaded.find(["Zed Zeddy"]) == [[Entity(0, 9, "person")]] and loaded.fingerprint == finder.fingerprint
    labelled = load_entity_finder(lambda texts: [[(0, 3, "B-ORG"), (4, 9, "PER"), (0, 1, "person")]])
    assert [entity.label for entity in labelled.find(["Zed Zeddy"])[0]] == ["B-ORG", "person", "person"]


TEXTS = ["Angela Merkel met Narendra Modi in Lagos"] * 3


@pytest.mark.parametrize(("at_once", "batch"), [(1_000_000, 1000), (100, 2), (10, 1)])
def test_fewer_texts_at_a_time_where_they_are_long(monkeypatch: pytest.MonkeyPatch, at_once: int, batch: int) -> None:
    sizes, pipe = [], Language.pipe

    def recorded(self: Any, texts: Sequence[str], **options: Any) -> Iterator[Any]:
        sizes.append(options["batch_size"])
        return pipe(self, texts, **options)

    monkeypatch.setattr(Language, "pipe", recorded)
    monkeypatch.setattr("geobias.models.finders.BATCH_CHARACTERS", at_once)
    find = load_finder()
    assert find(TEXTS) == [[(0, 13), (18, 31)]] * 3 and find([]) == []
    assert sizes[0] == min(batch, 1000)
