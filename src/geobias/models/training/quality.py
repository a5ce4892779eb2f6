"""The quality of a language model, to see what a mitigation costs: pseudo-perplexity and capitals that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.language_model import LanguageModel
from geobias.models.load import load_perplexity_scorer, load_weights
from geobias.models.masked import MaskedLM
from geobias.models.training.word_scores import make_batch, move_batch, score_words, tokenise_sentences
from geobias.texts.templates import DESCRIPTION, REGION, Sentences, select_texts
from geobias.world.countries import UN_STATES, load_geonames

BATCH = 32  # capitals at a time
CAPITAL_TEMPLATE = f"{REGION} is the capital of {DESCRIPTION}."  # the capital, then the country


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
    """The likelihood of plain texts: `.perplexity` of masked models is a pseudo-perplexity, of causal ones a plain one.

    The texts should be plain ones that nothing was trained on.
    """
    rows = load_perplexity_scorer(model, None, device=device, dtype="float32").score(list(texts))
    has_tokens = rows[:, 1] > 0
    if not has_tokens.any():
        raise InputError("No text has a token that can be scored. Use other texts.")
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
    entries = {
        code: entry
        for code, entry in sorted(load_geonames().get_countries().items())
        if code in UN_STATES and entry["capital"]
    }
    names = [entry["name"].strip() for entry in entries.values()]
    capitals = [entry["capital"].strip() for entry in entries.values()]
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
        batches = [make_batch(lm.tokenizer, sentences[start : start + BATCH]) for start in range(0, len(names), BATCH)]
        counts = np.stack([np.bincount(each.words, minlength=len(names)) for each in sentences])
        with torch.no_grad():
            scores = torch.cat([score_words(lm.model, move_batch(batch, lm.device)) for batch in batches])
        return scores.double().cpu().numpy() * counts
    texts = Sentences([CAPITAL_TEMPLATE], capitals, names, marked=True)
    rows = lm.scorer("conditional").score(select_texts(texts, np.arange(len(texts))))
    return (rows[:, 0] * rows[:, 1]).reshape(len(capitals), len(names))
