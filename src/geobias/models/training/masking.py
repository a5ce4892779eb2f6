"""Masked language modelling: which tokens of a text are masked, and the labels that the model has to predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.language.language_model import LanguageModel
from geobias.models.language.masked import MaskedLM
from geobias.models.training.epochs import IGNORED

# BERT's rule: the share of tokens to predict; of these the shares that become the mask and any other token.
PREDICTED, MASKED, REPLACED = 0.15, 0.8, 0.1
LONGEST_PART = 512  # tokens, where the model could read more

Example = tuple[np.ndarray, np.ndarray]  # token ids as the model sees them, and labels
Span = tuple[int, int]


def refuse_untrainable(lm: MaskedLM) -> None:
    """Refuse a model that can be scored, but not trained to fill in masks."""
    if lm.tokenizer.mask_token_id is None:
        raise InputError(f"{lm.name} has no mask token, so it cannot be trained by masking. Use a masked LM.")
    if any(parameter.is_meta or not parameter.is_floating_point() for parameter in lm.model.parameters()):
        raise InputError(f"{lm.name} cannot be trained: its weights are not loaded, or are quantized.")


def mask_spans(lm: MaskedLM, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Example | None]:
    """Mask every token that overlaps a span of its text; None for a text that was cut before its spans."""
    encodings, _ = lm.encode(texts)
    examples: list[Example | None] = []
    for encoding, text_spans in zip(encodings, spans, strict=True):
        ids, offsets = np.array(encoding.ids), np.array(encoding.offsets)
        masked = np.zeros(len(ids), dtype=bool)
        for start, end in text_spans:
            masked |= (offsets[:, 1] > start) & (offsets[:, 0] < end)
        masked &= np.array(encoding.special_tokens_mask) == 0
        inputs = np.where(masked, lm.tokenizer.mask_token_id, ids)
        examples.append((inputs, np.where(masked, ids, IGNORED)) if masked.any() else None)
    return examples


def split_texts(lm: LanguageModel, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The texts in parts as long as the model reads: token ids, and the positions of those that are not special."""
    longest = min(lm.max_length, LONGEST_PART)
    for encoding in lm.tokenizer(list(texts), truncation=True, max_length=longest).encodings:
        for part in (encoding, *encoding.overflowing):
            positions = np.flatnonzero(np.array(part.special_tokens_mask) == 0)
            if len(positions):
                yield np.array(part.ids), positions


def mask_randomly(tokenizer: Any, ids: np.ndarray, positions: np.ndarray, rng: np.random.Generator) -> Example:
    """BERT's rule: 15 % of the tokens (at least one) are predicted; 80 % of these are masked, 10 % become any other."""
    drawn = rng.random(len(positions)) < PREDICTED
    if not drawn.any():
        drawn[rng.integers(len(positions))] = True
    predicted, fate = positions[drawn], rng.random(drawn.sum())
    inputs, labels = ids.copy(), np.full(len(ids), IGNORED)
    labels[predicted] = ids[predicted]
    inputs[predicted[fate < MASKED]] = tokenizer.mask_token_id
    replaced = predicted[(fate >= MASKED) & (fate < MASKED + REPLACED)]
    inputs[replaced] = rng.integers(len(tokenizer), size=len(replaced))
    return inputs, labels
