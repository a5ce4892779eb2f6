"""Perplexities of the texts of a names audit, by one language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geobias.audits.names.answers import Perplexities
from geobias.audits.names.design import NamesDesign
from geobias.engine.ask import Answers, ask
from geobias.errors import InputError
from geobias.models.scorer import LOG_LIKELIHOOD, Scorer
from geobias.texts.user_texts import Texts

MOST_UNKNOWN = 0.05  # share of a language's tokens: with more, its perplexity means nothing


def score_perplexities(design: NamesDesign, scorer: Scorer, progress: bool | None) -> Perplexities:
    """Log-perplexities of all original texts, and of the first draws of each country."""
    originals = score_originals(scorer, design.texts, progress)
    languages = np.array(design.texts.languages)
    rows = np.flatnonzero(~np.isin(languages[design.named], originals.languages_refused))
    renamed = design.counterfactuals.part(rows, design.options.perplexity_draws)
    answers = ask(scorer, renamed, label=f"perplexity by {scorer.identity().name}", progress=progress)
    values = np.full((len(design.named), *renamed.shape[1:]), np.nan)
    values[rows] = _log_perplexity(answers, scorer).reshape(renamed.shape)
    renamed_sizes = np.full((*values.shape, 2), np.nan)
    renamed_sizes[rows] = _text_sizes(answers, renamed).reshape(*renamed.shape, 2)
    return Perplexities(
        model=scorer.identity(),
        original=originals.log_perplexity,
        renamed=values,
        sizes=_text_sizes(originals.answers, design.texts.texts),
        renamed_sizes=renamed_sizes,
        unknown_tokens=originals.unknown_tokens,
        languages_refused=originals.languages_refused,
        texts_cut=originals.answers.cut + answers.cut,
        texts_scored=originals.answers.scored + answers.scored,
    )


@dataclass(frozen=True)
class OriginalPerplexities:
    """Log-perplexities of original texts; NaN in a language of which the model does not know too many tokens."""

    answers: Answers
    log_perplexity: np.ndarray
    unknown_tokens: dict[str, float]  # language -> share of its tokens
    languages_refused: list[str]


def score_originals(scorer: Scorer, texts: Texts, progress: bool | None = None) -> OriginalPerplexities:
    answers = ask(scorer, texts.texts, label=f"perplexity by {scorer.identity().name}", progress=progress)
    languages = np.array(texts.languages)
    shares = {language: _unknown_share(answers, languages == language) for language in dict.fromkeys(texts.languages)}
    refused = [language for language, share in shares.items() if share > MOST_UNKNOWN]
    values = _log_perplexity(answers, scorer)
    values[np.isin(languages, refused)] = np.nan
    return OriginalPerplexities(answers, values, shares, refused)


def _text_sizes(answers: Answers, texts: Sequence[str]) -> np.ndarray:
    """texts x (tokens, characters): what moves the perplexity of a text without any name in it."""
    tokens = answers.column("tokens")
    return np.column_stack([np.zeros(len(texts)) if tokens is None else tokens, [len(text) for text in texts]])


def _unknown_share(answers: Answers, rows: np.ndarray) -> float:
    """The share of these texts' tokens that the model does not know; 0 where it does not say."""
    unknown, tokens = answers.column("unknown"), answers.column("tokens")
    return 0.0 if unknown is None or tokens is None else float(unknown[rows].sum() / max(tokens[rows].sum(), 1))


def _log_perplexity(answers: Answers, scorer: Scorer) -> np.ndarray:
    """Minus the mean of log P of a text's tokens."""
    mean = answers.column(LOG_LIKELIHOOD)
    if mean is None:
        raise InputError(f"{scorer.identity().name} has no {LOG_LIKELIHOOD}. Perplexity needs a language model.")
    return np.asarray(-mean)
