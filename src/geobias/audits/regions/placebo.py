"""A placebo: places that exist nowhere, scored like real ones. How far apart they lie is what names alone do.

Names of more tokens lie further apart whatever they name, so invented names are chosen to have as many as real ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from geobias.audits.regions.answers import InventedPlaces, RegionsAnswers
from geobias.audits.regions.design import PLACEBO_PLACES, RegionsDesign, main_level
from geobias.audits.regions.records import Placebo, PlaceboMeasure
from geobias.engine.ask import ask
from geobias.measures.estimates import Estimates
from geobias.measures.herb import descriptive_vectors, herb_scores, sparseness
from geobias.measures.word_jackknife import FEWEST_WORDS, jackknife_words
from geobias.models.scorer import Scorer
from geobias.texts.templates import Sentences, mark

MEASURES = ("c_w", "sparseness")


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
    """Invented places as one cluster of leaves, the real ones of a level as another, on the same words."""
    rows = main_level(design.tree.children)
    real = answers.likelihoods[:, rows]

    def measure(words: np.ndarray) -> np.ndarray:
        """measures x (invented, real, the first divided by the second)."""
        values = np.stack([_measure_cluster(f[..., words]) for f in (invented.likelihoods, real)], axis=1)
        ratio = np.divide(values[:, 0], values[:, 1], out=np.full(len(MEASURES), np.nan), where=values[:, 1] > 0)
        return np.column_stack([values, ratio])

    words = len(design.words)
    estimates = (
        jackknife_words(measure, words).estimate_distances()
        if words >= FEWEST_WORDS
        else Estimates.unknown(measure(np.arange(words)))
    )

    def placebo_measure(k: int) -> PlaceboMeasure:
        invented_places, real_places, ratio = (estimates.at(k, column) for column in range(3))
        return PlaceboMeasure(invented_places, real_places, None if ratio.value is None else ratio)

    return Placebo(
        level=design.tree.regions[rows[0]].level,
        names=list(invented.names),
        tokens=_mean(invented.tokens),
        candidate_tokens=_mean(invented.candidate_tokens),
        real_tokens=None if answers.name_tokens is None else _mean(answers.name_tokens[rows]),
        **{name: placebo_measure(k) for k, name in enumerate(MEASURES)},
    )


def _measure_cluster(likelihoods: np.ndarray) -> np.ndarray:
    """Balanced C_w and sparseness of these places as the leaves below one root, the mean over templates."""
    count = likelihoods.shape[1]
    children = [np.arange(1, count + 1), *[np.array([], dtype=np.int64)] * count]
    vectors = [descriptive_vectors(f) for f in np.insert(likelihoods, 0, np.nan, axis=1)]
    c_w = [herb_scores(v, np.zeros(count + 1), children).c_w["balanced"][0] for v in vectors]
    return np.array([np.mean(c_w), np.mean([sparseness(v, children)[0] for v in vectors])])


def _mean(values: np.ndarray | None) -> float | None:
    return None if values is None else float(values.mean())
