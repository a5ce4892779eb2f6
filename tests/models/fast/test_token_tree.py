"""Continuations as a tree: the same scores as of whole sentences, each token through the model once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from geobias.models.fast.templates import TemplateTokens
from geobias.models.fast.token_tree import PREFIX_END, build_token_tree, max_tree
from geobias.models.load import load_weights
from geobias.texts.templates import Sentences, TextSelection

REGIONS = ["France", "Nigeria", "Papua New Guinea", "Åland", "Chad", "The dog", "Nigeria"]
WORDS = ["kind", "hard-working", "shy", "hard", "loyal and honest", "lazy", "quick"]
TEMPLATES = ["People in {region} are {description}.", "The dog of {region} is {description}, and jumps"]
METHODS = ("mean", "sum", "conditional")


@pytest.fixture(autouse=True)
def all_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geobias.models.language_model.SAMPLE_SIZE", -1000)  # however few there are


def loaded(folder: Path) -> Any:
    """A model that takes trees of this size, though no text is as long."""
    lm: Any = load_weights(folder)
    lm.max_length = 400
    return lm


def test_a_tree_by_hand() -> None:
    tree = build_token_tree([[5], [5, 6], [5, 7, 8], [9, 6]], [0, 0, 1, 1])
    assert tree.nodes.tolist() == [5, 7, 9]  # 5; 5 7; 9: each last token is foretold, and nothing after it
    assert tree.parents.tolist() == [PREFIX_END, 0, PREFIX_END]
    assert tree.depths.tolist() == [0, 1, 0]
    reads = list(zip(tree.predicted_at.tolist(), tree.targets.tolist(), tree.owners.tolist(), strict=True))
    assert reads == [(-1, 5, 0), (-1, 5, 1), (0, 6, 1), (0, 7, 2), (1, 8, 2), (2, 6, 3)]
    assert tree.positions(2).tolist() == [0, 1, 2, 3, 2]
    assert tree.visible(2).astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["gpt2", "llama", "bloom"])
def test_as_whole_sentences(kind: str, method: str, small_models: dict[str, Path]) -> None:
    lm = loaded(small_models[kind])
    assert lm.fast.token_tree == (kind != "bloom")  # whose positions are in its mask
    scorer = lm.scorer(method)
    sentences = Sentences(TEMPLATES, REGIONS, WORDS, marked=method == "conditional")
    whole = scorer.score(list(sentences))
    some = np.random.default_rng(1).permutation(len(sentences))[:80]
    tokenised: list[str] = []
    encode = lm.encode
    lm.encode = lambda texts, **more: tokenised.extend(texts) or encode(texts, **more)  # type: ignore[func-returns-value]
    np.testing.assert_allclose(scorer.score(TextSelection(sentences, some)), whole[some], atol=2e-5)
    if kind != "bloom":
        assert len(tokenised) == 2 * (len(REGIONS) + len(WORDS) + len(REGIONS) * len(WORDS))  # parts and a sample


def test_all_words_of_a_region_in_one_pass(small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    lm = loaded(small_models["gpt2"])
    scorer = lm.scorer("conditional")
    sentences = Sentences(TEMPLATES[:1], REGIONS, WORDS, marked=True)
    seen: list[int] = []
    read = lm.read_tree
    monkeypatch.setattr(lm, "read_tree", lambda begun, tree: seen.append(len(begun)) or read(begun, tree))  # type: ignore[func-returns-value]
    monkeypatch.setattr(lm, "states", None)
    scorer.score(TextSelection(sentences, np.arange(len(sentences))))
    assert sum(seen) == len(REGIONS)


@pytest.mark.parametrize("budget", [1, 60, 150, 10_000])
def test_whatever_goes_together(budget: int, small_models: dict[str, Path]) -> None:
    lm = loaded(small_models["llama"])
    sentences = Sentences(TEMPLATES, REGIONS, WORDS)
    whole = lm.scorer("mean").score(list(sentences))
    lm.token_budget = budget
    found = lm.scorer("mean").score(TextSelection(sentences, np.arange(len(sentences))))
    np.testing.assert_allclose(found, whole, atol=2e-5)


def test_memory_that_does_not_suffice(small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    lm = loaded(small_models["gpt2"])
    sentences = Sentences(TEMPLATES, REGIONS, WORDS, marked=True)
    sentences_read = list(Sentences(TEMPLATES, REGIONS, WORDS))
    read, states = lm.read_tree, lm.states

    def at_most(compute: Any, rows: int) -> Any:
        def tried(given: Any, *more: Any) -> Any:
            if len(given) > rows:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return compute(given, *more)

        return tried

    scorer = lm.scorer("conditional")
    expected = scorer.score(list(sentences))
    budget = lm.token_budget
    monkeypatch.setattr(lm, "read_tree", at_most(read, 1))
    found = scorer.score(TextSelection(sentences, np.arange(len(sentences))))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert lm.token_budget < budget
    whole = lm.scorer("mean")
    by_mean = whole.score(sentences_read)
    lm.token_budget, goes_on = budget, lm.read_on
    monkeypatch.setattr(lm, "read_on", at_most(goes_on, 2))
    np.testing.assert_allclose(whole.score(sentences_read), by_mean, atol=1e-5)
    assert lm.token_budget < budget
    lm.token_budget, lm.fast.shared_prefixes = budget, False
    monkeypatch.setattr(lm, "states", at_most(states, 3))
    np.testing.assert_allclose(scorer.score(list(sentences)), expected, atol=1e-5)
    assert budget // 128 < lm.token_budget < budget  # it falls as far as it must, and no further


def test_a_few_words_and_regions_after_the_word_are_read_one_by_one(small_models: dict[str, Path]) -> None:
    lm = loaded(small_models["gpt2"])
    scorer = lm.scorer("mean")
    sentences = Sentences(["The {description} dog of {region}."], REGIONS, WORDS)
    everything = TextSelection(sentences, np.arange(len(sentences)))
    assert scorer._find_templates(everything) is None
    np.testing.assert_allclose(scorer.score(everything), scorer.score(list(sentences)), atol=1e-5)
    sentences = Sentences(TEMPLATES[:1], REGIONS, WORDS)
    one_word_each = TextSelection(sentences, np.arange(len(REGIONS)) * len(WORDS))
    assert scorer._find_templates(one_word_each) is None
    everything = TextSelection(sentences, np.arange(len(sentences)))
    assert isinstance(scorer._find_templates(everything)[0][0].tokens, TemplateTokens)


@pytest.mark.parametrize("window", [20, 40])
def test_models_that_do_not_look_back_far(window: int, small_models: dict[str, Path], tmp_path: Path) -> None:
    """A mask of one's own replaces the window of such a model, so that a tree must fit into it."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(small_models["llama"])
    config = transformers.MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        sliding_window=window,
        max_position_embeddings=200,
    )
    torch.manual_seed(3)
    model = transformers.MistralForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(tmp_path)
    tokenizer.model_max_length = 200
    tokenizer.save_pretrained(tmp_path)
    lm: Any = load_weights(tmp_path)
    assert lm.fast.token_tree and max_tree(lm) == window
    sentences = Sentences(["The quick dog jumps over people in {region}, who are {description}."], REGIONS, WORDS)
    scorer = lm.scorer("mean")
    found = scorer.score(TextSelection(sentences, np.arange(len(sentences))))[:, 0]
    for text, score in zip(sentences, found, strict=True):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            table = model.eval()(ids).logits[0].double().log_softmax(-1)
        assert score == pytest.approx(float(table[:-1].gather(1, ids[0, 1:, None]).mean()), abs=1e-5)


def test_a_word_at_the_very_beginning_is_read_one_by_one(small_models: dict[str, Path]) -> None:
    lm = loaded(small_models["gpt2"])
    scorer = lm.scorer("conditional")
    scorer.begin = []
    sentences = Sentences(["{description} dogs of {region}."], REGIONS, WORDS, marked=True)
    found = scorer.score(TextSelection(sentences, np.arange(len(sentences))))
    np.testing.assert_allclose(found, scorer.score(list(sentences)), atol=1e-5)
