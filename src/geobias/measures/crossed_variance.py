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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import stats

from geobias.files import read_block
from geobias.measures.arrays import TextValues, text_blocks
from geobias.measures.estimates import NORMAL_QUANTILE, POWER, TAIL, satterthwaite_df
from geobias.measures.name_blocks import Cells, ColumnSums, NameBlock, ValueSums, sum_design
from geobias.measures.uncertainty import ROUNDING, Uncertainty, combine_variances

FEWEST_TEXTS, FEWEST_ANSWERS = 15, 40  # of a country: with fewer, intervals do not have nominal coverage
FEWEST_DRAWS = 2
FEWEST_EFFECTIVE_TEXTS = 5  # a saturated classifier reacts in few texts: that says nothing of others
SMALLEST_SINGULAR_VALUE = 1e-6  # relative: combinations of kinds that the design cannot separate are left out


@dataclass(frozen=True)
class NameUnits:
    """Which names an answer shows: entry i says that answer `answer[i]` (counted flat) shows name `unit[i]`."""

    answer: np.ndarray
    unit: np.ndarray
    kind: np.ndarray  # of each name: male, female, last or city, as a number
    text_starts: np.ndarray | None = None  # entries of text t: from `text_starts[t]` to the next; None if unsorted

    def sort_by_text(self, texts: int, answers_per_text: int) -> NameUnits:
        """The same with the entries of each text together."""
        if self.text_starts is not None:
            return self
        text = self.answer // answers_per_text
        order = np.argsort(text, kind="stable")
        starts = np.searchsorted(text[order], np.arange(texts + 1))
        return NameUnits(self.answer[order], self.unit[order], self.kind, starts)

    def read_texts(self, texts: slice, answers_per_text: int) -> tuple[np.ndarray, np.ndarray]:
        """Answers (counted from the first of the block) and names of a block of texts; of all if unsorted."""
        starts = self.text_starts
        entries = slice(None) if starts is None else slice(starts[texts.start], starts[texts.stop])
        answer, unit = (read_block(each, entries).astype(np.int64) for each in (self.answer, self.unit))
        return answer - texts.start * answers_per_text, unit


Values: TypeAlias = TextValues | ValueSums
LinearValues: TypeAlias = np.ndarray | ValueSums  # can be multiplied and shifted


class LinearMeasure(NamedTuple):
    """A measure that is linear in the countries' means."""

    values: Values  # texts x countries x draws
    # countries x countries: row c gives the measure of country c from the mean values of all countries
    coefficients: np.ndarray


class VarianceParts(NamedTuple):
    """The variance of a country's difference from the mean of countries, averaged over countries."""

    texts: float
    draws: float
    names: float

    @property
    def total(self) -> float:
        return self.texts + self.draws + self.names


class VarianceComponents(NamedTuple):
    """What makes up the variance of a country's difference from the mean of countries, for planning."""

    texts: np.ndarray  # countries: variance of one text's difference, without the noise of its draws
    draws: np.ndarray  # countries: variance of one draw of a text
    names: np.ndarray  # countries x kinds: variance of the effect of one name; unbiased, so below 0 at times


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
        self.has_name_variance = self.has_components and not names_fixed
        shows_enough_names = names_fixed or self.total >= FEWEST_ANSWERS
        self.is_estimable = self.has_components and self.text_count >= FEWEST_TEXTS and shows_enough_names
        self.kinds = int(units.kind.max(initial=-1)) + 1
        self._text_blocks = text_blocks(texts, self.countries * draws)
        many = len(self._text_blocks) > 1
        self._units = units.sort_by_text(texts, self.countries * draws) if many else units
        is_shown = np.zeros(self.countries * len(units.kind), dtype=bool)
        for block in self._text_blocks:
            is_shown[self._read_entries(block)[1]] = True
        self._cell_number = np.cumsum(is_shown) - 1
        cell_country, cell_unit = np.divmod(np.flatnonzero(is_shown), max(len(units.kind), 1))
        self.cells = Cells(cell_country, cell_unit, units.kind[cell_unit])
        if self.has_name_variance:
            design = sum_design(self.blocks(), self.cells, self.countries, self.kinds)
            self._moments, self._cell_share = design.moments, design.cell_count / self.total
            self._overlap = design.overlap * self.text_count / (self.text_count - 1) / self.total**2

    def blocks(self) -> Iterator[NameBlock]:
        """The names that counted answers show, one block of texts after the other."""
        if len(self._text_blocks) == 1:
            yield self._only_block
        else:
            yield from map(self._make_block, self._text_blocks)

    @cached_property
    def _only_block(self) -> NameBlock:
        return self._make_block(self._text_blocks[0])

    def _make_block(self, texts: slice) -> NameBlock:
        answer, code = self._read_entries(texts)
        answers_per_text = self.countries * self.shape[2]
        return NameBlock.from_entries(
            texts, self.draws_per_text[texts], answer, self._cell_number[code], answers_per_text
        )

    def _read_entries(self, texts: slice) -> tuple[np.ndarray, np.ndarray]:
        """Of a block of texts: its answers that show a name, and the code of country and name."""
        draws = self.shape[2]
        answer, unit = self._units.read_texts(texts, self.countries * draws)
        shape = (texts.stop - texts.start, self.countries, draws)
        keep = np.broadcast_to(self.counted[texts, None, :], shape).ravel()[answer]
        answer, unit = answer[keep], unit[keep]
        return answer, answer // draws % self.countries * len(self._units.kind) + unit

    def summarise(self, values: Values) -> ValueSums:
        """The sums of values that all methods need; sums are returned unchanged."""
        if isinstance(values, ValueSums):
            return values
        return self.summarise_columns(lambda texts: [values[texts]])[0]

    def summarise_columns(self, compute: Callable[[slice], Sequence[np.ndarray]]) -> list[ValueSums]:
        """The sums of several values, which are computed together for each block of texts."""
        columns: list[ColumnSums] = []
        for block in self.blocks():
            values_of_block = compute(block.texts)
            cells = self.cells if self.has_name_variance else None
            columns = columns or [ColumnSums(self.shape, cells, self.kinds) for _ in values_of_block]
            for column, values in zip(columns, values_of_block, strict=True):
                column.add(block, values, self.counted[block.texts])
        return [column.finish(self.draws_per_text) for column in columns]

    def means(self, values: Values) -> np.ndarray:
        """The countries' means over the counted answers."""
        return np.asarray(self._text_sums(values).sum(axis=0) / self.total)

    def uncertainty(self, measure: LinearMeasure) -> Uncertainty:
        """The covariance matrix of a measure of all countries, with degrees of freedom; NaN if too few texts react."""
        coefficients = measure.coefficients
        if not self.reacts_enough(measure):
            return Uncertainty.unknown(len(coefficients))
        values = self.summarise(measure.values)
        influence = self.text_influence(values) @ coefficients.T
        name_covariance = None
        if not self.names_fixed:
            name_covariance = coefficients @ self.name_covariance(values) @ coefficients.T
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
        text_df, name_df = np.full(influence.shape[1], self.text_count - 1.0), np.maximum(name_count - self.kinds, 1)
        return combine_variances(influence, text_df, name_covariance, name_df, self.text_count - 1)

    @property
    def names_by_country(self) -> np.ndarray:
        """How many names the counted answers of each country show."""
        return np.bincount(self.cells.country, minlength=self.countries)

    def linearize_change(self, after: LinearValues, before: np.ndarray) -> LinearMeasure:
        """100 * (mean after / mean before - 1) to first order: predictions (0 or 1) of renamed and original texts."""
        mean_before = (before * self.draws_per_text).sum() / self.total
        if not mean_before:
            return LinearMeasure(0.0 * after, np.eye(self.countries))
        ratio = self.means(after) / mean_before
        values = 100 / mean_before * (after - ratio[None, :, None] * before[:, None, None])
        return LinearMeasure(values, np.eye(self.countries))

    def linearize_change_from_mean(self, after: LinearValues) -> LinearMeasure:
        """100 * (mean of a country / mean of countries - 1) to first order."""
        means = self.means(after)
        mean = means.mean()
        if not mean:
            return LinearMeasure(0.0 * after, np.eye(self.countries))
        return LinearMeasure(100 / mean * after, np.eye(self.countries) - (means / mean)[:, None] / self.countries)

    def variance_components(self, values: Values) -> VarianceComponents:
        """Of every country against the mean of countries."""
        contrasts, sums = np.eye(self.countries) - 1 / self.countries, self.summarise(values)
        df = max(int(np.maximum(self.draws_per_text - 1, 0).sum()), 1)
        within = contrasts**2 @ (sums.squares / df)
        between = ((self.text_influence(sums) @ contrasts.T) ** 2).sum(axis=0) * self.text_count
        texts = np.maximum(between - within * self.text_count / self.total, 0)
        names = np.zeros((self.countries, self.kinds)) if self.names_fixed else self.name_variances(sums)
        return VarianceComponents(texts, within, names)

    def variance_parts(self, components: VarianceComponents) -> VarianceParts:
        """The mean variance of countries' differences from their mean, by what it comes from."""
        contrasts = np.eye(self.countries) - 1 / self.countries
        name_variance = 0.0
        if not self.names_fixed:
            by_kind = components.names.mean(axis=0)
            # A pilot of few texts may lack a kind of names that the whole design has.
            by_kind = np.append(by_kind, np.full(max(self.kinds - len(by_kind), 0), by_kind.mean()))
            covariance = np.einsum("kcd,k->cd", self._overlap, np.maximum(by_kind, 0))
            name_variance = float(np.diag(contrasts @ covariance @ contrasts.T).mean())
        of_texts, of_draws = components.texts / self.text_count, components.draws / self.total
        return VarianceParts(float(of_texts.mean()), float(of_draws.mean()), name_variance)

    def smallest_effect(self, components: VarianceComponents, measures: int = 1) -> float:
        """The smallest difference of a country from the mean of countries that is marked with a power of 80 %.

        `components` may come from a pilot; this design need not be scored. For the mean variance of countries, below
        which no interval goes, adjusted for all countries in as many measures as are tested together.
        """
        parts = self.variance_parts(components)
        variance, text_variance, name_variance = parts.total, parts.texts + parts.draws, parts.names
        name_df = max(self.names_by_country.mean() - self.kinds, 1)
        squares_over_df = text_variance**2 / (self.text_count - 1) + name_variance**2 / name_df
        df = satterthwaite_df(np.asarray(variance), np.asarray(squares_over_df), self.text_count - 1)
        tests = measures * (1 if self.countries == 2 else self.countries)  # two countries have one difference
        return float((stats.t.isf(TAIL / tests, df) + stats.t.ppf(POWER, df)) * np.sqrt(variance))

    def noise_floor(self, values: Values) -> np.ndarray:
        """For each country, what its mean would differ from 0 by names alone: 1.96 standard errors over its names.

        That is also the 95th percentile of half the difference between random halves of its names.
        """
        squares = np.zeros((self.countries, self.kinds))
        np.add.at(squares, (self.cells.country, self.cells.kind), self._cell_share**2)
        return NORMAL_QUANTILE * np.sqrt((squares * np.maximum(self.name_variances(values), 0)).sum(axis=1))

    def text_influence(self, values: Values) -> np.ndarray:
        """texts x countries: the influence of each text on the countries' means; its squares sum to S²."""
        sums = self._text_sums(values)
        influence = (sums - self.draws_per_text[:, None] * (sums.sum(axis=0) / self.total)) / self.total
        return influence * np.sqrt(self.text_count / (self.text_count - 1))

    def _text_sums(self, values: Values) -> np.ndarray:
        if isinstance(values, np.ndarray):  # the other sums are not needed
            return np.asarray(np.where(self.counted[:, None, :], values, 0).sum(axis=2))
        return self.summarise(values).text_sums

    def name_variances(self, values: Values) -> np.ndarray:
        """σ²: countries x kinds, unbiased and so below 0 at times."""
        products = self.summarise(values).name_products
        assert products is not None  # names are a sample
        inverse = np.linalg.pinv(self._moments, rcond=SMALLEST_SINGULAR_VALUE)
        return np.einsum("ckl,cl->ck", inverse, products)

    def name_covariance(self, values: Values) -> np.ndarray:
        """countries x countries: C, and what countries share through the names that they share."""
        variances = self.name_variances(values)
        spread = np.sqrt(np.maximum(variances, 0))
        covariance = np.einsum("kcd,ck,dk->cd", self._overlap, spread, spread)
        np.fill_diagonal(covariance, np.maximum(np.einsum("kcc,ck->c", self._overlap, variances), 0))
        return covariance


def effective_count(squares: np.ndarray) -> float:
    """(sum)² / sum of squares: how many units of equal size would have that sum and that sum of squares (Kish 1965)."""
    return float(squares.sum() ** 2 / (squares**2).sum()) if squares.any() else 0.0
