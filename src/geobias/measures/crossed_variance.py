"""The variance of means over texts and names, when both are samples.

A name that a classifier dislikes makes its country look bad in every text that shows it, so answers to different texts
are correlated wherever they show the same name. For a country's mean over T texts, with S² the usual variance of a mean
of T text means:

    variance = S² + C,    C = T / (T - 1) * sum over names n of σ²_kind(n) * (p_n² - sum over texts t of p_tn²)

p_n (p_tn) is the share of the answers that show name n (in text t), and σ²_kind the variance of the effects of men's,
women's and last names. S² contains everything that differs between texts: their own effects, their interaction with
the country, and the noise of single answers. C adds what texts share through names.

**σ² by the method of moments.** Let r be an answer minus the mean of its text and country. For pairs of answers of
*different* texts that show the same name, the expectation of r * r' depends on σ² alone: effects of texts are
subtracted, and noise is independent. With Q_k the sum of these products over the names of kind k,

    E[Q] = M σ²,    M_kl = sum over names u of kind k and v of kind l of (sum_t W_tuv)² - sum_t W_tuv²

W_tuv is the sum over the answers to text t of z_u (z_v - mean of z_v in the text), where z_u says whether the answer
shows u. M follows from the design alone; σ² is the solution of a system of at most three equations for each country.

This is the inclusion-exclusion of multiway clustering (Cameron, Gelbach and Miller 2011) with unbiased components.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse, stats

from geobias.measures.estimates import NORMAL_QUANTILE, satterthwaite_df
from geobias.measures.uncertainty import ROUNDING, TAIL, Uncertainty

FEWEST_TEXTS, FEWEST_ANSWERS = 15, 40  # of a country: with fewer, intervals do not have nominal coverage
FEWEST_DRAWS = 2
FEWEST_EFFECTIVE_TEXTS = 5  # a saturated classifier reacts in few texts: that says nothing of others
POWER = 0.8
MOST_SPARSE = 4  # possible codes for each answer, up to which they are ranked without sorting
SMALLEST_SINGULAR_VALUE = 1e-6  # relative: combinations of kinds that the design cannot separate are left out


class LinearMeasure(NamedTuple):
    """A measure that is linear in the countries' means."""

    values: np.ndarray
    """texts x countries x draws."""
    coefficients: np.ndarray
    """countries x countries: row c gives the measure of country c from the mean values of all countries."""


@dataclass(frozen=True)
class NameUnits:
    """Which names an answer shows: entry i says that answer `answer[i]` (counted flat) shows name `unit[i]`."""

    answer: np.ndarray
    unit: np.ndarray
    kind: np.ndarray  # of each name: male, female, last or city, as a number


class VarianceComponents(NamedTuple):
    """What makes up the variance of a country's difference from the mean of countries, for planning."""

    texts: np.ndarray
    """countries: variance of one text's difference, without the noise of its draws."""
    draws: np.ndarray
    """countries: variance of one draw of a text."""
    names: np.ndarray
    """countries x kinds: variance of the effect of one name; unbiased, so below 0 at times."""


class CrossedVariance:
    """The design (which answer shows which names), and from it the uncertainty of every linear measure.

    Arrays of values are texts x countries x draws; `counted` (texts x draws) says which answers take part.
    """

    def __init__(
        self, units: NameUnits, shape: tuple[int, int, int], counted: np.ndarray, *, names_fixed: bool = False
    ) -> None:
        self.shape, self.counted, self.names_fixed = shape, counted, names_fixed
        texts, self.countries, draws = shape
        self.draws_per_text = counted.sum(axis=1)
        self.total = int(self.draws_per_text.sum())
        self.text_count = int((self.draws_per_text > 0).sum())
        repeated = int(self.draws_per_text[self.draws_per_text >= FEWEST_DRAWS].sum())
        # With one draw per text, the effect of the name cannot be separated from that of the text.
        has_repeats = names_fixed or 2 * repeated >= self.total
        self.has_components = self.text_count > 1 and has_repeats
        shows_enough_names = names_fixed or self.total >= FEWEST_ANSWERS
        self.is_estimable = self.has_components and self.text_count >= FEWEST_TEXTS and shows_enough_names
        is_counted = np.broadcast_to(counted[:, None, :], shape).ravel()
        keep = is_counted[units.answer]
        self.answer, unit = units.answer[keep], units.unit[keep]
        country, text = (self.answer // draws) % self.countries, self.answer // (draws * self.countries)
        self.kinds = int(units.kind.max(initial=-1)) + 1
        # A cell is a name in a country; an occurrence a cell in a text.
        cells, self.cell = rank_codes(country * len(units.kind) + unit, self.countries * len(units.kind))
        self.cell_country, self.cell_unit = cells // len(units.kind), cells % len(units.kind)
        self.cell_kind = units.kind[self.cell_unit]
        occurrences, self.occurrence = rank_codes(self.cell * texts + text, len(cells) * texts)
        self.occurrence_cell, self.occurrence_text = occurrences // texts, occurrences % texts
        self.count = np.bincount(self.occurrence, minlength=len(occurrences)).astype(float)
        if self.has_components and not names_fixed:
            self._moments = self._design_moments()
            self._overlap = self._name_overlap()

    def means(self, values: np.ndarray) -> np.ndarray:
        """The countries' means over the counted answers."""
        return np.asarray(np.where(self.counted[:, None, :], values, 0).sum(axis=(0, 2)) / self.total)

    def uncertainty(self, measure: LinearMeasure) -> Uncertainty:
        """The covariance matrix of a measure of all countries, with degrees of freedom; NaN if too few texts react."""
        coefficients = measure.coefficients
        if not self.reacts_enough(measure):
            return Uncertainty.unknown(len(coefficients))
        influence = self.text_influence(measure.values) @ coefficients.T
        name_covariance = None
        if not self.names_fixed:
            name_covariance = coefficients @ self.name_covariance(measure.values) @ coefficients.T
        return self.combine(influence, name_covariance, self.names_by_country)

    def reacts_enough(self, measure: LinearMeasure) -> bool:
        """Whether enough texts contribute to a measure; also if none does, which is certain."""
        contributions = ((self._text_sums(measure.values) @ measure.coefficients.T) ** 2).sum(axis=1)
        if (contributions < ROUNDING**2).all():
            return True
        return effective_count(contributions) >= FEWEST_EFFECTIVE_TEXTS

    def combine(self, influence: np.ndarray, name_covariance: np.ndarray | None, name_count: np.ndarray) -> Uncertainty:
        """The uncertainty of measures from the influence of each text on them (texts x measures), and from names.

        `name_count` is how many names each measure rests on; `name_covariance` is None where names are fixed.
        """
        covariance = influence.T @ influence
        text_variance = np.diag(covariance).copy()
        text_df = np.full(len(text_variance), self.text_count - 1.0)
        if name_covariance is None:
            return Uncertainty(covariance, text_df)
        covariance = covariance + name_covariance
        variance = np.maximum(np.diag(covariance), text_variance)  # names add to the variance
        np.fill_diagonal(covariance, variance)
        name_df = np.maximum(name_count - self.kinds, 1)
        name_variance = variance - text_variance
        squares_over_df = text_variance**2 / text_df + name_variance**2 / name_df
        return Uncertainty(covariance, satterthwaite_df(variance, squares_over_df, self.text_count - 1))

    @property
    def names_by_country(self) -> np.ndarray:
        """How many names the counted answers of each country show."""
        return np.bincount(self.cell_country, minlength=self.countries)

    def linearize_change(self, after: np.ndarray, before: np.ndarray) -> LinearMeasure:
        """100 * (mean after / mean before - 1) to first order: predictions (0 or 1) of renamed and original texts."""
        mean_before = (before * self.draws_per_text).sum() / self.total
        if not mean_before:
            return LinearMeasure(np.zeros(self.shape), np.eye(self.countries))
        ratio = self.means(after) / mean_before
        values = 100 / mean_before * (after - ratio[None, :, None] * before[:, None, None])
        return LinearMeasure(values, np.eye(self.countries))

    def linearize_change_from_mean(self, after: np.ndarray) -> LinearMeasure:
        """100 * (mean of a country / mean of countries - 1) to first order."""
        means = self.means(after)
        mean = means.mean()
        if not mean:
            return LinearMeasure(np.zeros(self.shape), np.eye(self.countries))
        return LinearMeasure(100 / mean * after, np.eye(self.countries) - (means / mean)[:, None] / self.countries)

    def variance_components(self, values: np.ndarray) -> VarianceComponents:
        """Of every country against the mean of countries."""
        contrasts = np.eye(self.countries) - 1 / self.countries
        df = max(int(np.maximum(self.draws_per_text - 1, 0).sum()), 1)
        within = contrasts**2 @ ((self._within(values) ** 2).sum(axis=(0, 2)) / df)
        between = ((self.text_influence(values) @ contrasts.T) ** 2).sum(axis=0) * self.text_count
        texts = np.maximum(between - within * self.text_count / self.total, 0)
        names = np.zeros((self.countries, self.kinds)) if self.names_fixed else self.name_variances(values)
        return VarianceComponents(texts, within, names)

    def smallest_effect(self, components: VarianceComponents, measures: int = 1) -> float:
        """The smallest difference of a country from the mean of countries that is marked with a power of 80 %.

        `components` may come from a pilot; this design need not be scored. For the mean variance of countries, below
        which no interval goes, adjusted for all countries in as many measures as are tested together.
        """
        contrasts = np.eye(self.countries) - 1 / self.countries
        text_variance = (components.texts / self.text_count + components.draws / self.total).mean()
        name_variance = 0.0
        if not self.names_fixed:
            by_kind = components.names.mean(axis=0)
            # A pilot of few texts may lack a kind of names that the whole design has.
            by_kind = np.append(by_kind, np.full(max(self.kinds - len(by_kind), 0), by_kind.mean()))
            covariance = np.einsum("kcd,k->cd", self._overlap, np.maximum(by_kind, 0))
            name_variance = np.diag(contrasts @ covariance @ contrasts.T).mean()
        variance = text_variance + name_variance
        name_df = max(self.names_by_country.mean() - self.kinds, 1)
        squares_over_df = text_variance**2 / (self.text_count - 1) + name_variance**2 / name_df
        df = satterthwaite_df(variance, squares_over_df, self.text_count - 1)
        tests = measures * (1 if self.countries == 2 else self.countries)  # two countries have one difference
        return float((stats.t.isf(TAIL / tests, df) + stats.t.ppf(POWER, df)) * np.sqrt(variance))

    def noise_floor(self, values: np.ndarray) -> np.ndarray:
        """For each country, what its mean would differ from 0 by names alone: 1.96 standard errors over its names.

        That is also the 95th percentile of half the difference between random halves of its names.
        """
        shares = np.bincount(self.occurrence_cell, weights=self.count, minlength=len(self.cell_kind)) / self.total
        squares = np.zeros((self.countries, self.kinds))
        np.add.at(squares, (self.cell_country, self.cell_kind), shares**2)
        return NORMAL_QUANTILE * np.sqrt((squares * np.maximum(self.name_variances(values), 0)).sum(axis=1))

    def text_influence(self, values: np.ndarray) -> np.ndarray:
        """texts x countries: the influence of each text on the countries' means; its squares sum to S²."""
        sums = self._text_sums(values)
        influence = (sums - self.draws_per_text[:, None] * (sums.sum(axis=0) / self.total)) / self.total
        return influence * np.sqrt(self.text_count / (self.text_count - 1))

    def _text_sums(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(self.counted[:, None, :], values, 0).sum(axis=2))

    def _within(self, values: np.ndarray) -> np.ndarray:
        """Answers minus the mean of their text and country; 0 where not counted."""
        is_counted = self.counted[:, None, :]
        sums = np.where(is_counted, values, 0).sum(axis=2, keepdims=True)
        return np.where(is_counted, values - sums / np.maximum(self.draws_per_text, 1)[:, None, None], 0)

    def _design_moments(self) -> np.ndarray:
        """M: countries x kinds x kinds."""
        rows = np.arange(len(self.answer))
        draws = np.maximum(self.draws_per_text, 1).astype(float)
        of_occurrence = self.occurrence_cell
        country, kind = self.cell_country[of_occurrence], self.cell_kind[of_occurrence]
        # sum over texts of W²: pairs of names that stand together in an answer, and all pairs of a text.
        shown = sparse.csr_matrix((np.ones(len(rows)), (self.answer, self.occurrence)))
        together = (shown.T @ shown).tocoo()
        first, second = together.row, together.col
        expected = self.count[first] * self.count[second] / draws[self.occurrence_text[first]]
        moments = np.zeros((self.countries, self.kinds, self.kinds))
        np.add.at(moments, (country[first], kind[first], kind[second]), together.data * (2 * expected - together.data))
        squares = np.zeros((self.shape[0], self.countries, self.kinds))
        np.add.at(squares, (self.occurrence_text, country, kind), self.count**2)
        moments -= np.einsum("tck,tcl,t->ckl", squares, squares, 1 / draws**2)
        # (sum over texts of W)²
        by_cell = sparse.csr_matrix((np.ones(len(rows)), (self.answer, self.cell)))
        weight = self.count / np.sqrt(draws[self.occurrence_text])
        by_text = sparse.csc_matrix((weight, (self.occurrence_text, of_occurrence)))
        is_kind = np.eye(self.kinds)[self.cell_kind]
        bounds = np.searchsorted(self.cell_country, np.arange(self.countries + 1))
        for c, (start, stop) in enumerate(pairwise(bounds)):
            cells, texts = by_cell[:, start:stop], by_text[:, start:stop]
            sums = (cells.T @ cells - texts.T @ texts).toarray()
            moments[c] += is_kind[start:stop].T @ sums**2 @ is_kind[start:stop]
        return moments

    def _name_overlap(self) -> np.ndarray:
        """kinds x countries x countries: the factors of σ² in C; off the diagonal, of names that countries share."""
        overlap = np.zeros((self.kinds, self.countries, self.countries))
        cell_count = np.bincount(self.occurrence_cell, weights=self.count, minlength=len(self.cell_unit))
        units = int(self.cell_unit.max()) + 1
        texts_and_units = self.occurrence_text * units + self.cell_unit[self.occurrence_cell]
        _, text_unit = rank_codes(texts_and_units, self.shape[0] * units)
        for kind in range(self.kinds):
            cells, occurrences = self.cell_kind == kind, self.cell_kind[self.occurrence_cell] == kind
            of_names = sparse.csr_matrix(
                (cell_count[cells], (self.cell_unit[cells], self.cell_country[cells])), shape=(units, self.countries)
            )
            country = self.cell_country[self.occurrence_cell[occurrences]]
            in_texts = sparse.csr_matrix(
                (self.count[occurrences], (text_unit[occurrences], country)),
                shape=(len(self.count), self.countries),
            )
            overlap[kind] = (of_names.T @ of_names - in_texts.T @ in_texts).toarray()
        return overlap * self.text_count / (self.text_count - 1) / self.total**2

    def name_variances(self, values: np.ndarray) -> np.ndarray:
        """σ²: countries x kinds, unbiased and so below 0 at times."""
        within = self._within(values).ravel()
        by_occurrence = np.bincount(self.occurrence, weights=within[self.answer], minlength=len(self.count))
        by_cell = np.bincount(self.occurrence_cell, weights=by_occurrence, minlength=len(self.cell_kind))
        group, size = self.cell_country * self.kinds + self.cell_kind, self.countries * self.kinds
        products = np.bincount(group, weights=by_cell**2, minlength=size)
        products -= np.bincount(group[self.occurrence_cell], weights=by_occurrence**2, minlength=size)
        inverse = np.linalg.pinv(self._moments, rcond=SMALLEST_SINGULAR_VALUE)
        return np.einsum("ckl,cl->ck", inverse, products.reshape(self.countries, self.kinds))

    def name_covariance(self, values: np.ndarray) -> np.ndarray:
        """countries x countries: C, and what countries share through the names that they share."""
        variances = self.name_variances(values)
        spread = np.sqrt(np.maximum(variances, 0))
        covariance = np.einsum("kcd,ck,dk->cd", self._overlap, spread, spread)
        np.fill_diagonal(covariance, np.maximum(np.einsum("kcc,ck->c", self._overlap, variances), 0))
        return covariance


def rank_codes(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct codes in order, and which of them each is, as `np.unique` gives them; all are below `size`.

    Without sorting where that takes no more memory than a few copies of the codes.
    """
    if size > MOST_SPARSE * len(codes):
        return np.unique(codes, return_inverse=True)
    occurs = np.zeros(size, dtype=bool)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs, dtype=np.int64) - 1)[codes]


def effective_count(squares: np.ndarray) -> float:
    """(sum)² / sum of squares: how many units of equal size would have that sum and that sum of squares (Kish 1965)."""
    return float(squares.sum() ** 2 / (squares**2).sum()) if squares.any() else 0.0
