"""Methods of scoring with a masked language model, rows of `python -m bench.speed --work aul,pll`.

AUL is the mean log P of a text's own tokens, each given the whole text; PLL the same, each token masked in its turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import transformers

from bench.speed.ways import Ready, Score, Way, load_model
from geobias.models.load import load_weights

HERB_BATCH = 112  # the sentences of one region


def herb(folder: str, device: str, dtype: str) -> Ready:
    """A region's 112 sentences padded together, attentions and hidden states asked for, gradients kept, and log P of
    the whole vocabulary at every position. (The released code also averages over padding; here the right tokens count.)
    """
    lm, tokenizer = load_model(transformers.AutoModelForMaskedLM, folder, device, dtype, attn_implementation="eager")

    def score(texts: Sequence[str], _: int) -> np.ndarray:
        scores = []
        for start in range(0, len(texts), HERB_BATCH):
            batch = tokenizer(
                texts[start : start + HERB_BATCH],
                padding=True,
                return_tensors="pt",
                return_special_tokens_mask=True,
            )
            is_text = batch.pop("special_tokens_mask").to(device) == 0
            batch = batch.to(device)
            output = lm(**batch, output_attentions=True, output_hidden_states=True)
            logs = output.logits.log_softmax(-1)
            values = logs.gather(-1, batch["input_ids"][..., None])[..., 0]
            scores.append(((values * is_text).sum(1) / is_text.sum(1)).detach().float().cpu().numpy())
        return np.concatenate(scores)

    return Ready(score, lm)


def plain_aul(folder: str, device: str, dtype: str) -> Ready:
    """Sorted by length, padded to the longest of the batch, no gradients, log-softmax where a token is read."""
    lm, tokenizer = load_model(transformers.AutoModelForMaskedLM, folder, device, dtype)

    @torch.inference_mode()
    def score(texts: Sequence[str], size: int) -> np.ndarray:
        encoded = tokenizer(list(texts), return_special_tokens_mask=True)
        special = encoded.pop("special_tokens_mask")
        order = np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable")
        scores = np.empty(len(texts))
        for batch_rows in np.split(order, range(size, len(order), size)):
            batch = tokenizer.pad(
                {key: [values[i] for i in batch_rows] for key, values in encoded.items()}, return_tensors="pt"
            )
            longest = batch["input_ids"].shape[1]
            is_text = (
                torch.tensor([special[i] + [1] * (longest - len(special[i])) for i in batch_rows], device=device) == 0
            )
            batch = batch.to(device)
            logs = lm(**batch).logits[is_text].float().log_softmax(-1)
            values = torch.zeros(is_text.shape, device=device)
            values[is_text] = logs.gather(-1, batch["input_ids"][is_text][:, None])[:, 0]
            scores[batch_rows] = (values.sum(1) / is_text.sum(1)).cpu().numpy()
        return scores

    return Ready(score, lm)


def names_pll(folder: str, device: str, dtype: str) -> Ready:
    """One text at a time: every masked copy of it as one batch, and the model's own loss over the masked tokens."""
    lm, tokenizer = load_model(transformers.AutoModelForMaskedLM, folder, device, dtype)

    @torch.inference_mode()
    def score(texts: Sequence[str], _: int) -> np.ndarray:
        scores = np.empty(len(texts))
        for i, text in enumerate(texts):
            encoded = tokenizer(text, return_special_tokens_mask=True, return_tensors="pt")
            positions = torch.nonzero(encoded["special_tokens_mask"][0] == 0)
            copies = encoded["input_ids"].repeat(len(positions), 1)
            labels = torch.full_like(copies, -100).scatter(1, positions, copies.gather(1, positions))
            copies.scatter_(1, positions, tokenizer.mask_token_id)
            scores[i] = -lm(input_ids=copies.to(device), labels=labels.to(device)).loss.item()
        return scores

    return Ready(score, lm)


def minicons_pll(folder: str, device: str, dtype: str) -> Ready:
    """`sequence_score` with the metric "original", a batch of texts at a time: all their masked copies go together.

    Its own tokenising asks for a call that transformers 5 no longer has; it takes what is tokenised already, too.
    """
    from minicons.scorer import MaskedLMScorer

    lm, tokenizer = load_model(transformers.AutoModelForMaskedLM, folder, device, dtype)
    scorer = MaskedLMScorer(lm, device, tokenizer=tokenizer)

    def score(texts: Sequence[str], size: int) -> np.ndarray:
        scores: list[float] = []
        for start in range(0, len(texts), size):
            encoded = tokenizer(list(texts[start : start + size]), padding=True)
            scores += scorer.sequence_score(encoded, PLL_metric="original")
        return np.array(scores)

    return Ready(score, lm)


def plain_pll(folder: str, device: str, dtype: str) -> Ready:
    """Masked copies of all texts, sorted by length, padded to the longest of the batch, no gradients, log-softmax at
    the masked token alone."""
    lm, tokenizer = load_model(transformers.AutoModelForMaskedLM, folder, device, dtype)

    def copies(encoded: Any) -> Iterator[tuple[int, int]]:
        for i in np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable"):
            special = encoded["special_tokens_mask"][i]
            yield from ((int(i), position) for position, added in enumerate(special) if not added)

    @torch.inference_mode()
    def score(texts: Sequence[str], size: int) -> np.ndarray:
        encoded = tokenizer(list(texts), return_special_tokens_mask=True)
        totals, counts = np.zeros(len(texts)), np.zeros(len(texts))
        rows = list(copies(encoded))
        for start in range(0, len(rows), size):
            batch_copies = rows[start : start + size]
            batch = tokenizer.pad(
                {"input_ids": [encoded["input_ids"][i] for i, _ in batch_copies]}, return_tensors="pt"
            )
            masks = torch.arange(len(batch_copies)), torch.tensor([position for _, position in batch_copies])
            targets = batch["input_ids"][masks].to(device)
            batch["input_ids"][masks] = tokenizer.mask_token_id
            logs = lm(**batch.to(device)).logits[masks].float().log_softmax(-1)
            values = logs.gather(1, targets[:, None])[:, 0].cpu().numpy()
            np.add.at(totals, [i for i, _ in batch_copies], values)
            np.add.at(counts, [i for i, _ in batch_copies], 1)
        return totals / counts

    return Ready(score, lm)


def geobias(method: str) -> Any:
    def prepare(folder: str, device: str, dtype: str) -> Ready:
        lm = load_weights(folder, device=device, dtype=dtype)
        scorer = lm.scorer(method)
        score: Score = lambda texts, _: scorer.score(texts)[:, 0]  # noqa: E731
        return Ready(score, lm.model)

    return prepare


AUL = [
    Way("HERB's method", herb, (HERB_BATCH,), reads_all=True),
    Way("plain loop", plain_aul, (16, 64, 256), (256, 1024, 4096), reads_all=True, sorts=True),
    Way("geobias", geobias("aul"), sorts=True),
]
PLL = [
    Way("names paper's method", names_pll, (1,), reads_all=True),
    Way("minicons", minicons_pll, (1, 2, 8), (1, 8, 32), reads_all=True),
    Way("plain loop", plain_pll, (16, 64, 128), (64, 256, 1024), counts="masked copies", reads_all=True, sorts=True),
    Way("geobias", geobias("pll"), sorts=True),
]
