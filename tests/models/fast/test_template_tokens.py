"""Sentences put together from tokens of their parts: the same scores as of sentences tokenised whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from geobias.errors import InputError
from geobias.models.fast import PARTS, leave_out, templates
from geobias.models.fast.templates import ComposedSentences, compose_template
from geobias.models.load import load_masked
from geobias.texts.templates import Sentences, TextSelection
from tests.conftest import MASKED

REGIONS = ["France", "Nigeria", "Guinea", "Åland", "Chad", "The dog", "Nigeria"]
WORDS = ["kind", "hard-working", "shy", "loyal and", "loud", "lazy", "quick"]
TEMPLATES = ["People in {region} are {description}.", "The {description} fox, {region}, of {region}."]
SENTENCES = Sentences(TEMPLATES, REGIONS, WORDS)


@pytest.fixture
def all_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geobias.models.language_model.SAMPLE_SIZE", -1000)  # however few there are


@pytest.mark.parametrize("kind", MASKED)
def test_composed_sentences_score_as_whole_ones(kind: str, small_models: dict[str, Path], all_composed: None) -> None:
    lm = load_masked(small_models[kind])
    scorer = lm.scorer("aul")
    whole = scorer.score(list(SENTENCES))
    tokenised: list[int] = []
    encode = lm.encode
    lm.encode = lambda texts, **more: tokenised.append(len(texts)) or encode(texts, **more)  # type: ignore[method-assign,func-returns-value]
    some = np.random.default_rng(1).permutation(len(SENTENCES))[:80]
    np.testing.assert_allclose(scorer.score(TextSelection(SENTENCES, some)), whole[some], atol=1e-5)
    templates = len(TEMPLATES)
    assert tokenised == [len(REGIONS), len(WORDS), len(REGIONS) * len(WORDS)] * templates  # parts and a sample


@pytest.mark.parametrize("kind", MASKED)
def test_masked_words_of_composed_sentences_score_as_in_whole_ones(
    kind: str, small_models: dict[str, Path], all_composed: None
) -> None:
    lm = load_masked(small_models[kind])
    scorer = lm.scorer("conditional")
    sentences = Sentences(TEMPLATES, REGIONS, WORDS, marked=True)
    whole = scorer.score(list(sentences))
    some = np.random.default_rng(1).permutation(len(sentences))[:80]
    assert scorer._find_templates(TextSelection(sentences, some)) is not None
    for budget in (lm.token_budget, 40):
        lm.token_budget = budget
        np.testing.assert_allclose(scorer.score(TextSelection(sentences, some)), whole[some], atol=1e-5)
    few = np.arange(0, len(sentences), len(WORDS))  # a word for each region
    assert scorer._find_templates(TextSelection(sentences, few)) is None
    np.testing.assert_allclose(scorer.score(TextSelection(sentences, few)), whole[few], atol=1e-5)


@pytest.mark.parametrize("words", [["kind", "shy", "loud", "lazy"], ["kind", "hard", "hard-working", "lazy-working"]])
def test_words_that_are_masked_alike_share_a_pass(
    words: list[str], small_models: dict[str, Path], all_composed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of words of one length in tokens, the first is always read from one sentence."""
    lm = load_masked(small_models["bert"])
    sentences = Sentences(TEMPLATES, REGIONS[:3], words, marked=True)
    pieces = [lm.tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    contexts = {(len(word), *word[:place]) for word in pieces for place in range(len(word))}
    passes: list[int] = []
    states = lm.states
    monkeypatch.setattr(lm, "states", lambda ids: passes.append(len(ids)) or states(ids))  # type: ignore[func-returns-value]
    scores = lm.scorer("conditional").score(TextSelection(sentences, np.arange(len(sentences))))
    assert sum(passes) == len(TEMPLATES) * 3 * len(contexts)
    assert (len(contexts) == 1) == all(len(word) == 1 for word in pieces)
    monkeypatch.undo()
    with leave_out(*PARTS):
        plain = load_masked(small_models["bert"]).scorer("conditional")
    order = np.random.default_rng(2).permutation(len(sentences))
    expected = plain.score([sentences[int(index)] for index in order])
    np.testing.assert_allclose(scores[order], expected, atol=1e-5)


@pytest.mark.parametrize("kind", MASKED)
def test_the_ids_are_the_tokenizers_own(kind: str, small_models: dict[str, Path]) -> None:
    lm = load_masked(small_models[kind])
    for template in range(len(TEMPLATES)):
        parts = compose_template(lambda some: lm.encode(some)[0], SENTENCES, template, max_length=40)
        assert parts is not None
        region, word = (places.ravel() for places in np.mgrid[: len(REGIONS), : len(WORDS)])
        rows = ComposedSentences(parts, region, word, torch.from_numpy)
        for at in range(len(region)):
            ids, own = rows.ids(np.array([at]))
            encoding = lm.tokenizer(SENTENCES.at(template, region[at], word[at]), return_special_tokens_mask=True)
            assert ids[0].tolist() == encoding["input_ids"]
            assert ids[0, own].tolist() == [
                token
                for token, special in zip(encoding["input_ids"], encoding["special_tokens_mask"], strict=True)
                if not special
            ]


def test_what_does_not_compose_is_tokenised_whole(small_models: dict[str, Path], all_composed: None) -> None:
    """A tokenizer that writes a word otherwise after another region."""
    lm = load_masked(small_models["bert"])

    encode = lm.encode

    def fickle(texts: Any, **more: Any) -> Any:
        return encode([text.replace("Chad are kind", "Chad are quick") for text in texts], **more)

    lm.encode = fickle  # type: ignore[method-assign]
    assert compose_template(lambda some: lm.encode(some)[0], SENTENCES, 0, max_length=40) is None
    scorer = lm.scorer("aul")
    np.testing.assert_allclose(
        scorer.score(TextSelection(SENTENCES, np.arange(len(SENTENCES)))), scorer.score(list(SENTENCES)), atol=1e-6
    )


@pytest.mark.parametrize("changed", [("are lazy.", "are lazy the"), ("Guinea are", "Guinea and")])
def test_what_a_single_word_or_region_changes_is_noticed(
    changed: tuple[str, str], small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few sentences are compared: each word and each region was tokenised in one."""
    monkeypatch.setattr(templates, "SAMPLE_SIZE", 0)
    lm = load_masked(small_models["bert"])

    def tokenise(some: Any) -> Any:
        return lm.encode([text.replace(*changed) for text in some])[0]

    assert compose_template(lambda some: lm.encode(some)[0], SENTENCES, 0, max_length=40) is not None
    assert (compose_template(tokenise, SENTENCES, 0, max_length=40) is None) == (changed[0] == "are lazy.")


def test_sentences_that_are_cut_off_are_not_composed(small_models: dict[str, Path]) -> None:
    lm = load_masked(small_models["bert"])
    long = Sentences(TEMPLATES[:1], ["France", "People in France and " * 20], WORDS)
    assert compose_template(lambda some: lm.encode(some)[0], long, 0, max_length=40) is None
    lengths = [len(encoding.ids) for encoding in lm.encode(list(Sentences(TEMPLATES[:1], REGIONS, WORDS)))[0]]
    for limit, fits in ((max(lengths), True), (max(lengths) - 1, False)):  # also where only one pair is too long
        found = compose_template(lambda some: lm.encode(some)[0], SENTENCES, 0, max_length=limit)
        assert (found is not None) == fits


def test_equal_names_and_words_are_known_without_a_look() -> None:
    twice = Sentences(TEMPLATES, REGIONS, [*WORDS, "kind"])
    first, which = twice.find_distinct()
    texts = list(twice)
    assert len(first) == len(set(texts)) and [texts[i] for i in first[which]] == texts
    assert all(texts.index(texts[i]) == i for i in first)


@pytest.mark.parametrize("as_block", [True, False])
def test_a_batch_that_does_not_fit_is_halved(
    small_models: dict[str, Path], as_block: bool, all_composed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = load_masked(small_models["bert"])
    scorer = lm.scorer("aul")
    texts: Any = TextSelection(SENTENCES, np.arange(len(SENTENCES))) if as_block else list(SENTENCES)
    expected = scorer.score(texts)
    states, budget = lm.states, lm.token_budget

    def small_memory(ids: torch.Tensor) -> torch.Tensor:
        if len(ids) > 3:
            raise torch.OutOfMemoryError("no more")
        return states(ids)

    monkeypatch.setattr(lm, "states", small_memory)
    np.testing.assert_allclose(scorer.score(texts), expected, atol=1e-5)
    assert lm.token_budget < budget

    def no_memory(ids: torch.Tensor) -> torch.Tensor:
        raise torch.OutOfMemoryError("none")

    monkeypatch.setattr(lm, "states", no_memory)
    with pytest.raises(InputError, match="One text does not fit into the memory of cpu"):
        scorer.score(texts)
