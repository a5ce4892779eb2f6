"""Inference for the names audit, in which two factors were sampled: the texts and the names.

A name that a classifier dislikes for reasons of its own makes its country look bad in every text. So both factors are
resampled, and tests permute names, never single answers.

* **Intervals: the bootstrap of crossed factors** (Owen 2007). A text (a name) drawn twice counts twice, wherever it
  occurs. For means that is a sum over texts plus a sum over names: the influence of each text (name) on the mean, times
  how much more often than once it was drawn. The noise of single answers would be counted once for the text and again
  for every name in it; the sum is scaled down to count it once.
* **Tests against the mean of countries: a permutation test.** Each name keeps its answers wherever it occurs; its
  country is permuted within men's, women's and last names. A name that several countries have is one name.
* **Noise floor**: one country's names split at random in two halves. Their difference is due to names alone.

Arrays are texts x countries x draws; `counted` (texts x draws) says which of them take part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geobias.measures.bootstrap import draw_counts
from geobias.measures.estimates import RESAMPLES, bessel_factor, satterthwaite_df, t_to_normal_ratio

AT_ONCE = 2_000_000  # random numbers held at a time
SPLITS = 200
FEWEST_TEXTS = 2
NOISE_FLOOR_QUANTILE = 0.95


LinearTerm = tuple[np.ndarray, np.ndarray]
"""Values (texts x countries x draws), and coefficients (countries x countries): row c gives the measure of country c as
a sum over the mean values of all countries."""

LinearMeasure = Sequence[LinearTerm]
"""The sum of its terms."""


@dataclass(frozen=True)
class NameUnits:
    """Which names an answer shows: entry i says that answer `answer[i]` (counted flat) shows name `unit[i]`."""

    answer: np.ndarray
    unit: np.ndarray
    kind: np.ndarray  # of each name: male, female, last or city, as a number


@dataclass(frozen=True)
class Influences:
    """The influence of each text (texts x countries) and name (names x countries) on the countries' means, and the
    residuals of single answers (texts x countries x draws)."""

    text: np.ndarray
    name: np.ndarray
    residual: np.ndarray


class VarianceComponents(NamedTuple):
    """The variance of each country's difference from the mean of countries that is due to each factor."""

    texts: np.ndarray
    names: np.ndarray
    answers: np.ndarray


class PermutationTest(NamedTuple):
    """p-values of each country's difference from the mean of countries, and of the hypothesis that none differs."""

    p: np.ndarray
    any_country_p: float


class NamesBootstrap:
    """One set of resampled texts and names, used for every measure alike, so that measures can be compared."""

    def __init__(
        self,
        units: NameUnits,
        shape: tuple[int, int, int],
        counted: np.ndarray,
        *,
        seed: int = 0,
        resamples: int = RESAMPLES,
        names_fixed: bool = False,
    ) -> None:
        self.shape, self.counted, self.seed, self.resamples = shape, counted, seed, resamples
        self.names_fixed = names_fixed
        _, countries, draws = shape
        is_counted = np.broadcast_to(counted[:, None, :], shape).ravel()
        keep = is_counted[units.answer]
        self.answer, self.unit, self.kind = units.answer[keep], units.unit[keep], units.kind
        self.cell = self.unit * countries + (self.answer // draws) % countries  # a name in a country
        self.cells = len(units.kind) * countries
        self.occurrences = np.bincount(self.cell, minlength=self.cells).reshape(-1, countries)
        self.total = counted.sum()
        self.draws_per_text = counted.sum(axis=1)
        self.text_count = int((self.draws_per_text > 0).sum())
        fewest_names = (self.occurrences > 0).sum(axis=0).min(initial=len(units.kind))
        # With one draw per text, the effect of the name cannot be separated from that of the text.
        has_repeats = self.draws_per_text[self.draws_per_text > 1].sum() >= self.total / 2 and self.total > 0
        self.is_estimable = self.text_count >= FEWEST_TEXTS and (names_fixed or bool(has_repeats))
        # The smaller sample: texts, or the names of the country that shows fewest.
        self.unit_count = self.text_count if names_fixed else min(self.text_count, int(fewest_names))
        self.names_per_text = len(self.answer) / max(self.total * countries, 1)

    def deviations(self, measures: Sequence[LinearMeasure]) -> list[np.ndarray]:
        """For each measure, resamples x countries: its deviations with texts and names resampled."""
        text_influences, name_influences, scales = [], [], []
        for measure in measures:
            parts = [self._influences(values) for values, _ in measure]
            coefficients = [matrix for _, matrix in measure]
            text, name = (
                np.sum([getattr(part, factor) @ c.T for part, c in zip(parts, coefficients, strict=True)], axis=0)
                for factor in ("text", "name")
            )
            text_influences.append(text)
            name_influences.append(name)
            scales.append(self._scale(text, name, parts, coefficients))
        rng = np.random.default_rng(self.seed)
        deviations = (draw_counts(rng, self.shape[0], self.resamples) - 1.0) @ np.hstack(text_influences)
        if not self.names_fixed:
            by_name = np.hstack(name_influences)
            for block, weights in self._draw_names(rng):
                deviations += weights @ by_name[block]
        return np.split(deviations * np.concatenate(scales), len(measures), axis=1)

    def _scale(
        self, text: np.ndarray, name: np.ndarray, parts: Sequence[Influences], coefficients: Sequence[np.ndarray]
    ) -> np.ndarray:
        """The factor for each country's deviations: smaller, to count single answers once; larger, for small samples.

        The latter is that of Student's t with Satterthwaite's degrees of freedom: the variances of the texts and of
        every list of names have as many as there are texts, or names in the list, minus one.
        """
        text_df = max(self.text_count - 1, 1)
        if self.names_fixed:
            return np.full(text.shape[1], t_to_normal_ratio(text_df))
        text_variance, name_variance = (text**2).sum(axis=0), (name**2).sum(axis=0)
        answer_variance = _combined_squares(coefficients, [part.residual for part in parts], (0, 2))
        uncorrected = text_variance + name_variance
        # Never less than the texts alone, or one kind of names alone, would give.
        least = np.maximum(text_variance, name_variance / max(self.names_per_text, 1))
        variance = np.maximum(uncorrected - self.names_per_text * answer_variance.sum(axis=1), least)
        list_variance, list_squares_over_df = np.zeros_like(uncorrected), np.zeros_like(uncorrected)
        for is_kind in self._kinds():
            per_answer = self.occurrences[is_kind].sum(axis=0) / self.total
            squares = _combined_squares(coefficients, [part.name[is_kind] for part in parts], (0,))
            of_list = np.maximum(squares - per_answer * answer_variance, 0)
            lengths = (self.occurrences[is_kind] > 0).sum(axis=0)
            list_variance += of_list.sum(axis=1)
            list_squares_over_df += (of_list**2 / np.maximum(lengths - 1, 1)).sum(axis=1)
        # Names that countries share may cancel: the lists count as much as is left of them.
        share_left = np.zeros_like(uncorrected)
        np.divide(np.maximum(variance - text_variance, 0), list_variance, out=share_left, where=list_variance > 0)
        squares_over_df = text_variance**2 / text_df + share_left**2 * list_squares_over_df
        df = np.maximum(satterthwaite_df(variance, squares_over_df, 1), 1)
        # Never narrower than with the names fixed.
        texts_only = text_variance * t_to_normal_ratio(text_df) ** 2
        widened = np.maximum(variance * t_to_normal_ratio(df) ** 2, texts_only)
        return np.asarray(np.sqrt(widened / np.where(uncorrected == 0, 1, uncorrected)))

    def linearize_change(self, after: np.ndarray, before: np.ndarray) -> LinearTerm:
        """100 * (mean after / mean before - 1) to first order: predictions (0 or 1) of renamed and original texts."""
        mean_before = (before * self.draws_per_text).sum() / self.total
        if not mean_before:
            return np.zeros(self.shape), np.eye(self.shape[1])
        ratio = self._means(after) / mean_before
        return 100 / mean_before * (after - ratio[None, :, None] * before[:, None, None]), np.eye(self.shape[1])

    def linearize_change_from_mean(self, after: np.ndarray) -> LinearTerm:
        """100 * (mean of a country / mean of countries - 1) to first order."""
        countries = self.shape[1]
        means = self._means(after)
        mean = means.mean()
        if not mean:
            return np.zeros(self.shape), np.eye(countries)
        return 100 / mean * after, np.eye(countries) - (means / mean)[:, None] / countries

    def variance_components(self, values: np.ndarray) -> VarianceComponents:
        """For every country against the mean of countries: the variance due to texts, names and single answers."""
        countries = self.shape[1]
        contrasts = np.eye(countries) - 1 / countries
        influences = self._influences(values)
        texts, names = (((part @ contrasts.T) ** 2).sum(axis=0) for part in (influences.text, influences.name))
        noise = contrasts**2 @ (influences.residual**2).sum(axis=(0, 2))
        return VarianceComponents(
            np.maximum(texts - noise, 0), np.maximum(names - self.names_per_text * noise, 0), noise
        )

    def _means(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(self.counted[:, None, :], values, 0).sum(axis=(0, 2)) / self.total)

    def _kinds(self) -> Iterator[np.ndarray]:
        """For each kind of names, which names are of it."""
        for kind in range(self.kind.max(initial=0) + 1):
            yield self.kind == kind

    def _influences(self, values: np.ndarray) -> Influences:
        countries = self.shape[1]
        is_counted = self.counted[:, None, :]
        text_sum = np.where(is_counted, values, 0).sum(axis=2)
        by_text = (text_sum - self.draws_per_text[:, None] * self._means(values)) / self.total
        by_text *= bessel_factor(self.text_count)
        # Names within a text: the text's mean is subtracted, so that effects of texts do not pass for those of names.
        # That also removes 1 / draws of every name's own effect, which the factor restores.
        draws = np.maximum(self.draws_per_text, 1)[:, None, None]
        factor = np.where(draws > 1, draws / np.maximum(draws - 1, 1), 1)
        text_mean = (text_sum / np.maximum(self.draws_per_text, 1)[:, None])[:, :, None]
        within = np.where(is_counted, (values - text_mean) * factor, 0).ravel() / self.total
        by_name = np.bincount(self.cell, weights=within[self.answer], minlength=self.cells).reshape(-1, countries)
        name_mean = by_name / np.maximum(self.occurrences, 1)
        residual = within - np.bincount(self.answer, weights=name_mean.ravel()[self.cell], minlength=len(within))
        # Fitting each name's mean absorbs a share of the noise.
        share_left = np.maximum(1 - (self.occurrences > 0).sum(axis=0) / max(self.total, 1), 0.1)
        residual = np.where(is_counted, residual.reshape(self.shape), 0) / np.sqrt(share_left)[:, None]
        return Influences(by_text, self._center_by_kind(by_name), residual)

    def _center_by_kind(self, by_name: np.ndarray) -> np.ndarray:
        """Subtract the mean effect of each kind: how many names of each kind are shown is by design, not by chance."""
        centred = by_name.copy()
        for is_kind in self._kinds():
            occurrences = self.occurrences[is_kind]
            centred[is_kind] -= occurrences * (by_name[is_kind].sum(axis=0) / np.maximum(occurrences.sum(axis=0), 1))
        return centred

    def _draw_names(self, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
        """A block of names at a time, and resamples x names: how often each is drawn (Poisson), minus one."""
        step = max(1, AT_ONCE // self.resamples)
        for start in range(0, len(self.kind), step):
            block = slice(start, min(start + step, len(self.kind)))
            yield block, rng.poisson(1.0, size=(self.resamples, block.stop - block.start)) - 1.0

    def permutation_test(self, values: np.ndarray, tests: int) -> PermutationTest:
        """Test every country against the mean of countries, and whether any differs (sum of squared differences).

        First and last names of a country always occur together, so the effect of one kind shows in the means of the
        other. Each name therefore contributes its influence on its country's mean; permuted over the countries, these
        give the means under the hypothesis that countries are random sets of names. `tests` is the number of p-values
        that are adjusted together: the more, the more permutations.
        """
        is_counted = np.broadcast_to(self.counted[:, None, :], self.shape)
        means = np.where(is_counted, values, 0).sum(axis=(0, 2)) / self.total
        observed = means - means.mean()
        effects = self._name_effects(values)
        is_used = self.occurrences.sum(axis=1) > 0
        weights = self.occurrences / (self.total or 1)
        rng = np.random.default_rng(self.seed + 1)
        permutations, done = max(self.resamples, 20 * tests), 0
        extreme, extreme_overall = np.zeros(len(observed)), 0
        overall = (observed**2).sum()
        while done < permutations:
            size = min(max(1, AT_ONCE // len(effects)), permutations - done)
            permuted_effects = np.zeros((size, len(effects)))
            for is_kind in self._kinds():
                names = np.flatnonzero(is_kind & is_used)
                permuted_effects[:, names] = rng.permuted(np.tile(effects[names], (size, 1)), axis=1)
            differences = permuted_effects @ weights
            differences -= differences.mean(axis=1, keepdims=True)
            extreme += (np.abs(differences) >= np.abs(observed) - 1e-12 * (1 + np.abs(observed))).sum(axis=0)
            extreme_overall += int(((differences**2).sum(axis=1) >= overall - 1e-12 * (1 + overall)).sum())
            done += size
        return PermutationTest((1 + extreme) / (1 + permutations), (1 + extreme_overall) / (1 + permutations))

    def _name_effects(self, values: np.ndarray) -> np.ndarray:
        """The influence of each name, per occurrence, on the mean of its country (or countries)."""
        by_name = self._influences(values).name.sum(axis=1)
        return np.asarray(by_name * self.total / np.maximum(self.occurrences.sum(axis=1), 1))

    def noise_floor(self, values: np.ndarray) -> np.ndarray:
        """For each country, the 95th percentile of half the difference between random halves of its names.

        Two halves differ with twice the standard error of the whole, hence half the difference.
        """
        by_name = self._influences(values).name
        is_shown = self.occurrences > 0
        rng = np.random.default_rng(self.seed + 2)
        differences = np.zeros((SPLITS, self.shape[1]))
        for is_kind in self._kinds():
            order = rng.random((SPLITS, int(is_kind.sum())))
            for c in range(self.shape[1]):
                names = is_shown[is_kind, c]
                ranks = order[:, names].argsort(axis=1).argsort(axis=1)
                sides = np.where(ranks < names.sum() / 2, 1.0, -1.0)
                differences[:, c] += sides @ by_name[is_kind, c][names]
        return np.quantile(np.abs(differences), NOISE_FLOOR_QUANTILE, axis=0)


def raise_to_mean_variance(deviations: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Add noise to deviations (resamples x countries x labels) of countries whose variance is below the mean variance.

    A country whose names never led to a class would otherwise have an interval of no width.
    """
    spread = deviations.std(axis=0)
    missing_spread = np.sqrt(np.maximum((spread**2).mean(axis=0) - spread**2, 0))
    return np.asarray(deviations + rng.normal(size=deviations.shape) * missing_spread)


def _combined_squares(
    coefficients: Sequence[np.ndarray], values: Sequence[np.ndarray], axes: tuple[int, ...]
) -> np.ndarray:
    """countries x countries: in row c, the sum of squares along `axes` of each country's values, summed over the terms
    of c's measure with their coefficients."""
    return np.asarray(
        sum(
            first_c * second_c * (first * second).sum(axis=axes)
            for first_c, first in zip(coefficients, values, strict=True)
            for second_c, second in zip(coefficients, values, strict=True)
        )
    )
