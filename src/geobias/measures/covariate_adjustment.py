"""Differences between countries with covariates (the rarity of names, say) held fixed: analysis of covariance.

Answer i to a text, with names of country c, and covariates x_i:

    y_i = α_text + γ_c + β·x_i + e_i

Let x̃_i and ỹ_i be x_i and y_i minus their means over the answers of the same text, country and group (the gender of the
names). Then

    β = A⁻¹ Σ x̃_i ỹ_i,    A = Σ x̃_i x̃_iᵀ
    adjusted_c = (ȳ_c - ȳ) - β·(x̄_c - x̄)

ȳ_c is the mean of a country, ȳ the mean of the countries' means. β compares names *within* a country, in the same text:
a country's effect is never taken for that of a covariate, however much the covariate differs between countries. This is
least squares with a dummy variable for every text, country and group.

**Variance.** With e_i = y_i - β·x_i, the error of β is A⁻¹ Σ x̃_i e_i, so

    adjusted_c - γ_c = (ē_c - ē) - (x̄_c - x̄)·Σ w_i e_i,    w_i = A⁻¹ x̃_i

is linear in e, and β's own error is its second term. The influence of a text is its part of both sums; in the second,
A is that of all other texts (the jackknife, or CR3), since a text draws β towards its own answers. The effect of a name
is common to all answers that show it, and adds to the variance of Σ w_i e_i

    sum over names n of (sum over its answers of w_i ẽ_i)² - sum over texts of (the same in one text)²

as in multiway clustering (Cameron, Gelbach and Miller 2011), with the texts' part counted once. ẽ_i is e_i centred as
x̃ is, times m / (m - 1) for the m answers of its text, country and group. Names may differ the more in their effects the
rarer they are. Through names, the two terms are taken as uncorrelated: x̃ sums to 0 in every text and country.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from geobias.measures.arrays import divide
from geobias.measures.crossed_variance import (
    FEWEST_EFFECTIVE_TEXTS,
    CrossedVariance,
    LinearMeasure,
    effective_count,
    rank_codes,
)
from geobias.measures.estimates import Estimates
from geobias.measures.uncertainty import Family, Uncertainty

SMALLEST_EIGENVALUE = 1e-8  # of the covariates' correlations within countries; below, slopes cannot be separated


class AdjustedDifferences(NamedTuple):
    """Differences of countries from the mean of countries; arrays of countries, or of covariates."""

    unadjusted: Estimates
    adjusted: Estimates
    explained: Estimates
    """Unadjusted minus adjusted; the interval is over slopes, with the countries' mean covariates as they are."""
    slopes: Estimates
    """β: per unit of each covariate."""
    covariate_differences: np.ndarray
    """countries x covariates: the means of the covariates minus the mean of countries."""


@dataclass(frozen=True)
class _Slopes:
    """Coefficients that are the sum over all answers of weights * values, kept apart by country.

    Arrays are texts x countries x draws (x coefficients), and 0 where an answer is not counted.
    """

    design: CrossedVariance
    residuals: np.ndarray  # centred within text, country and group
    unbiased_residuals: np.ndarray  # times n / (n - 1): the mean of n answers contains 1 / n of the name's own effect
    weights: np.ndarray
    text_weights: np.ndarray  # those of the fit without the text: it drew the slopes towards its own answers

    def uncertainty(self, factors: np.ndarray) -> Uncertainty:
        """Of linear combinations of the sums: factors are measures x countries x coefficients."""
        used = (factors != 0).any(axis=2)
        return self.design.combine(
            self.text_influence(factors), self.name_covariance(factors), used @ self.design.names_by_country
        )

    def text_influence(self, factors: np.ndarray) -> np.ndarray:
        """texts x measures: the jackknife's, how far the sums move without each text."""
        return np.einsum("tck,mck->tm", self._sums_by_text, factors)

    @cached_property
    def _sums_by_text(self) -> np.ndarray:
        return np.einsum("tcdk,tcd->tck", self.text_weights, self.residuals)

    def name_covariance(self, factors: np.ndarray) -> np.ndarray | None:
        """measures x measures: what the effects of names add; None where names are fixed."""
        if self.design.names_fixed:
            return None
        combinations = factors.reshape(len(factors), -1)
        return np.asarray(combinations @ self._name_products @ combinations.T)

    @cached_property
    def _name_products(self) -> np.ndarray:
        """Countries and coefficients, squared: products of answers of different texts that show the same name."""
        design = self.design
        _, countries, draws = design.shape
        width = self.weights.shape[3]
        products = (self.weights * self.unbiased_residuals[..., None]).reshape(-1, width)[design.answer]
        unit, text = design.cell_unit[design.cell], design.answer // (draws * countries)
        columns = design.cell_country[design.cell][:, None] * width + np.arange(width)

        def square(rows: np.ndarray) -> np.ndarray:
            places = (np.repeat(rows, width), columns.ravel())
            sums = sparse.csr_matrix((products.ravel(), places), shape=(rows.max() + 1, countries * width))
            return (sums.T @ sums).toarray()

        units = int(unit.max()) + 1
        in_texts = rank_codes(text * units + unit, design.shape[0] * units)[1]
        return np.asarray(square(unit) - square(in_texts))


def adjust_for_covariates(
    design: CrossedVariance, values: np.ndarray, covariates: np.ndarray, groups: np.ndarray
) -> AdjustedDifferences | None:
    """Countries' differences of `values` (texts x countries x draws), as they are and with `covariates` held fixed.

    `covariates` is texts x countries x draws x covariates, `groups` texts x draws (the gender of the names). None if a
    covariate does not vary within countries, or two cannot be told apart there.
    """
    centred, _ = _center(design, covariates, groups)
    by_text = np.einsum("tcdk,tcdl->tkl", centred, centred)
    moments = by_text.sum(axis=0)
    scale = np.sqrt(np.diag(moments))
    if not scale.all() or np.linalg.eigvalsh(moments / np.outer(scale, scale))[0] < SMALLEST_EIGENVALUE:
        return None
    weights = centred @ np.linalg.inv(moments)
    slopes = np.einsum("tcdk,tcd->k", weights, np.where(design.counted[:, None, :], values, 0))
    contrasts = np.eye(design.countries) - 1 / design.countries
    differences = contrasts @ np.stack([design.means(column) for column in np.moveaxis(covariates, 3, 0)], axis=1)
    unadjusted, explained = contrasts @ design.means(values), differences @ slopes
    # Slopes that rest on few texts say nothing of others.
    effective_texts = min(effective_count(by_text[:, k, k]) for k in range(len(moments)))
    if not design.is_estimable or effective_texts < FEWEST_EFFECTIVE_TEXTS:
        return AdjustedDifferences(
            Estimates.unknown(unadjusted),
            Estimates.unknown(unadjusted - explained),
            Estimates.unknown(explained),
            Estimates.unknown(slopes),
            differences,
        )
    residuals = values - np.nan_to_num(covariates) @ slopes
    text_weights = np.einsum("tcdk,tkl->tcdl", centred, np.linalg.pinv(moments - by_text))
    regression = _Slopes(design, *_center_residuals(design, residuals, groups), weights, text_weights)
    every_country = np.ones((1, design.countries, 1))
    by_country = differences[:, None, :] * every_country
    influence = design.text_influence(residuals) @ contrasts.T - regression.text_influence(by_country)
    name_covariance = regression.name_covariance(by_country)
    if name_covariance is not None:
        name_covariance += contrasts @ design.name_covariance(residuals) @ contrasts.T
    measure = LinearMeasure(values, contrasts)
    uncertainty = Uncertainty.unknown(design.countries)
    if design.reacts_enough(measure):
        uncertainty = design.combine(influence, name_covariance, design.names_by_country)
    return AdjustedDifferences(
        Family([unadjusted], [design.uncertainty(measure)]).estimates(0),
        Family([unadjusted - explained], [uncertainty]).estimates(0),
        _estimate_each(explained, regression, by_country),
        _estimate_each(slopes, regression, np.eye(len(slopes))[:, None, :] * every_country),
        differences,
    )


def estimate_slopes_by_country(
    design: CrossedVariance, values: np.ndarray, covariate: np.ndarray, groups: np.ndarray, is_known: np.ndarray
) -> Estimates:
    """The slope of `values` on one covariate (texts x countries x draws), for each country by itself.

    NaN for the countries that are not in `is_known` (bool), and for those within which it varies in too few texts.
    """
    centred, _ = _center(design, covariate[..., None], groups)
    by_text = (centred**2).sum(axis=(2, 3))
    moments = by_text.sum(axis=0)
    # A slope that rests on few texts says nothing of others.
    has_slope = is_known & (np.array([effective_count(squares) for squares in by_text.T]) >= FEWEST_EFFECTIVE_TEXTS)
    weights = divide(centred, moments[:, None, None])
    slopes = np.nan_to_num(np.einsum("tcd,tcd->c", weights[..., 0], np.where(design.counted[:, None, :], values, 0)))
    estimates = Estimates.unknown(np.where(has_slope, slopes, np.nan))
    if not design.is_estimable or not has_slope.any():
        return estimates
    residuals = _center_residuals(design, values - slopes[:, None] * covariate, groups)
    text_weights = np.nan_to_num(divide(centred, (moments - by_text)[:, :, None, None]))
    regression = _Slopes(design, *residuals, np.nan_to_num(weights), text_weights)
    known = _estimate_each(slopes[has_slope], regression, np.eye(design.countries)[has_slope][..., None])
    columns = [np.full(design.countries, np.nan) for _ in vars(known)]
    for column, numbers in zip(columns, vars(known).values(), strict=True):
        column[has_slope] = numbers
    return Estimates(*columns)


def _center(design: CrossedVariance, values: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minus the mean over the counted draws of the same text, country and group; 0 where not counted.

    Also texts x draws: the number n of these draws.
    """
    centred, counts = np.zeros(values.shape), np.zeros(groups.shape)
    for group in np.unique(groups):
        in_group = design.counted & (groups == group)
        count = in_group.sum(axis=1, keepdims=True)
        counts += in_group * count
        takes_part = in_group[:, None, :, None]
        mean = np.where(takes_part, values, 0).sum(axis=2, keepdims=True) / np.maximum(count, 1)[:, None, :, None]
        centred += np.where(takes_part, values - mean, 0)
    return centred, counts


def _center_residuals(
    design: CrossedVariance, residuals: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Centred within text, country and group; and the same times n / (n - 1), 0 for a draw by itself."""
    centred, counts = _center(design, residuals[..., None], groups)
    factor = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 0)
    return centred[..., 0], centred[..., 0] * factor[:, None, :]


def _estimate_each(values: np.ndarray, regression: _Slopes, factors: np.ndarray) -> Estimates:
    """Each with its own interval: their variances differ too much to borrow from each other's."""
    singles = [regression.uncertainty(row[None]) for row in factors]
    family = Family(list(values[:, None]), singles)
    columns = zip(*(vars(family.estimates(k)).values() for k in range(len(values))), strict=True)
    return Estimates(*(np.concatenate(numbers) for numbers in columns))
