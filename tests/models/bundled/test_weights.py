"""The models inside the package: there, small, loaded by the plain ways, and as good as their cards say."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
import spacy
import torch
from spacy.attrs import LOWER
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer

import geobias
from geobias.models.model_files import load_tokenizer
from geobias.models.sources import embedded_folder, embedded_models
from geobias.world.countries import load_cities, load_country_names

EMBEDDED = embedded_folder()
LABELS = {
    "sentiment": ["negative", "neutral", "positive"],
    "emotion": ["anger", "disgust", "fear", "joy", "neutral", "sadness", "surprise"],
    "hate": ["not-hate", "hate"],
    "offensive": ["not-offensive", "offensive"],
}


def probabilities(task: str, text: str) -> dict[str, float]:
    tokenizer = load_tokenizer(str(EMBEDDED / task), {})
    model = AutoModelForSequenceClassification.from_pretrained(EMBEDDED / task).eval()
    with torch.no_grad():
        values = model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(0).tolist()
    return {model.config.id2label[i]: value for i, value in enumerate(values)}


def test_everything_is_listed_with_task_size_and_quality() -> None:
    listed = {model.name: model for model in embedded_models()}
    assert set(listed) == {"embedded/lm", "embedded/entities", *(f"embedded/{task}" for task in LABELS)}
    for model in listed.values():
        assert model.task and model.licence and model.figures and model.bytes > 1e6


def test_all_weights_together_are_at_most_50_mb() -> None:
    finder = [EMBEDDED / "entities" / name for name in ("ner/model", "vocab/vectors", "vocab/key2row")]
    weights = [*EMBEDDED.rglob("*.safetensors"), *finder]
    assert 40e6 < sum(file.stat().st_size for file in weights) <= 50e6


@pytest.mark.parametrize("name", ["lm", "entities", *LABELS])
def test_the_card_says_what_was_measured(name: str) -> None:
    card = (EMBEDDED / name / "README.md").read_text(encoding="utf-8")
    evaluation = json.loads((EMBEDDED / name / "evaluation.json").read_text(encoding="utf-8"))
    for figure in evaluation["figures"]:
        assert str(figure["value"]) in card
        if figure["value"] < figure["required"]:
            assert str(figure["required"]) in card  # what falls short is named beside what it was to reach
    assert "not draw conclusions about people or places" in " ".join(card.split())


def test_the_language_model_loads_plainly_and_has_the_size_it_should() -> None:
    model, report = AutoModelForMaskedLM.from_pretrained(EMBEDDED / "lm", output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert model.dtype == torch.float32
    assert 8e6 <= model.num_parameters() <= 12e6


@pytest.mark.slow
def test_no_place_name_is_unknown_to_the_language_model() -> None:
    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED / "lm")
    names = {city.name for city in load_cities()} | set(load_country_names().values())
    unknown = [
        name
        for name, ids in zip(names, tokenizer(list(names), add_special_tokens=False)["input_ids"], strict=True)
        if tokenizer.unk_token_id in ids
    ]
    assert len(names) > 32000 and unknown == []


@pytest.mark.parametrize("task", LABELS)
def test_classifiers_load_plainly_with_real_labels(task: str) -> None:
    model, report = AutoModelForSequenceClassification.from_pretrained(EMBEDDED / task, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert [model.config.id2label[i] for i in range(model.config.num_labels)] == LABELS[task]
    assert model.dtype == torch.float32


@pytest.mark.parametrize(
    ("task", "text", "label"),
    [
        ("sentiment", "I love this city, best day ever!", "positive"),
        ("sentiment", "This is the worst service I have ever had.", "negative"),
        ("emotion", "So happy and excited, what a wonderful morning :)", "joy"),
        ("emotion", "I miss her so much, I can't stop crying", "sadness"),
        ("emotion", "I am so scared of what happens next", "fear"),
        ("hate", "Good morning, have a nice day everyone", "not-hate"),
        ("hate", "Muslims do not belong in our country, kick them out.", "hate"),
        ("offensive", "I love my dog.", "not-offensive"),
        ("offensive", "Shut up bitch, nobody asked you.", "offensive"),
    ],
)
def test_classifiers_know_something(task: str, text: str, label: str) -> None:
    said = probabilities(task, text)
    assert max(said, key=lambda key: said[key]) == label


def test_the_finder_finds_people_and_places() -> None:
    finder = spacy.load(EMBEDDED / "entities")
    assert finder.vocab.vectors.attr == LOWER  # lost if the pipeline is saved again; it then finds far less
    found = {(ent.text, ent.label_) for ent in finder("Angela Merkel met Narendra Modi in Lagos yesterday").ents}
    assert {("Angela Merkel", "PERSON"), ("Narendra Modi", "PERSON"), ("Lagos", "PLACE")} <= found


def test_the_sample_of_tweets_has_sound_spans() -> None:
    path = Path(geobias.__file__).parent / "texts/data/tweets.jsonl.xz"
    rows = [json.loads(line) for line in lzma.decompress(path.read_bytes()).decode().splitlines()]
    assert len(rows) == 800 and len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["persons"]
        for start, end in (*row["persons"], *row["places"]):
            name = row["text"][start:end]
            assert name and name == name.strip() and any(letter.isalpha() for letter in name)
            assert not name.startswith(("@", "#", "http")) and row["text"][max(0, start - 1) : start] not in ("@", "#")
