"""Perplexities of the texts of a names audit by one language model, and how the answers correlate with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers, Perplexities
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.result import PerplexityCounts
from geobias.audits.names.rows import NameList, Over, PerplexityCorrelation
from geobias.engine.ask import Answers, ask
from geobias.errors import InputError
from geobias.measures.correlation import (
    estimate_correlations,
    estimate_pooled_correlations,
    estimate_within_correlations,
    local_correlations,
)
from geobias.measures.estimates import Estimates
from geobias.models.scorer import LOG_LIKELIHOOD, Scorer
from geobias.texts.user_texts import Texts

COUNTED = ("texts", "texts_without_variance")  # for each class
MOST_UNKNOWN = 0.05  # share of a language's tokens: with more, its perplexity means nothing


def score_perplexities(design: NamesDesign, scorer: Scorer, progress: bool | None) -> Perplexities:
    """Log-perplexities of all original texts, and of the first draws of each country."""
    originals = score_originals(scorer, design.texts, progress)
    languages = np.array(design.texts.languages)
    rows = np.flatnonzero(~np.isin(languages[design.named], originals.languages_refused))
    renamed = design.counterfactuals.part(rows, design.perplexity_draws)
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


def count_perplexities(perplexities: Perplexities) -> PerplexityCounts:
    return PerplexityCounts(
        lm=perplexities.model.name,
        draws=perplexities.renamed.shape[2],
        texts=int((~np.isnan(perplexities.renamed)).any(axis=(1, 2)).sum()),
        texts_cut=perplexities.texts_cut,
        unknown_tokens=perplexities.unknown_tokens,
        languages_refused=perplexities.languages_refused,
    )


def measure_correlations(
    design: NamesDesign, countries: Sequence[NameList], answers: ClassifierAnswers, perplexities: Perplexities
) -> Iterator[PerplexityCorrelation]:
    """Global correlations by language, then local ones over all countries and by country.

    Partial correlations hold the number of tokens and of characters fixed that a renaming adds.
    """
    model, labels, seed = answers.model.name, answers.labels, design.seed

    def list_labels(estimates: Estimates, over: Over, *index: int, **about: Any) -> Iterator[PerplexityCorrelation]:
        for k, label in enumerate(labels):
            numbers: dict[str, Any] = {
                name: int(value[k]) if name in COUNTED else value for name, value in about.items()
            }
            yield PerplexityCorrelation(
                model=model, over=over, label=label, correlation=estimates.at(*index, k), **numbers
            )

    languages = np.array(design.texts.languages)
    for language in dict.fromkeys(design.texts.languages):
        rows = np.flatnonzero((languages == language) & ~np.isnan(perplexities.original))
        if len(rows):
            x, y = perplexities.original[rows], answers.original[rows]
            originals, _ = estimate_correlations(x, y, perplexities.sizes[rows], rows, seed=seed)
            yield from list_labels(originals, "originals", language=language, texts=[len(rows)] * len(labels))
    rows, log_perplexity = design.named, perplexities.renamed
    probabilities = answers.renamed[:, :, : log_perplexity.shape[2]]
    added_log_perplexity = log_perplexity - perplexities.original[rows][:, None, None]
    added_probability = probabilities - answers.original[rows][:, None, None]
    added_size = perplexities.renamed_sizes - perplexities.sizes[rows][:, None, None]
    text_ids = np.broadcast_to(rows[:, None, None], added_log_perplexity.shape)
    pooled, length_fixed = estimate_correlations(
        added_log_perplexity.ravel(),
        added_probability.reshape(-1, len(labels)),
        added_size.reshape(-1, 2),
        text_ids.ravel(),
        seed=seed,
    )
    by_text = local_correlations(log_perplexity, probabilities)
    within_country, within = estimate_within_correlations(by_text, seed=seed)
    pooled_country = estimate_pooled_correlations(added_log_perplexity, added_probability, seed=seed)
    yield from list_labels(within, "within")
    yield from list_labels(pooled, "pooled")
    yield from list_labels(length_fixed, "pooled, length fixed")
    known = (~np.isnan(by_text)).sum(axis=0)  # countries x classes
    measured = np.broadcast_to((~np.isnan(log_perplexity)).all(axis=2).sum(axis=0)[:, None], known.shape)
    for c, country in enumerate(countries):
        about: dict[str, Any] = {"place": country.place, "code": country.code}
        without_variance = measured[c] - known[c]
        yield from list_labels(
            within_country, "within", c, **about, texts=known[c], texts_without_variance=without_variance
        )
        yield from list_labels(pooled_country, "pooled", c, **about, texts=measured[c])
