"""A placebo: places that exist nowhere, asked about like real ones. How far apart they lie is what names alone do.

Names of more tokens lie further apart whatever they name, so invented names are chosen to have as many as real ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from geobias.engine.ask import ask
from geobias.measures.estimates import Estimates
from geobias.measures.herb import Children, descriptive_vectors, herb_scores, sparseness
from geobias.measures.random_regions import generations
from geobias.measures.word_influence import FEWEST_WORDS, word_influence
from geobias.models.scorer import Scorer
from geobias.texts.templates import Sentences, mark
from geobias.world.invented import invented_places
from geobias.world.regions import RegionTree
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.audits.regions.design import Question, RegionsResult

PLACES, CANDIDATES = 60, 600  # as many are invented, so that those with as many tokens as real names can be chosen
MEASURES = ("c_w", "sparseness")
ENOUGH = 10  # regions of a level, to say something of it


@dataclass(frozen=True)
class Invented:
    """What was said of invented places."""

    names: tuple[str, ...]
    likelihoods: np.ndarray = field(repr=False)  # templates x places x words
    tokens: np.ndarray | None = field(repr=False)  # of each bare name
    candidate_tokens: np.ndarray | None = field(repr=False)  # of all names that they were chosen from


def main_level(children: Children) -> np.ndarray:
    """The rows of the level that the names are studied at: the highest of ten regions or more, else the largest."""
    levels = generations(children)[1:]
    return next((rows for rows in levels if len(rows) >= ENOUGH), max(levels, key=len))


def invented_names(tree: RegionTree, words: Sequence[Word]) -> tuple[str, ...]:
    """Candidates as long as the names of that level, none of which is a region or a word of the question."""
    like = [tree.regions[row].name for row in main_level(tree.children)]
    avoid = [*(region.name for region in tree.regions), *(word.word for word in words)]
    return invented_places(like, CANDIDATES, avoid=avoid)


def matched(tokens: np.ndarray, real: np.ndarray, count: int) -> np.ndarray:
    """Positions of as many candidates, whose numbers of tokens are together as near as can be to those of real names.

    Each chosen one stands for a quantile of the real names; the sum of what they are off is the smallest possible.
    """
    wanted = np.quantile(real, (np.arange(count) + 0.5) / count, method="inverted_cdf")
    return np.sort(linear_sum_assignment(np.abs(wanted[:, None] - tokens))[1])


def ask_invented(
    asked: Question, scorer: Scorer, name_tokens: np.ndarray | None, label: str, *, progress: bool | None
) -> tuple[Invented, int]:
    """The same question about places that exist nowhere, and how many sentences of it were new.

    The bare candidates are asked first, for their tokens, and the chosen ones with all words. Where the scorer counts
    no tokens, the first candidates are taken.
    """
    marked = scorer.needs_mark
    candidates = [mark(name) for name in asked.invented] if marked else asked.invented
    tokens = None if name_tokens is None else ask(scorer, candidates, label=label, progress=progress).column("tokens")
    chosen = np.arange(PLACES)
    if tokens is not None and name_tokens is not None:
        chosen = matched(tokens, name_tokens[main_level(asked.tree.children)], PLACES)
    names = tuple(asked.invented[k] for k in chosen)
    sentences = Sentences(asked.templates, names, [word.word for word in asked.words], marked=marked)
    said = ask(scorer, sentences, label=f"{label} placebo", progress=progress)
    likelihoods = said.scores[:, 0].reshape(sentences.shape)
    return Invented(names, likelihoods, None if tokens is None else tokens[chosen], tokens), said.scored


def placebo(result: RegionsResult, invented: Invented) -> dict[str, Any]:
    """Invented places as one cluster of leaves, beside the real ones of a level as another, on the same words."""
    rows = main_level(result.question.tree.children)
    real = result.likelihoods[:, rows]

    def both(words: np.ndarray) -> np.ndarray:
        """measures x (invented, real, the first in shares of the second)."""
        measured = np.stack([_one_cluster(f[..., words]) for f in (invented.likelihoods, real)], axis=1)
        ratio = np.divide(measured[:, 0], measured[:, 1], out=np.full(len(MEASURES), np.nan), where=measured[:, 1] > 0)
        return np.column_stack([measured, ratio])

    words = result.likelihoods.shape[2]
    found: dict[str, Any] = {
        "level": result.question.tree.regions[rows[0]].level,
        "names": list(invented.names),
        "tokens": None if invented.tokens is None else float(invented.tokens.mean()),
        "candidate_tokens": None if invented.candidate_tokens is None else float(invented.candidate_tokens.mean()),
        "real_tokens": None if result.name_tokens is None else float(result.name_tokens[rows].mean()),
    }
    known = words >= FEWEST_WORDS
    estimates = word_influence(both, words).distances() if known else Estimates.unknown(both(np.arange(words)))
    for k, measure in enumerate(MEASURES):
        found[measure] = {"invented": estimates.at(k, 0), "real": estimates.at(k, 1)}
        if not np.isnan(estimates.value[k, 2]):
            found[measure]["ratio"] = estimates.at(k, 2)
    return found


def _one_cluster(likelihoods: np.ndarray) -> np.ndarray:
    """Balanced C_w and sparseness of these rows as the leaves below one root, the mean over templates."""
    templates, count, words = likelihoods.shape
    f = np.concatenate([np.full((templates, 1, words), np.nan), likelihoods], axis=1)
    children = [np.arange(1, count + 1), *[np.array([], dtype=np.int64)] * count]
    vectors = [descriptive_vectors(of_template) for of_template in f]
    c_w = [herb_scores(v, np.zeros(count + 1), children).c_w["balanced"][0] for v in vectors]
    return np.array([np.mean(c_w), np.mean([sparseness(v, children)[0] for v in vectors])])
