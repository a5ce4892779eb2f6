"""Scores of words in sentences about regions, with gradients, on which alignment trains; and what it may cost.

The score of a word is the mean log P of its tokens given the sentence before it (causal models) or around it (masked
models). The tokens of a word are masked together, so that all words of equally many tokens share one forward pass. The
audit's score `conditional` fills them in one by one; the first token's log P is the same.

The cost is measured by the (pseudo-)perplexity of plain texts and by the capitals that a model knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from geobias.models.causal import CausalScorer, CausalTexts
from geobias.models.language_model import LanguageModel
from geobias.models.load import load_perplexity_scorer, load_weights
from geobias.models.masked import MaskedLM
from geobias.models.pretrained import Tokens
from geobias.models.training.epochs import Batch, pad_batch
from geobias.texts.templates import DESCRIPTION, REGION, Sentences, select_texts, unmark
from geobias.world.countries import UN_STATES, load_entries

CAPITALS_AT_ONCE = 32
CAPITAL_TEMPLATE = f"{REGION} is the capital of {DESCRIPTION}."  # the capital, then the country


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
    rows, positions, targets = encoded.predictions(np.arange(len(texts)))
    return SentenceTokens(list(encoded.inputs), rows, positions, targets, rows)


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


@dataclass(frozen=True)
class TextLikelihoods:
    """log P of texts, for masked models the pseudo-log-likelihood (Salazar et al. 2020)."""

    log_p: np.ndarray = field(repr=False)  # the sum over each text's tokens
    tokens: np.ndarray = field(repr=False)

    @property
    def perplexity(self) -> float:
        """exp(-log P per token), over all texts together; pseudo-perplexity for masked models."""
        return float(np.exp(-self.log_p.sum() / self.tokens.sum()))


def pseudo_perplexity(model: Any, texts: Sequence[str], *, device: str = "auto") -> TextLikelihoods:
    """The likelihood of plain texts; `.perplexity` of masked models is a pseudo-perplexity."""
    rows = load_perplexity_scorer(model, None, device=device, dtype="float32").score(list(texts))
    has_tokens = rows[:, 1] > 0
    return TextLikelihoods(rows[has_tokens, 0] * rows[has_tokens, 1], rows[has_tokens, 1])


@dataclass(frozen=True)
class CapitalsKnown:
    """Which capitals a model knows the country of."""

    countries: tuple[str, ...] = field(repr=False)  # ISO codes
    is_known: np.ndarray = field(repr=False)

    @property
    def share(self) -> float:
        """The share of countries whose capital is known, from 0 to 1."""
        return float(self.is_known.mean())


def share_of_capitals_known(model: Any, *, device: str = "auto") -> CapitalsKnown:
    """Ask for the country of every capital: known if no other country's name is more likely.

    The score is log P of the country's name in "{capital} is the capital of {country}.", summed over its tokens. The
    countries are the members and observer states of the United Nations. Those whose name is in their capital's
    (Singapore, Kuwait City) are not asked for.
    """
    entries = {code: entry for code, entry in sorted(load_entries().items()) if code in UN_STATES and entry.capital}
    names = [entry.name for entry in entries.values()]
    capitals = [entry.capital for entry in entries.values()]
    lm = model if isinstance(model, LanguageModel) else load_weights(model, device=device, dtype="float32")
    log_p = _score_names(lm, capitals, names)
    asks = [row for row, (name, capital) in enumerate(zip(names, capitals, strict=True)) if name not in capital]
    codes = list(entries)
    return CapitalsKnown(tuple(codes[row] for row in asks), log_p[asks].argmax(axis=1) == asks)


def compute_word_variance_ratio(before: np.ndarray, after: np.ndarray) -> float:
    """How much words still differ: the variance over words of the mean score of all regions, after divided by before.

    A model that says the same of everything has 0: its regions are alike, but it describes nobody any more.
    The scores of both models are regions x words.
    """
    return float(after.mean(axis=0).var() / before.mean(axis=0).var())


def _score_names(lm: LanguageModel, capitals: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """capitals x countries: log P of the country's name in the sentence about the capital."""
    if isinstance(lm, MaskedLM):  # all tokens of a name masked at once: a few forward passes for each capital
        sentences = tokenise_sentences(lm, [CAPITAL_TEMPLATE], capitals, names)
        batches = [
            make_batch(lm.tokenizer, sentences[start : start + CAPITALS_AT_ONCE])
            for start in range(0, len(names), CAPITALS_AT_ONCE)
        ]
        counts = np.stack([np.bincount(each.words, minlength=len(names)) for each in sentences])
        with torch.no_grad():
            scores = torch.cat([score_words(lm.model, move_batch(batch, lm.device)) for batch in batches])
        return scores.double().cpu().numpy() * counts
    texts = Sentences([CAPITAL_TEMPLATE], capitals, names, marked=True)
    rows = lm.scorer("conditional").score(select_texts(texts, np.arange(len(texts))))
    return (rows[:, 0] * rows[:, 1]).reshape(len(capitals), len(names))
