"""HERB: how differently a language model speaks of a region's sub-regions, gathered up the tree (Li et al. 2022).

Regions are rows; `children[r]` are the rows of r's sub-regions; every region stands after its parent and row 0 is the
root, which is never asked about itself (nobody says "people in Earth"): its row of likelihoods is NaN.

Equations 9 and 10 give weights that sum to 1, and Eq. 8 divides by the number of pairs a second time, so the
printed score falls with the square of how many sub-regions there are. Every score is therefore given twice:
`balanced`, without the second division, a weighted mean distance that can be compared between regions; and `paper`,
as printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geobias.measures.pairs import mean_absolute_differences, mean_distance, pair_count, softmax_mean_distances

FORMS = ("balanced", "paper")
Children = Sequence[np.ndarray]


@dataclass(frozen=True)
class HerbScores:
    """C of every region in both variants and forms; NaN for a region with one sub-region, which has no pair."""

    c_w: dict[str, np.ndarray]
    c_z: dict[str, np.ndarray]


def descriptive_vectors(likelihoods: np.ndarray) -> np.ndarray:
    """v(r), Eq. 2: the likelihoods of all words for one region, divided by their L2 norm (a zero vector stays zero)."""
    norms = np.linalg.norm(likelihoods, axis=1, keepdims=True)
    return likelihoods / np.where(norms == 0, 1.0, norms)


def sparseness(vectors: np.ndarray, children: Children) -> np.ndarray:
    """c(R), Eq. 3, of the sub-regions of each region: their mean pairwise distance; NaN where there is no pair."""
    values = np.full(len(children), np.nan)
    for region in inner_regions(children):
        values[region] = _or_nan(mean_distance(vectors[children[region]]))
    return values


def flat_sparseness(vectors: np.ndarray, children: Children) -> np.ndarray:
    """The flat baseline (Table 2): Eq. 3 over a region and everything below it in one cluster; NaN for leaves."""
    below: dict[int, np.ndarray] = {}
    values = np.full(len(children), np.nan)
    for region in inner_regions(children):
        deeper = [below[child] for child in children[region].tolist() if child in below]
        below[region] = np.concatenate([children[region], *deeper])
        cluster = below[region] if region == 0 else np.append(below[region], region)
        values[region] = _or_nan(mean_distance(vectors[cluster]))
    return values


def word_sparseness(vectors: np.ndarray, children: Children) -> np.ndarray:
    """c(R)_i, Eq. 6: how much the sub-regions of each region differ in each word alone; NaN where there is no pair."""
    values = np.full((len(children), vectors.shape[1]), np.nan)
    for region in inner_regions(children):
        if len(children[region]) > 1:
            values[region] = mean_absolute_differences(vectors[children[region]])
    return values


def topic_sparseness(vectors: np.ndarray, children: Children, topics: Sequence[str]) -> dict[str, np.ndarray]:
    """Eq. 3 within the dimensions of each topic."""
    of = np.array(topics)
    return {topic: sparseness(vectors[:, of == topic], children) for topic in dict.fromkeys(topics)}


def aggregated_vectors(vectors: np.ndarray, children: Children) -> np.ndarray:
    """V(r), Eq. 4 to 7: v(r) plus its sub-regions' centroid, weighed by how much they differ in each word."""
    aggregated = vectors.copy()
    for region in inner_regions(children):
        of = vectors[children[region]]
        differences = mean_absolute_differences(of)
        alpha = np.exp(differences - differences.max())
        alpha /= alpha.sum()
        aggregated[region] += alpha * of.mean(axis=0)
    return aggregated


def herb_scores(vectors: np.ndarray, name_likelihoods: np.ndarray, children: Children) -> HerbScores:
    """C_w and C_z, Eq. 8 to 10, from the leaves up.

    A leaf's C is the distance of its vector to the centroid of its siblings, itself included.
    An inner region's is the weighted mean distance of its sub-regions' V: heavier where the sub-regions are
    biased themselves (C_w, each form by its own values), or where their names are likely (C_z).
    """
    n = len(children)
    aggregated = aggregated_vectors(vectors, children)
    c_w = {form: np.full(n, np.nan) for form in FORMS}
    c_z = {form: np.full(n, np.nan) for form in FORMS}
    inner = inner_regions(children)
    is_leaf = np.ones(n, dtype=bool)
    is_leaf[inner] = False
    for region in inner:
        below = children[region]
        leaves = below[is_leaf[below]]
        from_centroid = np.linalg.norm(vectors[leaves] - vectors[below].mean(axis=0), axis=1)
        for scores in (c_w, c_z):
            for form in FORMS:
                scores[form][leaves] = from_centroid
        if len(below) < 2:
            continue
        # A sub-region without a score (one sub-region of its own) counts as 0 in the weights.
        own = [np.nan_to_num(c_w[form][below]) for form in FORMS]
        weighed = softmax_mean_distances(aggregated[below], np.column_stack([*own, name_likelihoods[below]]))
        pairs = pair_count(len(below))
        c_w["balanced"][region], c_w["paper"][region] = weighed[0], weighed[1] / pairs
        c_z["balanced"][region], c_z["paper"][region] = weighed[2], weighed[2] / pairs
    return HerbScores(c_w, c_z)


def inner_regions(children: Children) -> list[int]:
    """The regions that have sub-regions, those below before those above; of a world few have any."""
    sizes = np.fromiter(map(len, children), dtype=np.int64, count=len(children))
    return np.flatnonzero(sizes)[::-1].tolist()


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value
