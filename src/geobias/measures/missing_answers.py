"""Questions that a model does not answer: how countries are compared without them, and who is answered less often.

**Comparison.** A country that is answered in lenient situations only must not look well treated. With a_s of situation
s, b_c of country c (their sum is 0) and m_sc the mean of the answers in a cell of both, least squares over the answered
cells,

    m_sc = a_s + b_c + e_sc,    (sum over s of M_s) b = sum over s of M_s m_s,    M_s = diag(o_s) - o_s o_sᵀ / n_s

compares countries within situations only: o_s says which of the countries are answered in s, n_s how many. Where every
cell is answered, b_c is the mean of country c minus the mean of countries. Its error is the sum over situations of
(sum of M_s)⁺ M_s e_s, which is the influence of a situation. Questions whose yes helps and whose yes harms are fitted
apart, and their means count alike: a tendency to say yes cancels although other questions of each kind are answered.
Situations are weighted by the share of their questions that are of the kind. A country needs answers in
`FEWEST_SITUATIONS` together with others (half as many of each of two kinds), or it takes no part.

**Share answered.** If the country did not matter, the shares of all countries in a situation could change places: a
permutation test within situations (max-T over countries) is exact, also where most shares are 0 or 1 and most
differences have no variance. Shares of countries are divided by their standard error, as in `Uncertainty`, which keeps
the level where countries differ in their variance (Janssen 1997).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geobias.measures.arrays import divide
from geobias.measures.estimates import NORMAL_QUANTILE, RESAMPLES, monte_carlo_p_value

FEWEST_SITUATIONS = 10  # with fewer, intervals do not have nominal coverage (bench/calibrate_decisions.py)
ROUNDING = 1e-9
CERTAIN = 1e9  # standard errors, of a difference that does not vary


def fill_answers(values: np.ndarray, favours: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Missing answers (NaN) get the mean of the same kind of question in their situation and country.

    `values` is situations x countries x answers, `favours` (1 or -1) and `counted` situations x answers. NaN stays
    where no question of the kind is answered: an answer to the other kind contains the tendency to say yes.
    """
    is_missing = counted[:, None, :] & np.isnan(values)
    for sign in (1, -1) if is_missing.any() else ():
        kind = (counted & (favours * sign > 0))[:, None, :]
        is_known = kind & ~is_missing
        means = divide(np.where(is_known, values, 0).sum(axis=2), is_known.sum(axis=2))
        values = np.where(kind & is_missing, means[..., None], values)
    return values


def find_comparable(means: np.ndarray, kinds: int = 1) -> np.ndarray:
    """Which countries (columns of situations x countries) share enough answered situations with the others.

    `means` is of one of so many kinds of questions.
    """
    is_answered = ~np.isnan(means)
    size = int(is_answered.any(axis=1).sum())
    shared = is_answered.T.astype(int) @ is_answered.astype(int)
    fewest = FEWEST_SITUATIONS // kinds
    is_linked = shared >= (fewest if size >= fewest else 1)
    reached = np.zeros(means.shape[1], dtype=bool)
    if is_linked.any():
        new = is_linked[int(np.diag(shared).argmax())]
        while (new & ~reached).any():
            reached, new = reached | new, is_linked[reached | new].any(axis=0)
    return reached


def average_kinds(
    values: np.ndarray, favours: np.ndarray, counted: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each kind of question: its answers (situations x answers), the mean of each cell, weights of situations.

    Cells are situations x countries, NaN where no question of the kind is answered.
    """
    parts = []
    for sign in (1, -1):
        kind = counted & (favours * sign > 0)
        if kind.any():
            is_known = kind[:, None, :] & ~np.isnan(values)
            means = divide(np.where(is_known, values, 0).sum(axis=2), is_known.sum(axis=2))
            parts.append((kind, means, np.nan_to_num(divide(kind.sum(axis=1), counted.sum(axis=1)))))
    return parts


def impute_answers(values: np.ndarray, favours: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The values with what their situation and country expect in place of missing answers, each kind by itself."""
    for kind, means, weights in average_kinds(values, favours, counted):
        expected = AdditiveFit.of(means, weights).impute(means)[..., None]
        values = np.where(kind[:, None, :] & np.isnan(values), expected, values)
    return np.nan_to_num(values)


@dataclass(frozen=True)
class AdditiveFit:
    """a and b above, and what situations contribute to their errors."""

    situations: np.ndarray  # a; NaN for a situation without answers
    countries: np.ndarray  # b
    means: np.ndarray  # b plus the mean of the situations
    influence: np.ndarray  # situations x countries: on the means

    @classmethod
    def of(cls, means: np.ndarray, weights: np.ndarray | None = None) -> AdditiveFit:
        """Fit the answered cells of situations x countries, others are NaN; `weights` is of situations."""
        is_answered = ~np.isnan(means)
        count = is_answered.sum(axis=1, keepdims=True)
        weights = np.where(count > 0, 1.0 if weights is None else weights[:, None], 0)
        answered = weights * is_answered
        shares = is_answered / np.maximum(count, 1)
        inverse = np.linalg.pinv(np.diag(answered.sum(axis=0)) - shares.T @ answered)

        def within(values: np.ndarray) -> np.ndarray:
            """M_s times the values of every situation, weighted."""
            values = np.where(is_answered, values, 0)
            return np.asarray(weights * np.where(is_answered, values - shares * values.sum(axis=1, keepdims=True), 0))

        countries = inverse @ within(means).sum(axis=0)
        residuals = np.where(is_answered, means - countries, 0)
        situations = divide(residuals.sum(axis=1), count[:, 0])
        on_countries = within(residuals) @ inverse
        of_mean = weights[:, 0] / weights.sum()
        mean = float((np.nan_to_num(situations) * of_mean).sum())
        on_mean = np.nan_to_num(situations - mean) * of_mean - on_countries @ (of_mean @ shares)
        return cls(situations, countries, mean + countries, on_mean[:, None] + on_countries)

    def impute(self, means: np.ndarray) -> np.ndarray:
        """The same means, with a + b in the cells that are not answered."""
        return np.where(np.isnan(means), self.situations[:, None] + self.countries, means)


def impute_cells(means: np.ndarray) -> np.ndarray:
    """situations x countries without NaN, but for situations that are answered for no country."""
    return AdditiveFit.of(means).impute(means) if np.isnan(means).any() else means


def permute_countries(shares: np.ndarray, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """p-values of countries (situations x countries) against their mean, and adjusted ones: the test above."""
    size, countries = shares.shape
    contrasts = shares - shares.mean(axis=1, keepdims=True)
    contrasts = contrasts[np.abs(contrasts).max(axis=1) > ROUNDING]  # others change nothing
    if not len(contrasts):
        return np.ones(countries), np.ones(countries)

    def studentize(values: np.ndarray) -> np.ndarray:
        means = values.sum(axis=0) / size
        variance = np.maximum(((values**2).sum(axis=0) / size - means**2) / (size - 1), 0)
        error = np.sqrt(np.maximum(variance, variance.mean()))
        means = np.where(np.abs(means) < ROUNDING, 0, np.abs(means))
        return np.divide(means, error, out=np.where(means > 0, CERTAIN, 0), where=error > ROUNDING)

    rng, observed = np.random.default_rng(seed), studentize(contrasts)
    permuted = np.array([studentize(rng.permuted(contrasts, axis=1)) for _ in range(RESAMPLES)])
    adjusted = monte_carlo_p_value(observed, permuted.max(axis=1)[:, None])
    return np.minimum(monte_carlo_p_value(observed, permuted.reshape(-1, 1)), adjusted), adjusted


def bound_shares(shares: np.ndarray, variance: np.ndarray, situations: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends of 95 % intervals of shares (Wilson 1927), also where all situations agree and `variance` is 0.

    The number of units is that which gives a binomial share this variance, as in surveys of clusters.
    """
    binomial = shares * (1 - shares)
    is_certain = binomial < ROUNDING
    count = np.divide(binomial, variance, out=np.full(shares.shape, np.inf), where=variance > ROUNDING**2)
    count = np.where(is_certain, situations, count)
    widening = NORMAL_QUANTILE**2 / count
    half_width = np.sqrt(widening * (binomial + widening / 4)) / (1 + widening)
    centre = (shares + widening / 2) / (1 + widening)
    return np.maximum(centre - half_width, 0), np.minimum(centre + half_width, 1)
