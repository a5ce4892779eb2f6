"""What language models find strange in the texts of a names audit: which model is asked, and its perplexities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.model_identity import model_identity
from geobias.engine.ask import Answers, ask
from geobias.errors import InputError
from geobias.models.load import load_perplexity_scorer
from geobias.models.scorer import EMBEDDED_LM, LOG_LIKELIHOOD, Classifier, Scorer
from geobias.models.sources import is_function_name
from geobias.texts.user_texts import Texts

if TYPE_CHECKING:
    from geobias.audits.names.design import Asked, NamesQuestion

NOT_ITS_OWN = f"its base model is not known, or cannot be had, so {EMBEDDED_LM} was asked; --lm names another."
MOST_UNKNOWN = 0.05  # share of a language's tokens: with more, its perplexity means nothing


@dataclass(frozen=True)
class Perplexity:
    """What a language model finds strange. NaN where it was not asked, or does not read the language."""

    model: dict[str, Any]
    form: str
    original: np.ndarray = field(repr=False)  # all texts
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x the draws that were taken
    size: np.ndarray = field(repr=False)  # all texts x (tokens, characters)
    renamed_size: np.ndarray = field(repr=False)  # the same of the renamed ones
    unknown: dict[str, float]  # language -> share of its tokens that the model does not know
    refused: list[str]  # languages of which too many are unknown
    cut: int  # texts longer than the model takes
    work: dict[str, int] = field(default_factory=dict)


def language_models(
    classifiers: Sequence[Classifier], how: Asked, device: str, dtype: str
) -> dict[str, tuple[Scorer, tuple[str, ...]]]:
    """For each classifier the scorer that gives perplexities, and a word on why it is not its own base model."""
    loaded: dict[str, Scorer] = {}

    def scorer(name: str) -> Scorer:
        if name not in loaded:
            loaded[name] = load_perplexity_scorer(name, how.perplexity, device=device, dtype=dtype)
        return loaded[name]

    if how.lm is not None:
        given = load_perplexity_scorer(how.lm, how.perplexity, device=device, dtype=dtype)
        return {classifier.name: (given, ()) for classifier in classifiers}
    found: dict[str, tuple[Scorer, tuple[str, ...]]] = {}
    for classifier in classifiers:
        if classifier.lm is not None:  # a language model that was prompted: it is loaded already
            loaded[classifier.name] = load_perplexity_scorer(classifier.lm, how.perplexity)
        base = classifier.base
        try:
            # Whoever wrote a model's card has no say in which functions are run here.
            own = None if base is None or is_function_name(base) else scorer(base)
        except InputError:
            own = None
        found[classifier.name] = (own, ()) if own else (scorer(EMBEDDED_LM), (NOT_ITS_OWN,))
    return found


def take_perplexity(asked: NamesQuestion, scorer: Scorer, how: Asked, progress: bool | None) -> Perplexity:
    """Log-perplexities of all originals, and of the first draws of each country for all or some of the texts."""
    identity = model_identity(scorer)
    label = f"perplexity by {identity['name']}"
    originals, original, shares, refused = of_originals(scorer, asked.texts, how.form, progress)
    languages = np.array(asked.texts.languages)
    readable = _some(np.flatnonzero(~np.isin(languages[asked.named], refused)), asked, how.perplexity_texts)
    some = asked.renamed.part(readable, how.perplexity_draws)
    values = np.full((len(asked.named), *some.shape[1:]), np.nan)
    said = ask(scorer, some, label=label, progress=progress)
    values[readable] = _log_perplexity(said, how.form, identity["name"]).reshape(some.shape)
    scored = originals.scored + said.scored
    cut = originals.cut + said.cut
    renamed_size = np.full((*values.shape, 2), np.nan)
    renamed_size[readable] = _size(said, some).reshape(*some.shape, 2)
    return Perplexity(
        model=identity,
        form=how.form,
        original=original,
        renamed=values,
        size=_size(originals, asked.texts.texts),
        renamed_size=renamed_size,
        unknown=shares,
        refused=refused,
        cut=cut,
        work={"perplexities_taken": scored},
    )


def of_originals(
    scorer: Scorer, texts: Texts, form: str, progress: bool | None = None
) -> tuple[Answers, np.ndarray, dict[str, float], list[str]]:
    """What the model said of texts as they are, their log-perplexities (NaN in a language that it does not read), by
    language the share of tokens that it does not know, and the languages with too many of them.
    """
    name = model_identity(scorer)["name"]
    said = ask(scorer, texts.texts, label=f"perplexity by {name}", progress=progress)
    languages = np.array(texts.languages)
    shares = {one: _unknown_share(said, languages == one) for one in dict.fromkeys(texts.languages)}
    refused = [language for language, share in shares.items() if share > MOST_UNKNOWN]
    values = _log_perplexity(said, form, name)
    values[np.isin(languages, refused)] = np.nan
    return said, values, shares, refused


def _size(said: Answers, texts: Sequence[str]) -> np.ndarray:
    """Texts x (tokens, characters): what makes a text strange without any name in it."""
    tokens = said.column("tokens")
    return np.column_stack([np.zeros(len(texts)) if tokens is None else tokens, [len(text) for text in texts]])


def _some(texts: np.ndarray, asked: NamesQuestion, count: int | None) -> np.ndarray:
    """A seeded choice of so many texts, in their order."""
    if count is None or count >= len(texts):
        return texts
    return np.sort(np.random.default_rng(asked.renamed.seed).choice(texts, count, replace=False))


def _unknown_share(said: Answers, some: np.ndarray) -> float:
    """The share of these texts' tokens that the model does not know; 0 where it does not say."""
    unknown, tokens = said.column("unknown"), said.column("tokens")
    return 0.0 if unknown is None or tokens is None else float(unknown[some].sum() / max(tokens[some].sum(), 1))


def _log_perplexity(said: Answers, form: str, name: str) -> np.ndarray:
    """Minus the mean of log P of a text's tokens, or minus their sum."""
    mean = said.column(LOG_LIKELIHOOD)
    if mean is None:
        raise InputError(f"{name} gives no {LOG_LIKELIHOOD}: a language model is needed for perplexities.")
    if form == "mean":
        return np.asarray(-mean)
    tokens = said.column("tokens")
    if tokens is None:
        raise InputError(f"{name} does not say how many tokens a text has, so there is no sum: use the mean.")
    return np.asarray(-mean * tokens)
