"""Alignment: regions come closer, words stay apart, plain text is not forgotten; the same weights after a kill."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import geobias
from geobias.errors import InputError
from geobias.models.load import load_weights
from geobias.models.training import alignment
from geobias.models.training.alignment import AlignmentSettings, align_language_model, split_for_alignment
from geobias.models.training.epochs import train_epoch
from geobias.models.training.word_scores import (
    compute_word_variance_ratio,
    make_batch,
    pseudo_perplexity,
    score_words,
    tokenise_sentences,
)
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.paraphrases import paraphrase_templates
from geobias.texts.templates import Sentences
from geobias.world.regions import load_world
from geobias.world.words import Word, herb_words
from tests.conftest import CORPUS

REGIONS = ["France", "Nigeria", "Papua New Guinea", "Curaçao"]
WORDS = ["kind", "lazy", "loyal", "honest", "hard-working"]
TEMPLATES = ["People in {region} are {description}.", "The people of {region} are {description}."]
OPTIONS: dict[str, Any] = {"epochs": 4, "batch": 4, "rate": 5e-3, "strength": 1.0}


def align(model: Path, out: Path, **options: Any) -> Path:
    data: dict[str, Any] = {"regions": REGIONS, "words": WORDS, "templates": TEMPLATES, "replay_texts": CORPUS[:5]}
    names = {field.name for field in fields(AlignmentSettings)}
    settings = OPTIONS | {name: options.pop(name) for name in names & options.keys()}
    return align_language_model(
        model, AlignmentSettings(**settings), out=out, **(data | {"device": "cpu", "progress": False} | options)
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def audit_scores(folder: Path) -> np.ndarray:
    """regions x words by the audit's own score."""
    texts = Sentences(TEMPLATES[:1], REGIONS, WORDS, marked=True)
    scores = geobias.load(folder, device="cpu", dtype="float32").scorer("conditional").score(list(texts))
    return scores[:, 0].reshape(len(REGIONS), len(WORDS))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_regions_come_closer_and_words_stay_apart(small_models: dict[str, Path], tmp_path: Path, kind: str) -> None:
    folder = align(small_models[kind], tmp_path / "out", epochs=16)
    before, after = audit_scores(small_models[kind]), audit_scores(folder)

    def spread(scores: np.ndarray) -> float:
        """How much the regions differ, beyond the level of each."""
        return float((scores - scores.mean(axis=1, keepdims=True)).std(axis=0).mean())

    assert spread(after) < 0.7 * spread(before)
    assert 0.5 < compute_word_variance_ratio(before, after) < 2
    perplexities = [
        pseudo_perplexity(model, CORPUS[:5], device="cpu").perplexity for model in (small_models[kind], folder)
    ]
    assert perplexities[1] < 1.3 * perplexities[0]


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_scores_of_words_equal_those_of_the_audit(small_models: dict[str, Path], kind: str) -> None:
    """Exactly for causal models; for masked ones where the word is one token."""
    lm = load_weights(small_models[kind], device="cpu", dtype="float32")
    sentences = tokenise_sentences(lm, TEMPLATES[:1], REGIONS, WORDS)
    with torch.no_grad():
        scores = score_words(lm.model, make_batch(lm.tokenizer, sentences)).numpy()
    lengths = np.bincount(sentences[0].words)
    kept = lengths == 1 if kind == "bert" else lengths > 0
    assert kept.any()
    np.testing.assert_allclose(scores[:, kept], audit_scores(small_models[kind])[:, kept], rtol=1e-4)


def test_stopped_after_an_epoch_it_resumes_to_the_same_weights(
    small_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = align(small_models["bert"], tmp_path / "whole", epochs=2)

    def stopped(*arguments: Any, epoch: int, **options: Any) -> float:
        if epoch == 2:
            raise KeyboardInterrupt
        return train_epoch(*arguments, epoch=epoch, **options)

    monkeypatch.setattr(alignment, "train_epoch", stopped)
    with pytest.raises(KeyboardInterrupt):
        align(small_models["bert"], tmp_path / "parts", epochs=2)
    assert not (tmp_path / "parts").exists()
    monkeypatch.undo()
    parts = align(small_models["bert"], tmp_path / "parts", epochs=2)
    expected, actual = weights(whole), weights(parts)
    assert expected.keys() == actual.keys()
    assert all(torch.equal(expected[name], actual[name]) for name in expected)
    assert align(small_models["bert"], tmp_path / "parts", epochs=2) == parts  # finished: nothing is trained again


def test_strength_is_the_share_of_the_change_that_is_kept(small_models: dict[str, Path], tmp_path: Path) -> None:
    original = weights(small_models["bert"])
    whole, half = (weights(align(small_models["bert"], tmp_path / f"{share}", strength=share)) for share in (1.0, 0.5))
    moved = [name for name in original if not torch.equal(original[name], whole[name])]
    assert moved
    for name in moved:
        torch.testing.assert_close(half[name], (original[name] + whole[name]) / 2)


def test_a_model_that_says_the_same_of_everything_is_noticed() -> None:
    before = np.array([[-1.0, -4.0, -9.0], [-2.0, -5.0, -7.0]])
    assert compute_word_variance_ratio(before, before) == pytest.approx(1)
    assert compute_word_variance_ratio(before, np.full_like(before, -3.0)) == 0
    assert compute_word_variance_ratio(before, before / 2) == pytest.approx(0.25)


def test_what_cannot_be_aligned_is_refused(small_models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Use a masked or a causal language model"):
        align(small_models["t5"], tmp_path / "t5")
    with pytest.raises(InputError, match="description comes before"):
        align(small_models["gpt2"], tmp_path / "gpt2", templates=["{description} people live in {region}."])


def test_a_folder_with_something_else_is_refused(small_models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    align(small_models["bert"], tmp_path / "first", epochs=1)
    for name in ("mine", "first"):
        with pytest.raises(InputError, match="is not a model of this training"):
            align(small_models["bert"], tmp_path / name, epochs=2)
    assert (tmp_path / "mine" / "notes.txt").read_text(encoding="utf-8") == "mine"


COUNTRIES = [region for region in load_world(cities=0, dissolved=False).regions if region.level == "country"]
ALL_TEMPLATES = paraphrase_templates(Word("kind"))


@pytest.mark.parametrize("seed", range(3))
def test_halves_share_nothing_and_cover_everything(seed: int) -> None:
    split = split_for_alignment(COUNTRIES, herb_words(), ALL_TEMPLATES, seed=seed)
    train, held_out = split.train, split.held_out
    assert {*train.regions, *held_out.regions} == set(COUNTRIES)
    assert not {region.name for region in train.regions} & {region.name for region in held_out.regions}
    assert not {word.word for word in train.words} & {word.word for word in held_out.words}
    assert {*train.templates, *held_out.templates} == set(ALL_TEMPLATES) and not {*train.templates} & {
        *held_out.templates
    }
    assert held_out.templates[0] == DEFAULT_TEMPLATE  # the audit's own
    assert abs(len(train.words) - len(held_out.words)) <= 6
    by_continent = [Counter(region.parent for region in part.regions) for part in (train, held_out)]
    assert all(abs(by_continent[0][parent] - by_continent[1][parent]) <= 4 for parent in by_continent[0])


@pytest.mark.parametrize("seed", range(5))
def test_what_gives_each_other_away_stays_together(seed: int) -> None:
    split = split_for_alignment(COUNTRIES, herb_words(), ALL_TEMPLATES, seed=seed)
    names = {region.name for region in split.train.regions}
    for group in (
        ("Guinea", "Papua New Guinea", "Guinea-Bissau"),
        ("Samoa", "American Samoa"),
        ("Sudan", "South Sudan"),
    ):
        assert len({name in names for name in group}) == 1
    words = {word.word for word in split.train.words}
    assert ("inquiring" in words) == ("inquisitive" in words)
    assert len({(word.word, word.topic) for word in split.train.words if word.word == "strong"}) in (0, 2)


def test_seeds_differ_and_repeat() -> None:
    first, again, other = (split_for_alignment(COUNTRIES, herb_words(), ALL_TEMPLATES, seed=seed) for seed in (0, 0, 1))
    assert first == again and first.train.words != other.train.words
