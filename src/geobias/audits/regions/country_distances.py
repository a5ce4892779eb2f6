"""How far each country lies from its continent, with intervals and tests over words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate, Estimates
from geobias.measures.herb import Children, centroid_distances, descriptive_vectors
from geobias.measures.word_jackknife import FEWEST_WORDS, WordJackknife, leave_out_each_word, template_influence

FEWEST_WORDS_TO_TEST = 100  # with 60, some of 24 like countries was marked in 15 % of simulated worlds; with 112 in 4 %


@dataclass(frozen=True)
class CountryDistances:
    """The distance of each country to the mean of its continent's countries."""

    codes: list[str]
    distances: Estimates
    """With 95 % intervals over words and templates."""
    against_mean: Estimates
    """Minus the mean over all countries, tested against 0; p-values are adjusted over the countries."""

    @property
    def mean(self) -> float:
        return float(self.distances.value.mean())

    def list_estimates(self) -> dict[str, Estimate]:
        """By code: the distance and its interval, with the p-values of its difference from the mean."""
        combined = replace(self.distances, p=self.against_mean.p, p_adjusted=self.against_mean.p_adjusted)
        return {code: combined.at(row) for row, code in enumerate(self.codes)}


def measure_country_distances(result: RegionsResult, likelihoods: np.ndarray) -> CountryDistances | None:
    """Distances from likelihoods (templates x regions x words); None where every country is alone on its continent.

    Only countries count: a jackknife over words of all cities would take minutes.
    """
    parents = Counter(region.parent_index for region in result.regions if region.level == "country")
    rows = [
        row
        for row, region in enumerate(result.regions)
        if region.level == "country" and parents[region.parent_index] > 1
    ]
    if not rows:
        return None
    parent_of_row = np.array([result.regions[row].parent_index for row in rows])
    siblings: Children = [np.flatnonzero(parent_of_row == parent) for parent in np.unique(parent_of_row)]
    codes, f = [result.regions[row].id for row in rows], likelihoods[:, rows]

    def measure_by_template(words: np.ndarray) -> np.ndarray:
        return np.stack([centroid_distances(descriptive_vectors(each[:, words]), siblings) for each in f])

    words = f.shape[-1]
    by_template = measure_by_template(np.arange(words))
    value = by_template.mean(axis=0)
    if words < FEWEST_WORDS:
        return CountryDistances(codes, Estimates.unknown(value), Estimates.unknown(_centre(value)))
    leave_one_out = leave_out_each_word(lambda kept: measure_by_template(kept).mean(axis=0), words)
    jackknife, influence = WordJackknife(value, leave_one_out), template_influence(by_template)
    from_mean = jackknife.transform(_centre).estimate_differences(_centre(influence))
    if words < FEWEST_WORDS_TO_TEST:
        from_mean = Estimates.unknown(from_mean.value)
    return CountryDistances(codes, jackknife.estimate_distances(influence), from_mean)


def _centre(values: np.ndarray) -> np.ndarray:
    """Minus the mean over countries, the last axis."""
    return np.asarray(values - values.mean(axis=-1, keepdims=True))
