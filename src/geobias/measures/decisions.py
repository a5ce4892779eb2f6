"""Decisions by country: preference and tendency to say yes, with situations and names as samples.

A model decides about a person of country c. `z` is the log-odds of "yes" against "no", and f = 1 where yes helps the
person, -1 where it harms. A situation is told once and asked about in several ways: a scenario and its mirror, other
wordings, other names. Over questions of both kinds (as many of one as of the other, or weighted as if),

    preference_c = mean of f * z          net of a tendency to say yes, which cancels
    yes tendency_c = mean of z            net of the preference, which cancels

and countries are compared with the mean of countries. **Variance.** Situations are a sample. Each gives one mean m_s
for each country; those with questions of one kind only are strata of their own. What names share over situations (C) is
added by `crossed_variance.py`, whose texts are situations:

    covariance = sum over strata h of n_h / (n_h - 1) * sum over situations of (m_s - m_h)(m_s - m_h)ᵀ / S² + C

An answer that is missing (NaN) is neither yes nor no: `missing_answers.py` compares countries without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import stats

from geobias.measures.arrays import divide
from geobias.measures.crossed_variance import CrossedVariance
from geobias.measures.estimates import (
    NO_ESTIMATE,
    POWER,
    TAIL,
    Estimate,
    Estimates,
    bessel_factor,
    t_quantile,
    t_test,
)
from geobias.measures.missing_answers import (
    AdditiveFit,
    average_kinds,
    fill_answers,
    find_comparable,
    impute_answers,
    impute_cells,
)
from geobias.measures.paired_differences import PairedDifference
from geobias.measures.uncertainty import ROUNDING, Family, Uncertainty, combine_variances, measure_spread_change


@dataclass(frozen=True)
class CountryMeans:
    """Means of countries, and what their uncertainty is made of."""

    means: np.ndarray
    influence: np.ndarray  # situations x countries: its squares sum to the variance over situations
    df: float | np.ndarray  # of each country where they differ
    # countries x countries: what names add; None where names are not drawn, or each situation shows one only
    name_covariance: np.ndarray | None
    name_df: np.ndarray  # of each country
    is_known: np.ndarray | None = None  # which of all countries these are; None for all. Others are answered too seldom

    @property
    def is_comparable(self) -> bool:
        return len(self.means) > 1

    def find_known(self) -> np.ndarray:
        """Which countries have means, as bool."""
        return np.ones(len(self.means), dtype=bool) if self.is_known is None else self.is_known

    def select(self, is_kept: np.ndarray) -> CountryMeans:
        """Those of some countries (bool, over all); of these, all have means."""
        part = is_kept[self.find_known()]
        if part.all():
            return self
        return CountryMeans(
            self.means[part],
            self.influence[:, part],
            self.df if np.ndim(self.df) == 0 else np.asarray(self.df)[part],
            None if self.name_covariance is None else self.name_covariance[np.ix_(part, part)],
            self.name_df[part],
            is_kept,
        )

    def subtract_mean(self) -> np.ndarray:
        """All countries against their mean; NaN for those without a mean, and where there are no two of them."""
        return self.expand(self.means - self.means.mean() if self.is_comparable else np.full(len(self.means), np.nan))

    def expand(self, values: np.ndarray) -> np.ndarray:
        """Values of these countries as values of all; NaN for the others."""
        if self.is_known is None:
            return values
        expanded = np.full(len(self.is_known), np.nan)
        expanded[self.is_known] = values
        return expanded

    def combine(self, coefficients: np.ndarray, name_df: np.ndarray) -> tuple[np.ndarray, Uncertainty]:
        """Linear combinations of the means (rows of coefficients), and their uncertainty.

        `name_df` is the degrees of freedom of what names add to each of them.
        """
        values = coefficients @ self.means
        least_df = float(np.min(self.df))
        df = np.full(len(values), self.df if np.size(self.df) == len(values) else least_df)
        of_names = None if self.name_covariance is None else coefficients @ self.name_covariance @ coefficients.T
        return values, combine_variances(self.influence @ coefficients.T, df, of_names, name_df, least_df)

    def against_mean(self) -> tuple[np.ndarray, Uncertainty]:
        """Every country against the mean of countries."""
        return self.combine(np.eye(len(self.means)) - 1 / len(self.means), self.name_df)

    def grand_mean(self) -> Estimate:
        """The mean of countries."""
        coefficients = np.full((1, len(self.means)), 1 / len(self.means))
        value, uncertainty = self.combine(coefficients, self.name_df.sum(keepdims=True))
        return Family([value], [uncertainty]).estimates(0).at(0)


def balance_weights(favours: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Weights of answers, 1 in the mean of situations, that give both kinds of questions the same weight.

    `favours` and `counted` are situations x answers. All weights are 1 if there is one kind only.
    """
    answers = counted.sum(axis=1)
    shares = ((favours > 0) & counted).sum(axis=1)[answers > 0] / answers[answers > 0]
    share = float(shares.mean()) if len(shares) else 1.0
    if share in (0.0, 1.0):
        return np.ones(favours.shape)
    return np.where(favours > 0, 0.5 / share, 0.5 / (1 - share))


def average_situations(values: np.ndarray, favours: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """situations x countries: weighted means of the counted answers (situations x countries x answers).

    Their mean over situations gives both kinds of questions the same weight. NaN for a situation without answers, and
    for a country that is not answered there.
    """
    values = fill_answers(values, favours, counted)
    weights = np.where(counted, balance_weights(favours, counted), 0)
    sums = np.einsum("scd,sd->sc", np.where(counted[:, None, :], values, 0), weights)
    return np.asarray(divide(sums, counted.sum(axis=1)[:, None]))


def average_each_situation(values: np.ndarray, favours: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """situations x countries: the mean of each situation by itself, both kinds of its questions alike.

    Unlike in `average_situations`, weights do not depend on other situations: the mean is on the scale of the values.
    """
    values = fill_answers(values, favours, counted)
    kinds = [counted & (favours > 0), counted & (favours < 0)]
    sums = [np.where(kind[:, None, :], values, 0).sum(axis=2) for kind in kinds]
    means = [divide(total, kind.sum(axis=1)[:, None]) for total, kind in zip(sums, kinds, strict=True)]
    has_kind = np.array([kind.any(axis=1) for kind in kinds])[..., None]
    return np.asarray(divide(np.where(has_kind, means, 0).sum(axis=0), has_kind.sum(axis=0)))


def summarise_countries(variance: CrossedVariance, values: np.ndarray, favours: np.ndarray) -> CountryMeans:
    """Means of `values` (situations x countries x answers) over the counted answers, both kinds of questions alike.

    `favours` is situations x answers: 1 where "yes" helps the person, -1 where it harms. NaN among the counted values
    is a question that is not answered.
    """
    means = average_situations(values, favours, variance.counted)
    is_known = variance.draws_per_text > 0
    if np.isnan(means[is_known]).any():
        return _summarise_answered(variance, values, favours)
    size = int(is_known.sum())
    strata = _list_strata(favours, variance.counted)
    influence = np.zeros(means.shape)
    for rows in strata:
        influence[rows] = (means[rows] - means[rows].mean(axis=0)) * np.sqrt(len(rows) / max(len(rows) - 1, 1)) / size
    name_covariance = None
    if not variance.names_fixed and variance.has_components:
        weights = balance_weights(favours, variance.counted)
        filled = np.nan_to_num(fill_answers(values, favours, variance.counted))
        name_covariance = variance.name_covariance(filled * weights[:, None, :])
    return CountryMeans(
        means[is_known].mean(axis=0),
        influence,
        max(size - len(strata), 1),
        name_covariance,
        np.maximum(variance.names_by_country - variance.kinds, 1.0),
    )


def _summarise_answered(variance: CrossedVariance, values: np.ndarray, favours: np.ndarray) -> CountryMeans:
    """The same where some questions are not answered: each kind by itself, then their mean."""
    kinds = average_kinds(values, favours, variance.counted)
    is_known = np.logical_and.reduce([find_comparable(means, len(kinds)) for _, means, _ in kinds])
    count = int(is_known.sum())
    if count < 2:
        return CountryMeans(np.full(count, np.nan), np.zeros((len(values), count)), 1, None, np.ones(count), is_known)
    fits = [AdditiveFit.of(means[:, is_known], weights) for _, means, weights in kinds]
    is_answered = variance.counted[:, None, :] & ~np.isnan(values[:, is_known])
    strata = _list_strata(favours, is_answered.any(axis=1))
    influence = np.mean([fit.influence for fit in fits], axis=0)
    for rows in strata:
        influence[rows] = (influence[rows] - influence[rows].mean(axis=0)) * bessel_factor(len(rows))
    situations = is_answered.any(axis=2).sum(axis=0)
    influence *= bessel_factor(situations) / bessel_factor(int(is_answered.any(axis=(1, 2)).sum()))
    name_covariance = None
    if not variance.names_fixed and variance.has_components:
        weights = balance_weights(favours, variance.counted)[:, None, :]
        imputed = np.zeros(values.shape)
        imputed[:, is_known] = impute_answers(values[:, is_known], favours, variance.counted)
        name_covariance = variance.name_covariance(imputed * weights)[np.ix_(is_known, is_known)]
    return CountryMeans(
        np.mean([fit.means for fit in fits], axis=0),
        influence,
        np.maximum(situations - len(strata), 1.0),
        name_covariance,
        np.maximum(variance.names_by_country - variance.kinds, 1.0)[is_known],
        is_known,
    )


def _list_strata(favours: np.ndarray, counted: np.ndarray) -> list[np.ndarray]:
    """Situations with both kinds of questions, with the one and with the other; all together if one is alone."""
    has_help, has_harm = ((favours > 0) & counted).any(axis=1), ((favours < 0) & counted).any(axis=1)
    kinds = [has_help & has_harm, has_help & ~has_harm, ~has_help & has_harm]
    parts = [np.flatnonzero(kind) for kind in kinds if kind.any()]
    return parts if min(map(len, parts)) > 1 else [np.flatnonzero(has_help | has_harm)]


def average_means(parts: Sequence[CountryMeans]) -> CountryMeans:
    """The mean of several ways of showing origin, in the same situations."""
    is_known = np.logical_and.reduce([part.find_known() for part in parts])
    parts, count = [part.select(is_known) for part in parts], len(parts)
    covariances = [part.name_covariance for part in parts if part.name_covariance is not None]
    return CountryMeans(
        np.mean([part.means for part in parts], axis=0),
        np.mean([part.influence for part in parts], axis=0),
        reduce(np.minimum, [part.df for part in parts]),
        np.sum(covariances, axis=0) / count**2 if covariances else None,
        np.max([part.name_df for part in parts], axis=0),
        None if is_known.all() else is_known,
    )


def estimate_against_mean(means: CountryMeans) -> Estimates:
    """Every country against the mean of countries; p-values are adjusted by max-T over countries."""
    value, uncertainty = means.against_mean()
    estimates = Family([value], [uncertainty]).estimates(0)
    return Estimates(*map(means.expand, vars(estimates).values()))


def smallest_effect(uncertainty: Uncertainty, tests: int | None = None) -> float | None:
    """The smallest difference of a country from the mean of countries that is marked with a power of 80 %.

    For the mean variance of countries, and by Bonferroni's bound, to which max-T is close for a single difference.
    `tests` is the number of countries to be tested, where these are a pilot of them.
    """
    size, error = len(uncertainty.df), float(np.sqrt(uncertainty.variance.mean()))
    if not error or size < 2:
        return None
    df = float(np.median(uncertainty.df))
    tests = tests or (1 if size == 2 else size)  # two countries have one difference
    return float((stats.t.isf(TAIL / tests, df) + stats.t.ppf(POWER, df)) * error)


def estimate_cells(
    means: np.ndarray, groups: np.ndarray, name_variance: np.ndarray | None = None
) -> tuple[Estimates, np.ndarray]:
    """groups x countries: the mean of a group of situations (a domain) against the mean of countries, as one family.

    `means` is situations x countries (NaN where a country is not answered), `groups` numbers the group of each
    situation; `name_variance` (countries) is what
    names add to the variance of a difference: about the same in a group as over all situations, since it comes from
    pairs of situations that show the same name. A group has too few situations for a variance of its own: the variance
    of one situation is the larger of two pooled ones, that of the country over all groups, and that of the group over
    all countries. Both have the degrees of freedom of situations within groups. Also the number of situations in each
    group; a group of one has no interval.
    """
    contrasts = np.where(np.isnan(means), np.nan, means - impute_cells(means).mean(axis=1, keepdims=True))
    count = np.bincount(groups)
    answered = np.stack([(~np.isnan(contrasts[groups == k])).sum(axis=0) for k in range(len(count))])
    value = np.stack([divide(np.nansum(contrasts[groups == k], axis=0), answered[k]) for k in range(len(count))])
    residuals = np.nan_to_num(contrasts - value[groups])
    df = np.maximum(answered - 1, 0).sum(axis=0)
    if df.max() < 1:
        return Estimates.unknown(value), count
    df = np.maximum(df, 1)
    of_country = (residuals**2).sum(axis=0) / df
    uncertainties = []
    for k, size in enumerate(count):
        if size < 2:
            uncertainties.append(Uncertainty.unknown(means.shape[1]))
            continue
        in_group = np.maximum(answered[k] - 1, 1)
        of_group = ((residuals[groups == k] ** 2).sum(axis=0) / in_group).mean()
        variance = np.maximum(of_country, of_group) / np.maximum(answered[k], 1)
        variance = variance if name_variance is None else variance + name_variance
        uncertainties.append(Uncertainty(np.diag(variance), df.astype(float)))
    return Family(list(value), uncertainties).all_estimates(), count


def estimate_mean(values: np.ndarray) -> Estimate:
    """The mean over situations, by Student's t; without an interval where there are fewer than two."""
    values = values[~np.isnan(values)]
    if not len(values):
        return NO_ESTIMATE
    value, df = float(values.mean()), len(values) - 1
    if df < 1:
        return Estimate(value, None, None, None, None)
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    half_width = float(t_quantile(df) * error)
    p = float(t_test(0.0 if abs(value) < ROUNDING else value, error, df))
    return Estimate(value, value - half_width, value + half_width, p, p)


def compare_countries(
    first: CountryMeans, second: CountryMeans, difference: CountryMeans, *, is_testable: bool = True
) -> PairedDifference:
    """Countries against the mean of countries in two runs, and the second run minus the first.

    `difference` comes from the answers of the second run minus those of the first: what a situation or a name does in
    both runs cancels. Differences are adjusted by max-T over countries.
    """
    values, second_values = (means.subtract_mean() for means in (first, second))
    estimates = estimate_against_mean(difference) if is_testable else Estimates.unknown(second_values - values)
    return PairedDifference(values, second_values, estimates)


def compare_spreads(
    first: CountryMeans, second: CountryMeans, difference: CountryMeans, *, seed: int = 0
) -> PairedDifference:
    """The spread between countries in two runs, and the second run minus the first, over situations and names."""
    parts = [means.against_mean() for means in (first, second, difference)]
    comparison = measure_spread_change(
        [value for value, _ in parts[:2]],
        [uncertainty.covariance for _, uncertainty in parts],
        np.random.default_rng(seed),
    )
    estimates = Estimates(*(np.array([number]) for number in vars(comparison.change).values()))
    return PairedDifference(comparison.spreads[:1], comparison.spreads[1:], estimates)
