"""HERB: how differently a language model describes a region's sub-regions, aggregated up the tree (Li et al. 2022).

Regions are rows; `children[r]` are the rows of r's sub-regions; every region follows its parent and row 0 is the root,
which is not scored itself (nobody says "people in Earth"): its row of likelihoods is NaN.

Equations 9 and 10 give weights that sum to 1, and Eq. 8 divides by the number of pairs a second time, so the
printed score falls with the square of how many sub-regions there are. Every score is therefore given twice:
`balanced`, without the second division, a weighted mean distance that can be compared between regions; and `paper`,
as printed.

Likelihoods and vectors are arrays of NumPy or of torch; axes before regions and words are other likelihoods, of which
everything is measured alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from geobias.measures.arrays import as_index
from geobias.measures.pairs import mean_absolute_differences, mean_distance, pair_count, softmax_mean_distances

FORMS = ("balanced", "paper")
Children = Sequence[np.ndarray]


@dataclass(frozen=True)
class HerbScores:
    """C of every region in both variants and forms; NaN for a region with one sub-region, which has no pair."""

    c_w: dict[str, Any]
    c_z: dict[str, Any]


def descriptive_vectors(likelihoods: Any) -> Any:
    """v(r), Eq. 2: the likelihoods of all words for one region, divided by their L2 norm (a zero vector stays zero)."""
    norms = _norms(likelihoods, keepdims=True)
    return likelihoods / array_namespace(norms).where(norms == 0, 1.0, norms)


def sparseness(vectors: Any, children: Children) -> Any:
    """c(R), Eq. 3, of the sub-regions of each region: their mean pairwise distance; NaN where there is no pair."""
    values = _unknown(vectors[..., 0])
    for region in inner_regions(children):
        values[..., region] = mean_distance(vectors[..., as_index(children[region], vectors), :])
    return values


def flat_sparseness(vectors: Any, children: Children) -> Any:
    """The flat baseline (Table 2): Eq. 3 over a region and everything below it in one cluster; NaN for leaves."""
    below: dict[int, np.ndarray] = {}
    values = _unknown(vectors[..., 0])
    for region in inner_regions(children):
        deeper = [below[child] for child in children[region].tolist() if child in below]
        below[region] = np.concatenate([children[region], *deeper])
        cluster = below[region] if region == 0 else np.append(below[region], region)
        values[..., region] = mean_distance(vectors[..., as_index(cluster, vectors), :])
    return values


def word_sparseness(vectors: Any, children: Children) -> Any:
    """c(R)_i, Eq. 6: how much the sub-regions of each region differ in each word alone; NaN where there is no pair."""
    values = _unknown(vectors)
    for region in inner_regions(children):
        if len(children[region]) > 1:
            values[..., region, :] = mean_absolute_differences(vectors[..., as_index(children[region], vectors), :])
    return values


def aggregated_vectors(vectors: Any, children: Children) -> Any:
    """V(r), Eq. 4 to 7: v(r) plus its sub-regions' centroid, weighed by how much they differ in each word."""
    xp = array_namespace(vectors)
    aggregated = xp.asarray(vectors, copy=True)
    for region in inner_regions(children):
        below = vectors[..., as_index(children[region], vectors), :]
        differences = mean_absolute_differences(below)
        alpha = xp.exp(differences - xp.max(differences, axis=-1, keepdims=True))
        alpha /= xp.sum(alpha, axis=-1, keepdims=True)
        aggregated[..., region, :] += alpha * xp.mean(below, axis=-2)
    return aggregated


def centroid_distances(vectors: Any, children: Children) -> Any:
    """The distance of each region's v to the centroid of its siblings, itself included; NaN without a sibling."""
    xp, distances = array_namespace(vectors), _unknown(vectors[..., 0])
    for region in inner_regions(children):
        if len(children[region]) > 1:
            below = as_index(children[region], vectors)
            siblings = vectors[..., below, :]
            distances[..., below] = _norms(siblings - xp.mean(siblings, axis=-2, keepdims=True))
    return distances


def herb_scores(vectors: Any, name_likelihoods: np.ndarray, children: Children) -> HerbScores:
    """C_w and C_z, Eq. 8 to 10, from the leaves up.

    A leaf's C is the distance of its vector to the centroid of its siblings, itself included.
    An inner region's is the weighted mean distance of its sub-regions' V: heavier where the sub-regions are
    biased themselves (C_w, each form by its own values), or where their names are likely (C_z).
    """
    xp = array_namespace(vectors)
    aggregated = aggregated_vectors(vectors, children)
    names = xp.broadcast_to(xp.asarray(name_likelihoods, device=device(vectors)), vectors.shape[:-1])
    distances = centroid_distances(vectors, children)
    distances = xp.where(xp.isnan(distances), 0.0, distances)  # a leaf without siblings is its own centroid
    scores = xp.stack([distances] * 2 * len(FORMS), axis=-1)  # C_w in both forms, then C_z
    scores[..., 0, :] = np.nan
    for region in inner_regions(children):
        if len(children[region]) < 2:
            scores[..., region, :] = np.nan
            continue
        below, pairs = as_index(children[region], vectors), pair_count(len(children[region]))
        c_w_below = scores[..., below, : len(FORMS)]
        c_w_below = xp.where(xp.isnan(c_w_below), 0.0, c_w_below)  # a region with one sub-region counts as 0
        logits = xp.concat([c_w_below, names[..., below, None]], axis=-1)
        by_c_w, by_c_w_paper, by_name = xp.unstack(softmax_mean_distances(aggregated[..., below, :], logits), axis=-1)
        scores[..., region, :] = xp.stack([by_c_w, by_c_w_paper / pairs, by_name, by_name / pairs], axis=-1)
    c_w, c_z = ({form: scores[..., start + k] for k, form in enumerate(FORMS)} for start in (0, len(FORMS)))
    return HerbScores(c_w, c_z)


def inner_regions(children: Children) -> list[int]:
    """The regions that have sub-regions, those below before those above; of a world few have any."""
    sizes = np.fromiter(map(len, children), dtype=np.int64, count=len(children))
    return np.flatnonzero(sizes)[::-1].tolist()


def _norms(vectors: Any, *, keepdims: bool = False) -> Any:
    return array_namespace(vectors).linalg.vector_norm(vectors, axis=-1, keepdims=keepdims)


def _unknown(like: Any) -> Any:
    return array_namespace(like).full(like.shape, np.nan, dtype=like.dtype, device=device(like))
