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
from typing import NamedTuple

import numpy as np
from scipy import sparse

from geobias.measures.arrays import LazyValues, TextValues
from geobias.measures.crossed_variance import FEWEST_EFFECTIVE_TEXTS, CrossedVariance, LinearMeasure, effective_count
from geobias.measures.estimates import Estimates
from geobias.measures.name_blocks import NameBlock, ValueSums, rank_codes
from geobias.measures.uncertainty import Family, Uncertainty

SMALLEST_EIGENVALUE = 1e-8  # of the covariates' correlations within countries; below, slopes cannot be separated


class AdjustedDifferences(NamedTuple):
    """Differences of countries from the mean of countries; arrays of countries, or of covariates."""

    kept: list[int]  # positions of the covariates that are held fixed
    unadjusted: Estimates
    adjusted: Estimates
    cautious: Estimates  # adjusted, had the covariates explained more by a margin; with the intervals of `adjusted`
    # unadjusted minus adjusted; the interval is over slopes, with the countries' mean covariates as they are
    explained: Estimates
    slopes: Estimates  # β: per unit of each covariate
    covariate_differences: np.ndarray  # countries x covariates: the means of the covariates minus the mean of countries
    uncertainty: Uncertainty  # of the adjusted differences


@dataclass(frozen=True)
class _Slopes:
    """Coefficients that are the sum over all answers of weights * values, kept apart by country."""

    design: CrossedVariance
    text_sums: np.ndarray  # texts x countries x coefficients: how far the sums move without each text (the jackknife)
    # countries and coefficients, squared: products of answers of different texts that show the same name
    name_products: np.ndarray | None

    def uncertainty(self, factors: np.ndarray) -> Uncertainty:
        """Of linear combinations of the sums: factors are measures x countries x coefficients."""
        used = (factors != 0).any(axis=2)
        return self.design.combine(
            self.text_influence(factors), self.name_covariance(factors), used @ self.design.names_by_country
        )

    def text_influence(self, factors: np.ndarray) -> np.ndarray:
        """texts x measures."""
        return np.einsum("tck,mck->tm", self.text_sums, factors)

    def name_covariance(self, factors: np.ndarray) -> np.ndarray | None:
        """measures x measures: what the effects of names add; None where names are fixed."""
        if self.name_products is None:
            return None
        combinations = factors.reshape(len(factors), -1)
        return np.asarray(combinations @ self.name_products @ combinations.T)


def _sum_slopes(
    design: CrossedVariance,
    covariates: TextValues,
    residuals: TextValues,
    groups: np.ndarray,
    weights: np.ndarray,
    text_weights: np.ndarray,
) -> _Slopes:
    """Slopes whose weights are those of a covariate minus its mean.

    `weights` is countries x covariates x coefficients; `text_weights` the same for each text (or for all countries),
    of the fit without the text: it drew the slopes towards its own answers.
    """
    texts, countries, _ = design.shape
    width = weights.shape[1]
    by_text = np.zeros((texts, countries, width))
    by_unit = sparse.csr_matrix((int(design.cells.unit.max(initial=-1)) + 1, countries * width))
    same_text = np.zeros((countries * width, countries * width))
    for block in design.blocks():
        centred, _ = _center(design, block.texts, covariates[block.texts], groups)
        centred_residuals, factor = _center(design, block.texts, residuals[block.texts][..., None], groups)
        products = centred * centred_residuals
        by_text[block.texts] = products.sum(axis=2)
        if not design.names_fixed:
            # A mean over n answers contains 1 / n of the name's own effect.
            unbiased = (products * factor[:, None, :, None]).reshape(-1, width)
            in_block, in_texts = _sum_by_name(design, block, unbiased)
            by_unit = by_unit + in_block
            same_text += in_texts
    text_sums = np.einsum("tck,tckl->tcl", by_text, np.broadcast_to(text_weights, (texts, countries, width, width)))
    if design.names_fixed:
        return _Slopes(design, text_sums, None)
    to_coefficients = np.zeros((countries, width, countries, width))
    to_coefficients[np.arange(countries), :, np.arange(countries), :] = weights
    matrix = to_coefficients.reshape(countries * width, -1)
    return _Slopes(design, text_sums, matrix.T @ ((by_unit.T @ by_unit).toarray() - same_text) @ matrix)


def _sum_by_name(design: CrossedVariance, block: NameBlock, values: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Sums of values (answers of a block x columns) by name, and the squares of those by name and text.

    Columns are countries and columns of values.
    """
    width, columns = values.shape[1], design.countries * values.shape[1]
    unit, country = design.cells.unit[block.occurrence_cell], design.cells.country[block.occurrence_cell]
    by_occurrence = np.column_stack(
        [np.bincount(block.occurrence, weights=values[block.answer, k], minlength=len(unit)) for k in range(width)]
    )
    units = int(design.cells.unit.max(initial=-1)) + 1
    _, text_unit = rank_codes(block.occurrence_text * units + unit, len(block.draws_per_text) * units)
    places = (country[:, None] * width + np.arange(width)).ravel()

    def arrange(rows: np.ndarray, count: int) -> sparse.csr_matrix:
        return sparse.csr_matrix((by_occurrence.ravel(), (np.repeat(rows, width), places)), shape=(count, columns))

    in_texts = arrange(text_unit, len(unit))
    return arrange(unit, units), (in_texts.T @ in_texts).toarray()


def adjust_for_covariates(
    design: CrossedVariance, values: TextValues, covariates: TextValues, groups: np.ndarray, margin: float = 0.0
) -> AdjustedDifferences | None:
    """Countries' differences of `values` (texts x countries x draws), as they are and with `covariates` held fixed.

    `covariates` is texts x countries x draws x covariates, `groups` texts x draws (the gender of the names). Covariates
    that vary in too few texts within countries, or that cannot be told apart there from those before them, take no
    part. None if none is left. `cautious` takes off what they explain once more, times `margin`.
    """
    all_moments = _sum_moments(design, values, covariates, groups)
    kept = _find_separable(design, all_moments.squares.sum(axis=1))
    if not kept:
        return None
    if len(kept) < all_moments.squares.shape[-1]:
        all_covariates = covariates
        covariates = LazyValues(lambda texts: all_covariates[texts][..., kept])
    moments_by_text = all_moments.select(kept)
    by_text = moments_by_text.squares.sum(axis=1)
    moments = by_text.sum(axis=0)
    inverse = np.linalg.inv(moments)
    slopes = moments_by_text.products.sum(axis=0) @ inverse
    contrasts = np.eye(design.countries) - 1 / design.countries
    differences = contrasts @ moments_by_text.covariate_means
    unadjusted, explained = contrasts @ design.means(moments_by_text.values), differences @ slopes
    if not design.is_estimable:
        return AdjustedDifferences(
            kept,
            Estimates.unknown(unadjusted),
            Estimates.unknown(unadjusted - explained),
            Estimates.unknown(unadjusted - (1 + margin) * explained),
            Estimates.unknown(explained),
            Estimates.unknown(slopes),
            differences,
            Uncertainty.unknown(design.countries),
        )
    residuals = LazyValues(lambda texts: values[texts] - np.nan_to_num(covariates[texts]) @ slopes)
    text_weights = np.linalg.pinv(moments - by_text)[:, None]
    regression = _sum_slopes(
        design, covariates, residuals, groups, np.repeat(inverse[None], design.countries, axis=0), text_weights
    )
    every_country = np.ones((1, design.countries, 1))
    by_country = differences[:, None, :] * every_country
    residual_sums = design.summarise(residuals)
    influence = design.text_influence(residual_sums) @ contrasts.T - regression.text_influence(by_country)
    name_covariance = regression.name_covariance(by_country)
    if name_covariance is not None:
        name_covariance += contrasts @ design.name_covariance(residual_sums) @ contrasts.T
    measure = LinearMeasure(moments_by_text.values, contrasts)
    uncertainty = Uncertainty.unknown(design.countries)
    if design.reacts_enough(measure):
        uncertainty = design.combine(influence, name_covariance, design.names_by_country)
    return AdjustedDifferences(
        kept,
        Family([unadjusted], [design.uncertainty(measure)]).estimates(0),
        Family([unadjusted - explained], [uncertainty]).estimates(0),
        Family([unadjusted - (1 + margin) * explained], [uncertainty]).estimates(0),
        _estimate_each(explained, regression, by_country),
        _estimate_each(slopes, regression, np.eye(len(slopes))[:, None, :] * every_country),
        differences,
        uncertainty,
    )


def _find_separable(design: CrossedVariance, by_text: np.ndarray) -> list[int]:
    """Covariates that vary within countries in enough texts, each told apart from those before it."""
    moments = by_text.sum(axis=0)
    kept: list[int] = []
    for k in range(len(moments)):
        # Slopes that rest on few texts say nothing of others.
        if design.is_estimable and effective_count(by_text[:, k, k]) < FEWEST_EFFECTIVE_TEXTS:
            continue
        candidates = [*kept, k]
        block = moments[np.ix_(candidates, candidates)]
        scale = np.sqrt(np.diag(block))
        if scale.all() and np.linalg.eigvalsh(block / np.outer(scale, scale))[0] >= SMALLEST_EIGENVALUE:
            kept = candidates
    return kept


class _Moments(NamedTuple):
    """Sums over counted answers; covariates are centred within text, country and group."""

    squares: np.ndarray  # texts x countries x covariates x covariates
    products: np.ndarray  # countries x covariates: with the values
    covariate_means: np.ndarray  # countries x covariates: not centred
    values: ValueSums

    def select(self, kept: list[int]) -> _Moments:
        """The sums of some covariates."""
        squares = self.squares[..., kept, :][..., kept]
        return _Moments(squares, self.products[:, kept], self.covariate_means[:, kept], self.values)


def _sum_moments(design: CrossedVariance, values: TextValues, covariates: TextValues, groups: np.ndarray) -> _Moments:
    squares: list[np.ndarray] = []
    products = sums = np.zeros(())

    def compute(block: slice) -> list[np.ndarray]:
        nonlocal products, sums
        block_values, block_covariates = values[block], covariates[block]
        takes_part = design.counted[block, None, :]
        centred, _ = _center(design, block, block_covariates, groups)
        squares.append(np.einsum("tcdk,tcdl->tckl", centred, centred))
        products = products + np.einsum("tcdk,tcd->ck", centred, np.where(takes_part, block_values, 0))
        sums = sums + np.where(takes_part[..., None], block_covariates, 0).sum(axis=(0, 2))
        return [block_values]

    value_sums = design.summarise_columns(compute)[0]
    return _Moments(np.concatenate(squares), products, sums / design.total, value_sums)


def _center(
    design: CrossedVariance, texts: slice, values: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values of a block of texts minus the mean over the n counted draws of the same text, country and group.

    0 where not counted. Also texts x draws: n / (n - 1), and 0 for a draw by itself.
    """
    counted, groups = design.counted[texts], groups[texts]
    centred, counts = np.zeros(values.shape), np.zeros(groups.shape)
    for group in np.unique(groups):
        in_group = counted & (groups == group)
        count = in_group.sum(axis=1, keepdims=True)
        counts += in_group * count
        takes_part = in_group[:, None, :, None]
        mean = np.where(takes_part, values, 0).sum(axis=2, keepdims=True) / np.maximum(count, 1)[:, None, :, None]
        centred += np.where(takes_part, values - mean, 0)
    return centred, np.where(counts > 1, counts / np.maximum(counts - 1, 1), 0)


def _estimate_each(values: np.ndarray, regression: _Slopes, factors: np.ndarray) -> Estimates:
    """Each with its own interval: their variances differ too much to borrow from each other's."""
    singles = [regression.uncertainty(row[None]) for row in factors]
    estimates = Family(list(values[:, None]), singles).all_estimates()
    return Estimates(*(numbers[:, 0] for numbers in vars(estimates).values()))
