"""A placebo: places that exist nowhere, scored like real ones. How far apart they lie is what names alone do.

Names of more tokens lie further apart whatever they name, so invented names are chosen to have as many as real ones.
"""

from __future__ import annotations

import numpy as np

from geobias.audits.regions.answers import InventedPlaces, RegionsAnswers
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.records import Placebo
from geobias.measures.estimates import Estimates
from geobias.measures.herb import descriptive_vectors, mean_distance
from geobias.measures.random_regions import main_level
from geobias.measures.word_jackknife import FEWEST_WORDS, jackknife_words


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
