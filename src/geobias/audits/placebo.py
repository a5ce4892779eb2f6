"""A placebo: places that exist nowhere, asked about like real ones. How far apart they lie is what names alone do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.engine.ask import ask
from geobias.measures.herb import Children, descriptive_vectors, herb_scores, sparseness
from geobias.measures.region_inference import FLAT, bootstrap, interval
from geobias.measures.region_null import generations
from geobias.models.scorer import Scorer
from geobias.prompts.templates import Sentences, mark
from geobias.world.invented import invented_places
from geobias.world.regions import RegionTree
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.audits.regions import Question, RegionsResult

PLACES = 60
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
    """Invented places as one cluster of leaves, beside the real ones of a level as another, on the same resamples."""
    rows = main_level(result.question.tree.children)
    made = _one_cluster(invented.likelihoods)
    real = _one_cluster(result.likelihoods[:, rows])
    found: dict[str, Any] = {
        "level": result.question.tree.regions[rows[0]].level,
        "names": list(invented.names),
        "tokens": None if invented.tokens is None else float(invented.tokens.mean()),
        "real_tokens": None if result.name_tokens is None else float(result.name_tokens[rows].mean()),
    }
    for measure in made:
        (value, drawn), (real_value, real_drawn) = made[measure], real[measure]
        found[measure] = {"invented": interval(value, drawn).at(), "real": interval(real_value, real_drawn).at()}
        if real_value > 0 and drawn is not None and real_drawn is not None:
            both = min(len(drawn), len(real_drawn))
            apart = real_drawn[:both] > 0  # of few words one may be drawn throughout: all places are then alike
            ratios = drawn[:both][apart] / real_drawn[:both][apart]
            found[measure]["ratio"] = interval(value / real_value, ratios).at()
    return found


def _one_cluster(likelihoods: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Balanced C_w and sparseness of these rows as the leaves below one root: the value, and its resamples if any."""
    templates, count, words = likelihoods.shape
    f = np.concatenate([np.full((templates, 1, words), np.nan), likelihoods], axis=1)
    children = [np.arange(1, count + 1), *[np.array([], dtype=np.int64)] * count]
    names = np.zeros(count + 1)
    vectors = [descriptive_vectors(of_template) for of_template in f]
    c_w = [herb_scores(v, names, children).c_w["balanced"][0] for v in vectors]
    plain = [sparseness(v, children)[0] for v in vectors]
    resampled = {name: values[:, 0] for name, values in bootstrap(f, names, children).items()}
    return {
        "c_w": (np.mean(c_w, axis=0), resampled.get("c_w.balanced")),
        "sparseness": (np.mean(plain, axis=0), resampled.get(FLAT)),
    }
