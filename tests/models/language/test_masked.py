"""Scores of masked LMs against the same numbers worked out plainly, one sentence and one mask at a time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from geobias.errors import InputError
from geobias.models.fast import head
from geobias.models.fast.head import Projection
from geobias.models.load import load_masked
from geobias.models.masked import MaskedLM
from geobias.texts.templates import mark
from tests.conftest import MASKED

METHODS = MaskedLM.methods

BEFORE, WORD, AFTER = "People in Nigeria are ", "hard-working", "."
MARKED = BEFORE + mark(WORD) + AFTER
TEXTS = [
    "People in France are kind.",
    "People in Papua New Guinea are straightforward.",
    "People in Curaçao are shy.",
    "France",
    "People in Nigeria are loud.",
]


@pytest.fixture(scope="module")
def loaded(small_models: dict[str, Path]) -> dict[str, MaskedLM]:
    return {kind: load_masked(small_models[kind]) for kind in MASKED}


def plain_log_probabilities(lm: MaskedLM, ids: list[int]) -> np.ndarray:
    """positions x vocabulary, from the model's ordinary forward pass in float64 after the logits."""
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([ids])).logits[0].double()
    return torch.log_softmax(logits, -1).numpy()


def plain_score(lm: MaskedLM, method: str, text: str, counted: slice | None = None) -> float:
    """The definition, word for word."""
    encoding = lm.tokenizer(text, return_special_tokens_mask=True)
    ids = encoding["input_ids"]
    own = [i for i, special in enumerate(encoding["special_tokens_mask"]) if not special]
    words = encoding.word_ids()
    if method == "aul":
        table = plain_log_probabilities(lm, ids)
        return float(np.mean([table[i, ids[i]] for i in own]))
    if counted is not None:
        own = own[counted]
    values = []
    for i in own:
        if method == "pll":
            hidden = [i]
        elif method == "pll-word":
            hidden = [j for j in own if j >= i and words[j] == words[i]]
        else:
            hidden = [j for j in own if j >= i]
        masked_ids = [lm.tokenizer.mask_token_id if j in hidden else token for j, token in enumerate(ids)]
        values.append(plain_log_probabilities(lm, masked_ids)[i, ids[i]])
    return float(np.mean(values))


@pytest.mark.parametrize("kind", MASKED)
@pytest.mark.parametrize("method", ["aul", "pll", "pll-word"])
def test_scores_equal_their_definition(loaded: dict[str, MaskedLM], kind: str, method: str) -> None:
    lm = loaded[kind]
    scores = lm.scorer(method).score(TEXTS)[:, 0]
    np.testing.assert_allclose(scores, [plain_score(lm, method, text) for text in TEXTS], atol=1e-5)


@pytest.mark.parametrize("kind", MASKED)
def test_conditional_fills_the_description_from_left_to_right(loaded: dict[str, MaskedLM], kind: str) -> None:
    lm = loaded[kind]
    whole = BEFORE + WORD + AFTER
    offsets = lm.tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    inside = [i for i, (start, end) in enumerate(offsets) if end > len(BEFORE) and start < len(BEFORE + WORD)]
    score = lm.scorer("conditional").score([MARKED])
    assert 0 < len(inside) < len(offsets)
    assert score[0, 1] == len(inside)
    expected = plain_score(lm, "conditional", whole, slice(inside[0], inside[-1] + 1))
    np.testing.assert_allclose(score[0, 0], expected, atol=1e-5)


@pytest.mark.parametrize("kind", MASKED)
def test_aula_weighs_by_attention_received(
    loaded: dict[str, MaskedLM], kind: str, small_models: dict[str, Path]
) -> None:
    lm = loaded[kind]
    eager = transformers.AutoModelForMaskedLM.from_pretrained(small_models[kind], attn_implementation="eager").eval()
    text = TEXTS[1]
    encoding = lm.tokenizer(text, return_special_tokens_mask=True)
    ids = encoding["input_ids"]
    with torch.no_grad():
        output = eager(input_ids=torch.tensor([ids]), output_attentions=True)
    layers = output.get("encoder_attentions") or output.attentions
    received = torch.stack(layers).double().mean(dim=(0, 2, 3))[0].numpy()
    table = torch.log_softmax(output.logits[0].double(), -1).numpy()
    own = [i for i, special in enumerate(encoding["special_tokens_mask"]) if not special]
    expected = np.mean([received[i] * table[i, ids[i]] for i in own])
    np.testing.assert_allclose(lm.scorer("aula").score([text])[0, 0], expected, atol=1e-5)
    again = lm.scorer("aul").score([text])[0, 0]  # the fast attention is back in place
    np.testing.assert_allclose(again, np.mean([table[i, ids[i]] for i in own]), atol=1e-5)


@pytest.mark.parametrize("kind", MASKED)
@pytest.mark.parametrize("method", METHODS)
def test_a_score_does_not_depend_on_its_batch(loaded: dict[str, MaskedLM], kind: str, method: str) -> None:
    scorer = loaded[kind].scorer(method)
    texts = [*TEXTS, MARKED] if method == "conditional" else TEXTS
    together = scorer.score(texts)
    alone = np.concatenate([scorer.score([text]) for text in texts])
    backwards = scorer.score(texts[::-1])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together, backwards, atol=1e-5)


@pytest.mark.parametrize("kind", MASKED)
def test_a_representation_is_the_mean_over_the_texts_own_tokens(loaded: dict[str, MaskedLM], kind: str) -> None:
    lm = loaded[kind]
    found = lm.representations(TEXTS)
    for text, vector in zip(TEXTS, found, strict=True):
        ids = lm.tokenizer(text)["input_ids"]
        with torch.no_grad():
            hidden = lm.model.base_model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        assert vector == pytest.approx(hidden[1:-1].double().mean(0).numpy(), abs=1e-5)  # the first and last are added
    assert np.isnan(lm.representations([""])).all()


def test_the_vocabulary_projection_stays_bounded(loaded: dict[str, MaskedLM], monkeypatch: pytest.MonkeyPatch) -> None:
    lm = loaded["bert"]
    expected = {method: lm.scorer(method).score(TEXTS) for method in METHODS}
    largest = 0
    monkeypatch.setattr(head, "CPU_SLICE", 7)
    monkeypatch.setattr(head, "MAX_LOGITS", {"cpu": 21})
    sums = head.log_sum_exp

    def watched(logits: torch.Tensor) -> torch.Tensor:
        nonlocal largest
        largest = max(largest, logits.numel())
        return sums(logits)

    monkeypatch.setattr(head, "log_sum_exp", watched)
    for packs in (True, False):
        monkeypatch.setattr(lm.fast.head, "projection", Projection(lm.model.get_output_embeddings(), packs=packs))
        for method, scores in expected.items():
            np.testing.assert_allclose(lm.scorer(method).score(TEXTS), scores, atol=1e-5)
    assert largest == 21


def test_only_the_positions_that_are_read_reach_the_vocabulary(
    loaded: dict[str, MaskedLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = loaded["bert"]
    seen: list[int] = []
    assert lm.fast.head is not None and lm.fast.head.projection is not None
    log_p = lm.fast.head.projection.log_p

    def watched(states: torch.Tensor, *which: torch.Tensor) -> torch.Tensor:
        seen.append(len(states))
        return log_p(states, *which)

    monkeypatch.setattr(lm.fast.head.projection, "log_p", watched)
    tokens = lm.scorer("conditional").score([MARKED])[0, 1]
    assert sum(seen) == tokens


def test_equal_masked_texts_go_through_the_model_once(loaded: dict[str, MaskedLM]) -> None:
    """All words of one token ask the same: "People in France are [MASK]."."""
    lm = loaded["bert"]
    short = [token for token in lm.tokenizer.get_vocab() if token.isalpha()][:5]
    texts = [f"People in France are {mark(word)}." for word in short]
    rows = []
    states = lm.states
    lm.states = lambda ids: rows.append(len(ids)) or states(ids)  # type: ignore[method-assign,func-returns-value]
    try:
        scores = lm.scorer("conditional").score(texts)
    finally:
        del lm.states
    assert len(short) == 5 and (scores[:, 1] == 1).all()
    assert sum(rows) == 1


def test_tokens_unknown_and_cut_are_counted(loaded: dict[str, MaskedLM]) -> None:
    lm = loaded["bert"]
    long = "People in " + "France " * 60
    scores = lm.scorer("aul").score(["People in 東京 are kind.", long])
    columns = dict(zip(lm.scorer("aul").columns, scores.T, strict=True))
    assert columns["unknown"][0] >= 1 and columns["unknown"][1] == 0
    everything = len(lm.tokenizer(long, add_special_tokens=False)["input_ids"])
    assert columns["cut"][0] == 0
    assert columns["tokens"][1] + columns["cut"][1] == everything
    assert columns["tokens"][1] == lm.max_length - 2


def test_the_fingerprint_covers_the_tokenizer(small_models: dict[str, Path], tmp_path: Path) -> None:
    lm = load_masked(small_models["bert"])
    copy = tmp_path / "elsewhere"
    lm.model.save_pretrained(copy)
    lm.tokenizer.save_pretrained(copy)
    saved = copy / "tokenizer.json"
    content = json.loads(saved.read_text())
    vocabulary = content["model"]["vocab"]
    vocabulary["in"], vocabulary["are"] = vocabulary["are"], vocabulary["in"]
    saved.write_text(json.dumps(content))
    assert load_masked(copy).fingerprint != lm.fingerprint


def test_precision_and_method_are_part_of_the_key(small_models: dict[str, Path]) -> None:
    full, half = load_masked(small_models["bert"]), load_masked(small_models["bert"], dtype="bfloat16")
    keys = {full.scorer("aul").fingerprint, full.scorer("pll").fingerprint, half.scorer("aul").fingerprint}
    assert len(keys) == 3
    np.testing.assert_allclose(half.scorer("aul").score(TEXTS), full.scorer("aul").score(TEXTS), atol=0.2)


def test_a_model_without_mlm_head_is_refused(tmp_path: Path, small_models: dict[str, Path]) -> None:
    lm = load_masked(small_models["bert"])
    headless = transformers.BertModel(lm.model.config)
    headless.save_pretrained(tmp_path)
    lm.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="no trained masked-LM head"):
        load_masked(tmp_path)


def test_a_model_without_logits_for_each_token_is_refused(small_models: dict[str, Path]) -> None:
    lm = load_masked(small_models["bert"])
    lm.model.cls.forward = lambda states: states.mean(dim=1)
    with pytest.raises(InputError, match="does not predict tokens"):
        MaskedLM("pooling", lm.model, lm.tokenizer, fingerprint="x")


def test_a_folder_without_weights_is_refused(tmp_path: Path, small_models: dict[str, Path]) -> None:
    lm = load_masked(small_models["bert"])
    lm.model.config.save_pretrained(tmp_path)
    lm.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="no weights"):
        load_masked(tmp_path)


@pytest.mark.parametrize("name", ["no/such/folder", "./nowhere", "nobody/no-such-model", "embedded/none"])
def test_a_model_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="There is no"):
        load_masked(name)


@pytest.mark.parametrize("options", [{"device": "cuda:7"}, {"device": "toaster"}, {"dtype": "float8"}])
def test_device_and_precision_must_exist(small_models: dict[str, Path], options: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"not available|Unknown --dtype"):
        load_masked(small_models["bert"], **options)


@pytest.mark.parametrize("method", METHODS)
def test_texts_without_a_token_have_none_that_counts(
    method: str, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = load_masked(small_models["bert"])
    encode = lm.encode
    monkeypatch.setattr(lm, "encode", lambda texts: encode(texts, special=False))  # a tokenizer that adds nothing
    assert lm.scorer(method)._prepare(["", " "]).tokens.tolist() == [0, 0]
    assert lm.scorer(method)._prepare(["", mark("kind")]).tokens.tolist() == [0, 1]
