"""Masked language modelling: which tokens of a text are masked, and the labels to predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.language.masked import MaskedLM

IGNORED = -100  # a label that does not count in the loss
# BERT's rule: the share of tokens that have a label; of these the share that is masked, and the share that is replaced.
LABELLED_SHARE, MASKED_SHARE, REPLACED_SHARE = 0.15, 0.8, 0.1
MOST_TOKENS = 512  # of a part of a text, even if the model could read more

Example = tuple[np.ndarray, np.ndarray]  # token ids as the model sees them, and labels
Span = tuple[int, int]


def refuse_untrainable(lm: MaskedLM) -> None:
    """Refuse models that can be scored, but not trained to fill in masks."""
    parameters = list(lm.model.parameters())
    if lm.tokenizer.mask_token_id is None:
        raise InputError(f"{lm.name} has no mask token, so it cannot be trained to fill it in: give a masked LM.")
    if any(parameter.is_meta or not parameter.is_floating_point() for parameter in parameters):
        raise InputError(f"{lm.name} cannot be trained: its weights are not loaded, or packed into whole numbers.")


def mask_spans(lm: MaskedLM, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Example | None]:
    """Mask every token that overlaps a span; None for a text whose spans lie beyond the cut."""
    encodings, _ = lm.encode(texts)
    examples: list[Example | None] = []
    for encoding, text_spans in zip(encodings, spans, strict=True):
        ids, offsets = np.array(encoding.ids), np.array(encoding.offsets)
        is_masked = np.zeros(len(ids), dtype=bool)
        for start, end in text_spans:
            is_masked |= (offsets[:, 1] > start) & (offsets[:, 0] < end)
        is_masked &= np.array(encoding.special_tokens_mask) == 0
        inputs = np.where(is_masked, lm.tokenizer.mask_token_id, ids)
        examples.append((inputs, np.where(is_masked, ids, IGNORED)) if is_masked.any() else None)
    return examples


def split_texts(lm: MaskedLM, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the texts in parts as long as the model reads: token ids, and the positions that are not special tokens."""
    longest = min(lm.max_length, MOST_TOKENS)
    for encoding in lm.tokenizer(list(texts), truncation=True, max_length=longest).encodings:
        for part in (encoding, *encoding.overflowing):
            positions = np.flatnonzero(np.array(part.special_tokens_mask) == 0)
            if len(positions):
                yield np.array(part.ids), positions


def mask_at_random(tokenizer: Any, ids: np.ndarray, positions: np.ndarray, rng: np.random.Generator) -> Example:
    """Apply BERT's rule: 15 % of the tokens, at least one, get a label; of these 80 % are masked, 10 % replaced."""
    is_labelled = rng.random(len(positions)) < LABELLED_SHARE
    if not is_labelled.any():
        is_labelled[rng.integers(len(positions))] = True
    labelled, share = positions[is_labelled], rng.random(is_labelled.sum())
    inputs, labels = ids.copy(), np.full(len(ids), IGNORED)
    labels[labelled] = ids[labelled]
    inputs[labelled[share < MASKED_SHARE]] = tokenizer.mask_token_id
    replaced = labelled[(share >= MASKED_SHARE) & (share < MASKED_SHARE + REPLACED_SHARE)]
    inputs[replaced] = rng.integers(len(tokenizer), size=len(replaced))
    return inputs, labels
