"""A placebo: places that exist nowhere, asked about like real ones. How far apart they lie is what names alone do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.engine.ask import ask
from geobias.measures.herb import Children, descriptive_vectors, herb_scores, sparseness
from geobias.measures.inference import Estimates
from geobias.measures.region_inference import FEWEST_WORDS
from geobias.measures.region_null import generations
from geobias.measures.word_influence import word_influence
from geobias.models.scorer import Scorer
from geobias.prompts.templates import Sentences, mark
from geobias.world.invented import invented_places
from geobias.world.regions import RegionTree
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.audits.regions import Question, RegionsResult

PLACES = 60
MEASURES = ("c_w", "sparseness")
ENOUGH = 10  # regions of a level, to say something of it


@dataclass(frozen=True)
class Invented:
    """What was said of invented places."""

    names: tuple[str, ...]
    likelihoods: np.ndarray = field(repr=False)  # templates x places x words
    tokens: np.ndarray | None = field(repr=False)  # of each bare name


def main_level(children: Children) -> np.ndarray:
    """The rows of the level that the names are studied at: the highest of ten regions or more, else the largest."""
    levels = generations(children)[1:]
    return next((rows for rows in levels if len(rows) >= ENOUGH), max(levels, key=len))


def invented_names(tree: RegionTree, words: Sequence[Word]) -> tuple[str, ...]:
    """Names as long as those of that level, none of which is a region or a word of the question."""
    like = [tree.regions[row].name for row in main_level(tree.children)]
    avoid = [*(region.name for region in tree.regions), *(word.word for word in words)]
    return invented_places(like, PLACES, avoid=avoid)


def ask_invented(asked: Question, scorer: Scorer, label: str, *, progress: bool | None) -> tuple[Invented, int]:
    """The same question about places that exist nowhere, and how many sentences of it were new."""
    marked = getattr(scorer, "needs_mark", False)
    sentences = Sentences(asked.templates, asked.invented, [word.word for word in asked.words], marked=marked)
    said = ask(scorer, sentences, label=f"{label} placebo", progress=progress)
    names = [mark(name) for name in asked.invented] if marked else asked.invented
    bare = ask(scorer, names, label=label, progress=progress)
    likelihoods = said.scores[:, 0].reshape(sentences.shape)
    return Invented(asked.invented, likelihoods, bare.column("tokens")), said.scored


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
