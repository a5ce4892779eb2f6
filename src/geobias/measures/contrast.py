"""The difference of two means of each country over different answers of the same texts: women's and men's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geobias.measures.crossed_variance import FEWEST_EFFECTIVE_TEXTS, CrossedVariance, effective_count
from geobias.measures.estimates import satterthwaite_df
from geobias.measures.name_blocks import ValueSums
from geobias.measures.uncertainty import ROUNDING, Uncertainty


class CountedMean(NamedTuple):
    """Means of countries over the answers that a design counts, and what is made of them."""

    design: CrossedVariance
    values: ValueSums
    coefficients: np.ndarray
    """measures x countries."""

    @property
    def value(self) -> np.ndarray:
        return np.asarray(self.coefficients @ self.design.means(self.values))


def subtract_means(first: CountedMean, second: CountedMean) -> tuple[np.ndarray, Uncertainty]:
    """first - second, with its uncertainty: unknown where either part cannot be estimated or too few texts react.

    Texts are shared, so a text's influence is the difference of its influences on both means. Names add the variance of
    both: last names that both show would cancel in part, so this is conservative.
    """
    value = first.value - second.value
    if not (first.design.is_estimable and second.design.is_estimable):
        return value, Uncertainty.unknown(len(value))
    parts = [each.design.text_influence(each.values) @ each.coefficients.T for each in (first, second)]
    influence = parts[0] - parts[1]
    by_text = (influence**2).sum(axis=1)
    if (by_text >= ROUNDING**2).any() and effective_count(by_text) < FEWEST_EFFECTIVE_TEXTS:
        return value, Uncertainty.unknown(len(value))
    covariance = influence.T @ influence
    total, squares_over_df = np.zeros(len(value)), np.zeros(len(value))
    for each, part in zip((first, second), parts, strict=True):
        variances = [((part**2).sum(axis=0), np.full(len(value), each.design.text_count - 1.0))]
        if not each.design.names_fixed:
            of_names = each.coefficients @ each.design.name_covariance(each.values) @ each.coefficients.T
            np.fill_diagonal(of_names, np.maximum(np.diag(of_names), 0))
            covariance = covariance + of_names
            names = each.design.names_by_country[np.abs(each.coefficients).argmax(axis=1)]
            variances.append((np.diag(of_names), np.maximum(names - each.design.kinds, 1)))
        for variance, df in variances:
            total += variance
            squares_over_df += variance**2 / df
    fewest = min(first.design.text_count, second.design.text_count) - 1
    return value, Uncertainty(covariance, satterthwaite_df(total, squares_over_df, fewest))
