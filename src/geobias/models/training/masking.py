"""Masked language modelling: which tokens of a text are hidden, and what a model has to say in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.language.masked import MaskedLM

IGNORED = -100  # a label that adds nothing to the loss
SHARE, AS_MASK, AS_ANY = 0.15, 0.8, 0.1  # BERT's: of all tokens; of those the masked, and those that become any other
LONGEST = 512  # tokens of a part of a text, where the model could read more

Example = tuple[np.ndarray, np.ndarray]  # token ids as the model sees them, and labels
Span = tuple[int, int]


def refuse_untrainable(lm: MaskedLM) -> None:
    """Refuse what can be asked, but not trained to fill in masks."""
    parameters = list(lm.model.parameters())
    if lm.tokenizer.mask_token_id is None:
        raise InputError(f"{lm.name} has no mask token, so it cannot be trained to fill it in: give a masked LM.")
    if any(one.is_meta or not one.is_floating_point() for one in parameters):
        raise InputError(f"{lm.name} cannot be trained: its weights are not loaded, or packed into whole numbers.")


def with_spans_hidden(lm: MaskedLM, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Example | None]:
    """Every token that a span touches is masked; None for a text of which none is left after the cut."""
    encodings, _ = lm.encode(texts)
    found: list[Example | None] = []
    for encoding, of_text in zip(encodings, spans, strict=True):
        ids, offsets = np.array(encoding.ids), np.array(encoding.offsets)
        touched = np.zeros(len(ids), dtype=bool)
        for start, end in of_text:
            touched |= (offsets[:, 1] > start) & (offsets[:, 0] < end)
        touched &= np.array(encoding.special_tokens_mask) == 0
        hidden = np.where(touched, lm.tokenizer.mask_token_id, ids)
        found.append((hidden, np.where(touched, ids, IGNORED)) if touched.any() else None)
    return found


def parts_of(lm: MaskedLM, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The texts in parts as long as the model reads: token ids, and the positions of those that are the text's own."""
    longest = min(lm.max_length, LONGEST)
    for encoding in lm.tokenizer(list(texts), truncation=True, max_length=longest).encodings:
        for part in (encoding, *encoding.overflowing):
            own = np.flatnonzero(np.array(part.special_tokens_mask) == 0)
            if len(own):
                yield np.array(part.ids), own


def with_some_hidden(tokenizer: Any, ids: np.ndarray, own: np.ndarray, rng: np.random.Generator) -> Example:
    """BERT's rule: 15 % of the tokens are to be told, one at least; of these 80 % are masked, 10 % become any other."""
    drawn = rng.random(len(own)) < SHARE
    if not drawn.any():
        drawn[rng.integers(len(own))] = True
    told, fate = own[drawn], rng.random(drawn.sum())
    hidden, labels = ids.copy(), np.full(len(ids), IGNORED)
    labels[told] = ids[told]
    hidden[told[fate < AS_MASK]] = tokenizer.mask_token_id
    other = told[(fate >= AS_MASK) & (fate < AS_MASK + AS_ANY)]
    hidden[other] = rng.integers(len(tokenizer), size=len(other))
    return hidden, labels
