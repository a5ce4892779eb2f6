"""Scores of causal LMs against the same numbers worked out plainly, one sentence at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from geobias.errors import InputError
from geobias.models.causal import CausalLM
from geobias.models.fast.shared_prefixes import find_runs
from geobias.models.load import load
from geobias.texts.templates import Sentences, mark, unmark
from tests.conftest import CAUSAL

WORDS = ["kind", "hard-working", "shy", "loud", "straightforward", "kind of loyal"]
NAMES = ["France", "Nigeria", "Papua New Guinea"]
SENTENCES = list(Sentences(["People in {region} are {description}."], NAMES, WORDS, marked=True))
TEXTS = [unmark(text)[0] for text in SENTENCES] + ["France", "São Tomé, Curaçao", "The quick brown fox jumps."]


@pytest.fixture(scope="module")
def loaded(small_models: dict[str, Path]) -> dict[str, CausalLM]:
    found = {kind: load(small_models[kind]) for kind in CAUSAL}
    assert all(isinstance(lm, CausalLM) for lm in found.values())
    return found  # type: ignore[return-value]


def plain_log_p(lm: CausalLM, text: str, begin: str) -> list[tuple[float, int, int]]:
    """For each token of a text its log P from one pass over the whole text, and from where to where it stands."""
    encoding = lm.tokenizer(begin + text, add_special_tokens=False, return_offsets_mapping=True)
    ids = encoding["input_ids"]
    with torch.no_grad():
        table = torch.log_softmax(lm.model(torch.tensor([ids])).logits[0].double(), -1)
    rows = zip(range(1, len(ids)), ids[1:], encoding["offset_mapping"][1:], strict=True)
    return [(float(table[at - 1, token]), a - len(begin), b - len(begin)) for at, token, (a, b) in rows]


BEGINS = {"gpt2": "<|endoftext|>", "bloom": "<|endoftext|>", "llama": "<s>"}


@pytest.mark.parametrize("kind", CAUSAL)
def test_mean_and_sum_are_over_every_token_given_those_before_it(loaded: dict[str, CausalLM], kind: str) -> None:
    lm = loaded[kind]
    log_p = [[value for value, _, _ in plain_log_p(lm, text, BEGINS[kind])] for text in TEXTS]
    means, sums = lm.scorer("mean").score(TEXTS), lm.scorer("sum").score(TEXTS)
    np.testing.assert_allclose(means[:, 0], [np.mean(values) for values in log_p], atol=1e-5)
    np.testing.assert_allclose(sums[:, 0], [np.sum(values) for values in log_p], atol=1e-4)
    assert means[:, 1].tolist() == [len(values) for values in log_p]


@pytest.mark.parametrize("kind", CAUSAL)
def test_conditional_counts_the_marked_tokens_alone(loaded: dict[str, CausalLM], kind: str) -> None:
    lm = loaded[kind]
    scores = lm.scorer("conditional").score(SENTENCES)
    for row, marked in zip(scores, SENTENCES, strict=True):
        text, start, end = unmark(marked)
        inside = [p for p, a, b in plain_log_p(lm, text, BEGINS[kind]) if b > start and a < end]
        assert row[1] == len(inside) > 0
        np.testing.assert_allclose(row[0], np.mean(inside), atol=1e-5)


@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize("method", CausalLM.methods)
def test_kept_beginnings_change_nothing(loaded: dict[str, CausalLM], kind: str, method: str) -> None:
    lm = loaded[kind]
    assert lm.fast.shared_prefixes
    scorer = lm.scorer(method)
    texts = SENTENCES if method == "conditional" else TEXTS
    kept = scorer.score(texts)
    lm.fast.shared_prefixes = False
    try:
        plain = scorer.score(texts)
    finally:
        lm.fast.shared_prefixes = True
    np.testing.assert_allclose(kept, plain, atol=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_ends_of_one_stem_are_read_together(
    loaded: dict[str, CausalLM], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm, plain = loaded[kind], loaded[kind].read_on
    read: list[int] = []

    def counted(ids: np.ndarray, *more: Any) -> Any:
        read.append(ids.size)
        return plain(ids, *more)

    monkeypatch.setattr(lm, "read_on", counted)
    texts = [f"The quick brown fox jumps over {name}, {end}" for name in NAMES for end in ("honest", "loyal")]
    scores, tokens = [], []
    for forked in (True, False):
        monkeypatch.setattr(lm.fast, "forked_rows", forked)
        read.clear()
        scores.append(lm.scorer("sum").score(texts))
        tokens.append(sum(read))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)
    assert tokens[0] < 0.9 * tokens[1]


@pytest.mark.parametrize("kind", CAUSAL)
def test_a_score_does_not_depend_on_its_batch_or_order(
    loaded: dict[str, CausalLM], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = loaded[kind].scorer("mean")
    expected = scorer.score(TEXTS)
    order = np.random.default_rng(0).permutation(len(TEXTS))
    np.testing.assert_allclose(scorer.score([TEXTS[i] for i in order]), expected[order], atol=1e-5)
    monkeypatch.setattr(loaded[kind], "token_budget", 7)
    np.testing.assert_allclose(scorer.score(TEXTS), expected, atol=1e-5)
    np.testing.assert_allclose(np.concatenate([scorer.score([text]) for text in TEXTS]), expected, atol=1e-5)


def test_a_text_is_cut_where_the_model_ends(loaded: dict[str, CausalLM]) -> None:
    long = "People in France are kind. " * 20
    rows = loaded["gpt2"].scorer("mean").score([long, mark("kind") + long])
    assert rows[0, 1] == 59 and rows[0, 3] > 100
    beyond = loaded["gpt2"].scorer("conditional").score([long + mark("kind")])
    assert np.isnan(beyond[0, 0]) and beyond[0, 1] == 0


def test_without_a_token_that_begins_a_text_the_first_is_not_counted(small_models: dict[str, Path]) -> None:
    lm = load(small_models["gpt2"])
    assert isinstance(lm, CausalLM)
    with_begin = lm.scorer("mean").score(["People in France"])
    lm.begin = []
    assert lm.scorer("mean").score(["People in France"])[0, 1] == with_begin[0, 1] - 1


def test_a_model_that_keeps_no_keys_is_asked_plainly(
    small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise NotImplementedError("no such cache")

    monkeypatch.setattr("geobias.models.fast.shared_prefixes.repeat_cache", refuses)
    lm = load(small_models["gpt2"])
    assert isinstance(lm, CausalLM) and not lm.fast.shared_prefixes
    assert np.isfinite(lm.scorer("conditional").score(SENTENCES)[:, 0]).all()


@pytest.mark.parametrize("kind", ["opt", "mamba", "openai-gpt", "xlnet", "mistral"])
def test_other_architectures_are_asked_too(kind: str, tmp_path: Path, small_models: dict[str, Path]) -> None:
    """A core of another name, states in place of keys, no limit of positions, a window."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(small_models["gpt2"])
    size: Any = {"vocab_size": len(tokenizer)}
    four: Any = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 24}
    config: Any = {
        "opt": lambda: transformers.OPTConfig(**size, **four, ffn_dim=24, word_embed_proj_dim=16),
        "mamba": lambda: transformers.MambaConfig(**size, hidden_size=16, num_hidden_layers=2, state_size=4),
        "openai-gpt": lambda: transformers.OpenAIGPTConfig(**size, n_positions=60, n_embd=16, n_layer=2, n_head=2),
        "xlnet": lambda: transformers.XLNetConfig(**size, d_model=16, n_layer=2, n_head=2, d_inner=24),
        "mistral": lambda: transformers.MistralConfig(**size, **four, num_key_value_heads=1, sliding_window=4),
    }[kind]()
    torch.manual_seed(1)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    if kind == "xlnet":  # it looks both ways
        with pytest.raises(InputError, match="with the tokens that follow"):
            load(tmp_path)
        return
    lm = load(tmp_path)
    assert isinstance(lm, CausalLM)
    found = lm.scorer("mean").score(TEXTS)[:, 0]
    expected = [np.mean([value for value, _, _ in plain_log_p(lm, text, "<|endoftext|>")]) for text in TEXTS]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_run_of_texts_that_begin_alike_is_no_longer_than_a_batch() -> None:
    rows = [np.array([1, 2, 3, 4, n]) for n in range(40)]
    start, stop, shared = find_runs(rows, budget=14)
    assert (stop - start).max() == 10 and (stop - start).sum() == 40 and (shared == 4).all()
    assert [len(part) for part in find_runs(rows, budget=1000)] == [1, 1, 1]
