"""Which tokens are hidden in training, and what an epoch does to the weights."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from geobias.errors import InputError
from geobias.models.load import load_masked
from geobias.models.masked import MaskedLM
from geobias.models.training.epochs import (
    IGNORED,
    mask_randomly,
    mask_spans,
    pad_batch,
    refuse_untrainable,
    split_texts,
    train_epoch,
)

SENTENCE = "People in Papua New Guinea are kind."
SPAN = (SENTENCE.index("Papua"), SENTENCE.index(" are"))


def small(folder: Path) -> MaskedLM:
    return load_masked(folder, device="cpu", dtype="float32")


@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_all_tokens_of_a_name_are_hidden_and_no_other(small_models: dict[str, Path], kind: str) -> None:
    lm = small(small_models[kind])
    (example,) = mask_spans(lm, [SENTENCE], [[SPAN]])
    assert example is not None
    ids, labels = example
    plain = np.array(lm.tokenizer(SENTENCE)["input_ids"])
    at = labels != IGNORED
    assert (ids[at] == lm.tokenizer.mask_token_id).all() and (ids[~at] == plain[~at]).all()
    assert (labels[at] == plain[at]).all()
    told = re.sub("[ ▁#]", "", lm.tokenizer.decode(labels[at]))
    assert told.lower() == "papuanewguinea" and at.sum() > 1
    assert (np.diff(np.flatnonzero(at)) == 1).all()


def test_a_name_beyond_the_cut_is_no_example(small_models: dict[str, Path]) -> None:
    lm = small(small_models["bert"])
    text = "kind " * 60 + "France"
    assert mask_spans(lm, [text], [[(300, 306)]]) == [None]


def test_long_texts_are_read_in_parts_and_nothing_is_lost(small_models: dict[str, Path]) -> None:
    lm = small(small_models["bert"])
    text = "kind and loyal " * 40
    parts = list(split_texts(lm, [text, "honest"]))
    assert len(parts) > 3 and max(len(ids) for ids, _ in parts) <= lm.max_length
    read = [token for ids, own in parts for token in ids[own].tolist()]
    assert read == lm.tokenizer(text + "honest", add_special_tokens=False)["input_ids"]


def test_berts_rule(small_models: dict[str, Path]) -> None:
    lm = small(small_models["bert"])
    own = np.arange(1, 20_001)
    ids = np.full(20_002, 50)
    ids[[0, -1]] = 2, 3
    hidden, labels = mask_randomly(lm.tokenizer, ids, own, np.random.default_rng(0))
    told = labels != IGNORED
    assert told[own].mean() == pytest.approx(0.15, abs=0.01) and not told[[0, -1]].any()
    assert (hidden[~told] == ids[~told]).all() and (labels[told] == 50).all()
    masked = (hidden[told] == lm.tokenizer.mask_token_id).mean()
    assert masked == pytest.approx(0.8, abs=0.03) and (hidden[told] == 50).mean() == pytest.approx(0.1, abs=0.03)
    for seed in range(20):  # a text of one token is told whole
        _, labels = mask_randomly(lm.tokenizer, np.array([2, 50, 3]), np.array([1]), np.random.default_rng(seed))
        assert labels.tolist() == [IGNORED, 50, IGNORED]


def test_an_epoch_of_plain_sgd_is_torch_by_hand(small_models: dict[str, Path]) -> None:
    """Two steps, gradients as they are though far longer than 1."""
    lm, other = small(small_models["bert"]), small(small_models["bert"])
    examples = [one for one in mask_spans(lm, [SENTENCE, "People in Chad are rude."], [[SPAN], [(10, 14)]]) if one]
    batches = [pad_batch(lm.tokenizer, [ids], [labels]) for ids, labels in examples]
    loss = train_epoch(lm.model, batches, torch.optim.SGD(lm.model.parameters(), lr=0.05), epoch=2, seed=3, label="it")
    torch.manual_seed(3 * 100_003 + 2)
    other.model.train()
    losses, longest = [], 0.0
    for (_, labels), batch in zip(examples, batches, strict=True):
        logits = other.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[0]
        at = torch.tensor(np.flatnonzero(labels != IGNORED))
        by_hand = -logits.log_softmax(1)[at, torch.tensor(labels)[at]].mean()
        other.model.zero_grad()
        by_hand.backward()
        longest = max(
            longest, float(sum((p.grad**2).sum() for p in other.model.parameters() if p.grad is not None)) ** 0.5
        )
        with torch.no_grad():
            for parameter in other.model.parameters():
                if parameter.grad is not None:
                    parameter -= 0.05 * parameter.grad
        losses.append(by_hand.item())
    assert loss == pytest.approx(np.mean(losses), rel=1e-5) and longest > 1
    for mine, theirs in zip(lm.model.parameters(), other.model.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)
    assert not lm.model.training


def test_a_step_too_far_is_refused(small_models: dict[str, Path]) -> None:
    lm = small(small_models["bert"])
    (example,) = mask_spans(lm, [SENTENCE], [[SPAN]])
    assert example is not None
    batch = pad_batch(lm.tokenizer, [example[0]], [example[1]])
    optimiser = torch.optim.SGD(lm.model.parameters(), lr=1e30)
    with pytest.raises(InputError, match="Lower --rate"):
        train_epoch(lm.model, [batch] * 3, optimiser, epoch=1, seed=0, label="it")


def test_what_cannot_be_trained_is_refused(small_models: dict[str, Path]) -> None:
    lm = small(small_models["bert"])
    lm.tokenizer.mask_token = None
    with pytest.raises(InputError, match="has no mask token"):
        refuse_untrainable(lm)
    lm = small(small_models["bert"])
    lm.model.to("meta")
    with pytest.raises(InputError, match="its weights are not loaded"):
        refuse_untrainable(lm)


def test_a_model_in_training_keeps_no_scores(small_models: dict[str, Path]) -> None:
    lm = small(small_models["bert"])
    scorer = lm.scorer("aul")
    assert json.dumps(scorer.fingerprint).startswith(f'"{lm.fingerprint}:aul')
    lm.trained_on = True
    assert scorer.fingerprint is None
