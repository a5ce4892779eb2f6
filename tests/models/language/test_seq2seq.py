"""Scores of encoder-decoders against the same numbers from the model's ordinary forward pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from geobias.errors import InputError
from geobias.models.load import load
from geobias.models.masked import MaskedLM
from geobias.models.seq2seq import Seq2SeqLM
from geobias.texts.templates import mark
from tests.conftest import SEQ2SEQ

BEFORE, WORD, AFTER = "People in Nigeria are ", "hard-working", "."
TEXTS = ["People in France are kind.", "People in Papua New Guinea are loyal.", "France", "The quick brown fox."]


@pytest.fixture(scope="module")
def loaded(small_models: dict[str, Path]) -> dict[str, Seq2SeqLM]:
    found = {kind: load(small_models[kind]) for kind in SEQ2SEQ}
    assert all(isinstance(lm, Seq2SeqLM) for lm in found.values())
    return found  # type: ignore[return-value]


def log_p(lm: Seq2SeqLM, read: list[int], written: list[int]) -> np.ndarray:
    """log P of each token written, by the model's own forward pass with labels."""
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([read]), labels=torch.tensor([written])).logits[0].double()
    table = torch.log_softmax(logits, -1).numpy()
    return np.array([table[at, token] for at, token in enumerate(written)])


def own(lm: Seq2SeqLM, text: str) -> tuple[list[int], list[int]]:
    encoding = lm.tokenizer(text, return_special_tokens_mask=True)
    return encoding["input_ids"], [i for i, special in enumerate(encoding["special_tokens_mask"]) if not special]


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_aul_reads_the_sentence_and_writes_it(loaded: dict[str, Seq2SeqLM], kind: str) -> None:
    lm = loaded[kind]
    expected = []
    for text in TEXTS:
        ids, at = own(lm, text)
        expected.append(log_p(lm, ids, ids)[at].mean())
    np.testing.assert_allclose(lm.scorer("aul").score(TEXTS)[:, 0], expected, atol=1e-5)


def test_aul_of_bart_is_what_the_paper_computes(loaded: dict[str, Seq2SeqLM], small_models: dict[str, Path]) -> None:
    """HERB loads BART as a masked LM."""
    name = str(small_models["bart"])
    as_masked = MaskedLM.from_pretrained(name, name).scorer("aul").score(TEXTS)
    np.testing.assert_allclose(loaded["bart"].scorer("aul").score(TEXTS), as_masked, atol=1e-5)


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_mean_and_sum_read_a_mask_alone(loaded: dict[str, Seq2SeqLM], kind: str) -> None:
    lm = loaded[kind]
    means, sums = [], []
    for text in TEXTS:
        ids, at = own(lm, text)
        mask = lm.tokenizer.convert_tokens_to_ids("<mask>" if kind == "bart" else "<extra_id_0>")
        read = [token for i, token in enumerate(ids) if i < at[0]] + [mask] + ids[at[-1] + 1 :]
        written = ids if kind == "bart" else [mask, *(ids[i] for i in at)]
        values = log_p(lm, read, written)[at if kind == "bart" else slice(1, None)]
        means.append(values.mean())
        sums.append(values.sum())
    np.testing.assert_allclose(lm.scorer("mean").score(TEXTS)[:, 0], means, atol=1e-5)
    np.testing.assert_allclose(lm.scorer("sum").score(TEXTS)[:, 0], sums, atol=1e-4)


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_conditional_masks_the_marked_part(loaded: dict[str, Seq2SeqLM], kind: str) -> None:
    lm = loaded[kind]
    text = BEFORE + WORD + AFTER
    encoding = lm.tokenizer(text, return_offsets_mapping=True)
    ids, offsets = encoding["input_ids"], encoding["offset_mapping"]
    inside = [i for i, (a, b) in enumerate(offsets) if b > len(BEFORE) and a < len(BEFORE + WORD)]
    mask = lm.tokenizer.convert_tokens_to_ids("<mask>" if kind == "bart" else "<extra_id_0>")
    read = [*ids[: inside[0]], mask, *ids[inside[-1] + 1 :]]
    if kind == "bart":
        expected = log_p(lm, read, ids)[inside]
    else:
        expected = log_p(lm, read, [mask, *(ids[i] for i in inside)])[1:]
    row = lm.scorer("conditional").score([BEFORE + mark(WORD) + AFTER])[0]
    assert row[1] == len(inside) > 1
    np.testing.assert_allclose(row[0], expected.mean(), atol=1e-5)


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_an_answer_is_written_after_what_stands_before_it(loaded: dict[str, Seq2SeqLM], kind: str) -> None:
    lm = loaded[kind]
    read, _ = own(lm, BEFORE)
    written, at = own(lm, WORD)
    row = lm.scorer("answer").score([BEFORE + mark(WORD)])[0]
    np.testing.assert_allclose(row[0], log_p(lm, read, written)[at].mean(), atol=1e-5)


@pytest.mark.parametrize("kind", SEQ2SEQ)
@pytest.mark.parametrize("method", Seq2SeqLM.methods)
def test_a_score_does_not_depend_on_its_batch(
    loaded: dict[str, Seq2SeqLM], kind: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = loaded[kind].scorer(method)
    texts = [BEFORE + mark(word) + AFTER for word in ("kind", "loud", WORD)] if scorer.needs_mark else TEXTS
    expected = scorer.score(texts)
    monkeypatch.setattr(loaded[kind], "token_budget", 5)
    np.testing.assert_allclose(scorer.score(texts), expected, atol=1e-5)
    np.testing.assert_allclose(np.concatenate([scorer.score([text]) for text in texts]), expected, atol=1e-5)


def test_a_model_without_a_mask_reads_the_sentence_only(loaded: dict[str, Seq2SeqLM]) -> None:
    lm = loaded["bart"]
    mask, lm.mask = lm.mask, None
    try:
        with pytest.raises(InputError, match=r"has no mask token, which the score 'mean' needs\. Use --score aul"):
            lm.scorer("mean")
    finally:
        lm.mask = mask
