"""Scores of words in sentences about regions, with gradients: what alignment trains on.

The score of a word is the mean log P of its tokens given the sentence before it (causal models) or around it (masked
models). The tokens of a word are masked together, so that all words of equally many tokens share one forward pass. The
audit's score `conditional` fills them in one by one; the first token's log P is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.causal import CausalLM, CausalScorer, CausalTexts
from geobias.models.language_model import LanguageModel
from geobias.models.masked import MaskedLM
from geobias.models.pretrained import Tokens
from geobias.models.training.epochs import Batch, pad_batch
from geobias.texts.templates import Sentences, unmark


@dataclass(frozen=True)
class SentenceTokens:
    """One sentence with each of the words: distinct inputs, and for every token of every word where it is predicted."""

    inputs: list[np.ndarray]
    rows: np.ndarray  # the input
    positions: np.ndarray
    targets: np.ndarray
    words: np.ndarray  # the word that the token is of


def tokenise_sentences(
    lm: LanguageModel, templates: Sequence[str], regions: Sequence[str], words: Sequence[str]
) -> list[SentenceTokens]:
    """The tokens of every template with every region, template by template."""
    sentences = Sentences(templates, regions, words, marked=True)
    tokenise = _tokenise_masked if isinstance(lm, MaskedLM) else _tokenise_causal
    return [
        tokenise(lm, [sentences.at(template, region, word) for word in range(len(words))])
        for template in range(len(templates))
        for region in range(len(regions))
    ]


def _tokenise_masked(lm: Any, texts: Sequence[str]) -> SentenceTokens:
    plain, start, end = zip(*map(unmark, texts), strict=True)
    tokens = Tokens(lm.encode(plain)[0])
    counted = tokens.ids.beside(tokens.inside(start, end))
    which: dict[bytes, int] = {}
    inputs: list[np.ndarray] = []
    parts = []
    for word in range(len(texts)):
        ids = tokens.ids.take(np.array([word]))[0]
        is_word = counted.take(np.array([word]))[0]
        _refuse_cut(lm, texts[word], is_word.any())
        masked = np.where(is_word, lm.mask, ids)
        row = which.setdefault(masked.tobytes(), len(inputs))
        if row == len(inputs):
            inputs.append(masked)
        positions = np.flatnonzero(is_word)
        parts.append((np.full(len(positions), row), positions, ids[positions], np.full(len(positions), word)))
    return SentenceTokens(inputs, *map(np.concatenate, zip(*parts, strict=True)))


def _tokenise_causal(lm: Any, texts: Sequence[str]) -> SentenceTokens:
    scorer = lm.scorer("conditional")
    assert isinstance(scorer, CausalScorer)
    encoded = CausalTexts(scorer, texts)
    for text, count in zip(texts, encoded.tokens, strict=True):
        _refuse_cut(lm, text, count > 0)
    rows, positions, targets = encoded.predictions(np.arange(len(texts)))
    return SentenceTokens(list(encoded.inputs), rows, positions, targets, rows)


def _refuse_cut(lm: LanguageModel, text: str, has_tokens: bool) -> None:
    if not has_tokens:
        raise InputError(f"{lm.name} has no tokens for the description in {unmark(text)[0]!r}. Use other words.")


def make_batch(tokenizer: Any, sentences: Sequence[SentenceTokens]) -> Batch:
    """Several sentences as the tensors that `score_words` reads; sentence k's words are its row k of scores."""
    first_input = np.cumsum([0, *(len(each.inputs) for each in sentences)])
    joined = {
        "rows": [each.rows + first for each, first in zip(sentences, first_input, strict=False)],
        "positions": [each.positions for each in sentences],
        "targets": [each.targets for each in sentences],
        "sentence_ids": [np.full(len(each.rows), k) for k, each in enumerate(sentences)],
        "word_ids": [each.words for each in sentences],
    }
    batch = pad_batch(tokenizer, [ids for each in sentences for ids in each.inputs])
    return batch | {name: torch.from_numpy(np.concatenate(arrays)) for name, arrays in joined.items()}


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """The same tensors on a device."""
    return {name: tensor.to(device) for name, tensor in batch.items()}


def score_words(model: Any, batch: Batch) -> torch.Tensor:
    """sentences x words: the mean log P of each word's tokens, with gradients if they are on."""
    rows, positions = batch["rows"], batch["positions"]
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    # Many words are read at one place: each place goes through the output layer once.
    width = batch["input_ids"].shape[1]
    places, place_of = torch.unique(rows * width + positions, return_inverse=True)
    log_p = logits_at(model, inputs, places // width, places % width).log_softmax(-1)[place_of, batch["targets"]]
    sentence_ids, word_ids = batch["sentence_ids"], batch["word_ids"]
    shape = int(sentence_ids.max()) + 1, int(word_ids.max()) + 1
    total = torch.zeros(shape, device=log_p.device).index_put((sentence_ids, word_ids), log_p, accumulate=True)
    ones = torch.ones_like(log_p).detach()
    return total / torch.zeros_like(total).index_put((sentence_ids, word_ids), ones, accumulate=True)


def logits_at(model: Any, inputs: Batch, rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """The logits at some positions. Where the output layer is a module, it reads these alone: most of the work."""
    with _selecting(model.get_output_embeddings(), rows, positions) as selects:
        logits: torch.Tensor = model(**inputs).logits
    return (logits[0] if selects else logits[rows, positions]).float()


@contextmanager
def _selecting(layer: Any, rows: torch.Tensor, positions: torch.Tensor) -> Iterator[bool]:
    """Within the block, a linear output layer gets the states at these positions only, as one text."""
    if not isinstance(layer, torch.nn.Linear):
        yield False
        return

    def select(_: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        return (arguments[0][rows, positions][None],)

    hook = layer.register_forward_pre_hook(select)
    try:
        yield True
    finally:
        hook.remove()


def refuse_untrainable_model(lm: LanguageModel) -> None:
    """Refuse what cannot be aligned: encoder-decoders, masked models without a mask, quantized weights."""
    if not isinstance(lm, MaskedLM | CausalLM):
        raise InputError(f"{lm.name} is a {lm.kind}. Use a masked or a causal language model.")
    if isinstance(lm, MaskedLM) and lm.mask is None:
        raise InputError(f"{lm.name} has no mask token, so it cannot be trained by masking. Use another masked LM.")
    if any(parameter.is_meta or not parameter.is_floating_point() for parameter in lm.model.parameters()):
        raise InputError(f"{lm.name} cannot be trained: its weights are not loaded, or are quantized.")
