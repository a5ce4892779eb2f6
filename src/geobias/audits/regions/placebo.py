"""A placebo: places that exist nowhere, scored like real ones. How far apart they lie is what names alone do.

Names of more tokens lie further apart whatever they name, so invented names are chosen to have as many as real ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from geobias.audits.regions.answers import InventedPlaces, RegionsAnswers
from geobias.audits.regions.design import PLACEBO_PLACES, RegionsDesign, main_level
from geobias.audits.regions.records import Placebo
from geobias.engine.ask import ask
from geobias.measures.estimates import Estimates
from geobias.measures.herb import descriptive_vectors, mean_distance
from geobias.measures.word_jackknife import FEWEST_WORDS, jackknife_words
from geobias.models.scorer import Scorer
from geobias.texts.templates import Sentences, mark


def match_tokens(candidate_tokens: np.ndarray, real_tokens: np.ndarray, count: int) -> np.ndarray:
    """Positions of `count` candidates whose numbers of tokens are together as near as can be to those of real names.

    Each stands for a quantile of the real names; the sum of the differences is the smallest possible.
    """
    quantiles = np.quantile(real_tokens, (np.arange(count) + 0.5) / count, method="inverted_cdf")
    return np.sort(linear_sum_assignment(np.abs(quantiles[:, None] - candidate_tokens))[1])


def mark_names(names: Sequence[str], scorer: Scorer) -> Sequence[str]:
    """Bare names as this scorer takes them."""
    return [mark(name) for name in names] if scorer.needs_mark else names


def ask_invented(
    design: RegionsDesign, scorer: Scorer, name_tokens: np.ndarray | None, label: str, *, progress: bool | None
) -> tuple[InventedPlaces, int]:
    """The answers about invented places, and how many sentences had to be scored for them.

    The bare candidates come first, for their tokens, then the chosen ones with all words. Where the scorer counts no
    tokens, the first candidates are taken.
    """
    tokens, rows = None, np.arange(PLACEBO_PLACES)
    if name_tokens is not None:
        candidates = mark_names(design.placebo_candidates, scorer)
        tokens = ask(scorer, candidates, label=label, progress=progress).column("tokens")
        assert tokens is not None  # who counts the tokens of names counts these
        rows = match_tokens(tokens, name_tokens[main_level(design.tree.children)], PLACEBO_PLACES)
    names = tuple(design.placebo_candidates[row] for row in rows)
    sentences = Sentences(design.templates, names, [word.word for word in design.words], marked=scorer.needs_mark)
    answers = ask(scorer, sentences, label=f"{label} placebo", progress=progress)
    likelihoods = answers.scores[:, 0].reshape(sentences.shape)
    return InventedPlaces(names, likelihoods, None if tokens is None else tokens[rows], tokens), answers.scored


def measure_placebo(design: RegionsDesign, answers: RegionsAnswers, invented: InventedPlaces) -> Placebo:
    """How far apart invented places lie, and the real ones of a level, on the same words."""
    rows = main_level(design.tree.children)
    real = answers.likelihoods[:, rows]

    def measure(words: np.ndarray) -> np.ndarray:
        """Invented, real, the first divided by the second."""
        apart = [
            np.mean([mean_distance(descriptive_vectors(f)) for f in likelihoods[..., words]])
            for likelihoods in (invented.likelihoods, real)
        ]
        return np.array([*apart, apart[0] / apart[1] if apart[1] > 0 else np.nan])

    words = len(design.words)
    estimates = (
        jackknife_words(measure, words).estimate_distances()
        if words >= FEWEST_WORDS
        else Estimates.unknown(measure(np.arange(words)))
    )
    ratio = estimates.at(2)
    return Placebo(
        level=design.tree.regions[rows[0]].level,
        names=list(invented.names),
        tokens=_mean(invented.tokens),
        candidate_tokens=_mean(invented.candidate_tokens),
        real_tokens=None if answers.name_tokens is None else _mean(answers.name_tokens[rows]),
        invented=estimates.at(0),
        real=estimates.at(1),
        ratio=None if ratio.value is None else ratio,
    )


def _mean(values: np.ndarray | None) -> float | None:
    return None if values is None else float(values.mean())
