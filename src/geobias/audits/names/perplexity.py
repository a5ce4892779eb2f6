"""Perplexities of the texts of a names audit: which language model gives them, and its answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geobias.audits.names.answers import Perplexities
from geobias.audits.names.design import NamesDesign
from geobias.checks import escape, shorten
from geobias.engine.ask import Answers, ask
from geobias.errors import InputError
from geobias.models.load import load_perplexity_scorer
from geobias.models.prompted import PromptedClassifier
from geobias.models.scorer import EMBEDDED_LM, LOG_LIKELIHOOD, Classifier, Scorer
from geobias.models.sources import is_function_name
from geobias.texts.user_texts import Texts

NOT_BASE_MODEL = f"its base model is unknown or not available, so {EMBEDDED_LM} was used; choose another with --lm."
NOT_DOWNLOADED = (
    f"its base model {{0}} was not downloaded, because only its model card names it, so {EMBEDDED_LM} was used; to use "
    "it, add --lm {0}."
)
MOST_UNKNOWN = 0.05  # share of a language's tokens: with more, its perplexity means nothing


@dataclass(frozen=True)
class PerplexityModel:
    """The scorer of one classifier's perplexities, and a note where it is not the classifier's base model."""

    scorer: Scorer
    notes: tuple[str, ...] = ()


def load_perplexity_models(
    classifiers: Iterable[Classifier], lm: Any, method: str | None, *, device: str, dtype: str
) -> dict[str, PerplexityModel]:
    """For each classifier by name: `lm`, or without one the classifier's base model, else the bundled one.

    Each language model is loaded once.
    """
    if lm is not None:
        model = PerplexityModel(load_perplexity_scorer(lm, method, device=device, dtype=dtype))
        return {classifier.name: model for classifier in classifiers}
    scorers: dict[str, Scorer] = {}

    def load(name: str) -> Scorer:
        if name not in scorers:
            scorers[name] = load_perplexity_scorer(name, method, device=device, dtype=dtype)
        return scorers[name]

    models = {}
    for classifier in classifiers:
        if isinstance(classifier, PromptedClassifier):  # its language model is loaded already
            scorers[classifier.name] = load_perplexity_scorer(classifier.lm, method)
        base, note = classifier.base, NOT_BASE_MODEL
        # A model card must not choose a function that is run here, nor a card on this machine what is downloaded.
        if base is not None and is_function_name(base):
            base = None
        elif base is not None and classifier.has_local_card and not _is_here(base):
            note, base = NOT_DOWNLOADED.format(escape(shorten(base))), None
        try:
            base_scorer = None if base is None else load(base)
        except (InputError, OSError):  # a name that no file can have
            base_scorer = None
        models[classifier.name] = (
            PerplexityModel(base_scorer) if base_scorer else PerplexityModel(load(EMBEDDED_LM), (note,))
        )
    return models


def _is_here(name: str) -> bool:
    """Whether a language model needs no download: it is bundled, or a folder."""
    return name == EMBEDDED_LM or os.path.isdir(name)


def score_perplexities(design: NamesDesign, scorer: Scorer, progress: bool | None) -> Perplexities:
    """Log-perplexities of all original texts, and of the first draws of each country for all or some of the texts."""
    model, options = scorer.identity(), design.options
    originals = score_originals(scorer, design.texts, options.perplexity_form, progress)
    languages = np.array(design.texts.languages)
    known = np.flatnonzero(~np.isin(languages[design.named], originals.languages_refused))
    rows = _sample_rows(known, options.perplexity_texts, seed=options.seed)
    renamed = design.counterfactuals.part(rows, options.perplexity_draws)
    answers = ask(scorer, renamed, label=f"perplexity by {model.name}", progress=progress)
    values = np.full((len(design.named), *renamed.shape[1:]), np.nan)
    values[rows] = _log_perplexity(answers, options.perplexity_form, model.name).reshape(renamed.shape)
    renamed_sizes = np.full((*values.shape, 2), np.nan)
    renamed_sizes[rows] = _text_sizes(answers, renamed).reshape(*renamed.shape, 2)
    return Perplexities(
        model=model,
        form=options.perplexity_form,
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


def score_originals(scorer: Scorer, texts: Texts, form: str, progress: bool | None = None) -> OriginalPerplexities:
    name = scorer.identity().name
    answers = ask(scorer, texts.texts, label=f"perplexity by {name}", progress=progress)
    languages = np.array(texts.languages)
    shares = {language: _unknown_share(answers, languages == language) for language in dict.fromkeys(texts.languages)}
    refused = [language for language, share in shares.items() if share > MOST_UNKNOWN]
    values = _log_perplexity(answers, form, name)
    values[np.isin(languages, refused)] = np.nan
    return OriginalPerplexities(answers, values, shares, refused)


def _text_sizes(answers: Answers, texts: Sequence[str]) -> np.ndarray:
    """texts x (tokens, characters): what moves the perplexity of a text without any name in it."""
    tokens = answers.column("tokens")
    return np.column_stack([np.zeros(len(texts)) if tokens is None else tokens, [len(text) for text in texts]])


def _sample_rows(rows: np.ndarray, count: int | None, *, seed: int) -> np.ndarray:
    """A random sample of that size, in its order; all rows without a size."""
    if count is None or count >= len(rows):
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))


def _unknown_share(answers: Answers, rows: np.ndarray) -> float:
    """The share of these texts' tokens that the model does not know; 0 where it does not say."""
    unknown, tokens = answers.column("unknown"), answers.column("tokens")
    return 0.0 if unknown is None or tokens is None else float(unknown[rows].sum() / max(tokens[rows].sum(), 1))


def _log_perplexity(answers: Answers, form: str, name: str) -> np.ndarray:
    """Minus the mean of log P of a text's tokens, or minus their sum."""
    mean = answers.column(LOG_LIKELIHOOD)
    if mean is None:
        raise InputError(f"{name} has no {LOG_LIKELIHOOD}. Perplexity needs a language model.")
    if form == "mean":
        return np.asarray(-mean)
    tokens = answers.column("tokens")
    if tokens is None:
        raise InputError(
            f"{name} does not report the number of tokens, so there is no sum. Use --perplexity-form mean."
        )
    return np.asarray(-mean * tokens)
