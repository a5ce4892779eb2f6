"""How sure are the numbers of a names audit? Two things were drawn at random: the texts, and the names.

A name that a classifier dislikes for reasons of its own makes its country look bad in every text. So both are
resampled, texts and names, and tests shuffle names, never single answers.

* **Intervals: the bootstrap of crossed factors.** A text (a name) drawn twice counts twice, wherever it occurs. For the
  means here that comes to a sum over texts plus a sum over names: each time what this text (name) adds to the mean,
  times how much more or less often than once it was drawn. Noise of single answers would so be counted once for the
  text and again for every name in it; the sum is scaled down to count it once.
* **Tests against the mean of countries: names change countries.** Each name keeps what was answered wherever it occurs;
  which country it belongs to is shuffled within men's, women's and last names. A name that several countries have is
  one name.
* **Placebo**: one country's names split at random in two. What the halves differ by is what names alone do.

Arrays are texts x countries x draws; `counted` (texts x draws) says which of them take part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from geobias.measures.estimates import RESAMPLES, bessel_factor, t_to_normal_ratio

AT_ONCE = 2_000_000  # random numbers held at a time
SPLITS = 200
FEWEST_TEXTS = 2
NOISE_FLOOR_QUANTILE = 0.95


LinearTerm = tuple[np.ndarray, np.ndarray]
"""Values (texts x countries x draws) whose means it is made of, and countries x countries: row c gives c's measure as a
sum over the means of all countries."""

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
    """What each text (texts x countries) and each name (names x countries) adds to the countries' means, and the rest
    (texts x countries x draws) that is single answers' own."""

    text: np.ndarray
    name: np.ndarray
    rest: np.ndarray


class NamesBootstrap:
    """One set of draws of texts and names, used for every measure alike, so that measures can be compared."""

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
        taking_part = np.broadcast_to(counted[:, None, :], shape).ravel()
        keep = taking_part[units.answer]
        self.answer, self.unit, self.kind = units.answer[keep], units.unit[keep], units.kind
        self.cell = self.unit * countries + (self.answer // draws) % countries  # a name in a country
        self.cells = len(units.kind) * countries
        self.occurrences = np.bincount(self.cell, minlength=self.cells).reshape(-1, countries)
        self.total = counted.sum()
        self.in_text = counted.sum(axis=1)
        self.texts_counted = int((self.in_text > 0).sum())
        names = (self.occurrences > 0).sum(axis=0).min(initial=len(units.kind))
        # One draw a text does not tell what its name did from what the text is.
        told = self.in_text[self.in_text > 1].sum() >= self.total / 2 and self.total > 0
        self.is_known = self.texts_counted >= FEWEST_TEXTS and (names_fixed or bool(told))
        # Texts, or the names of the country that shows fewest.
        self.drawn = self.texts_counted if names_fixed else min(self.texts_counted, int(names))
        self.shown = len(self.answer) / max(self.total * countries, 1)  # names in a text, on average

    def deviations(self, measures: Sequence[LinearMeasure]) -> list[np.ndarray]:
        """For each measure, resamples x countries: how far off it would lie, had other texts and names been drawn."""
        by_text, by_name, scales = [], [], []
        for measure in measures:
            parts, combines = [self._influences(values) for values, _ in measure], [combine for _, combine in measure]
            text, name = (
                np.sum([getattr(part, of) @ c.T for part, c in zip(parts, combines, strict=True)], axis=0)
                for of in ("text", "name")
            )
            by_text.append(text)
            by_name.append(name)
            scales.append(self._scale(text, name, parts, combines))
        rng = np.random.default_rng(self.seed)
        found = self._drawn_texts(rng) @ np.hstack(by_text)
        if not self.names_fixed:
            names = np.hstack(by_name)
            for some, drawn in self._drawn_names(rng):
                found += drawn @ names[some]
        return np.split(found * np.concatenate(scales), len(measures), axis=1)

    def _scale(
        self, text: np.ndarray, name: np.ndarray, parts: Sequence[Influences], combines: Sequence[np.ndarray]
    ) -> np.ndarray:
        """For each country: how much narrower, to count single answers once, and wider, since little was drawn.

        Wider as Student's t is, with Satterthwaite's degrees of freedom: the variance of the texts and that of every
        list of names are each known as well as there are texts, or names in the list.
        """
        if self.names_fixed:
            return np.full(text.shape[1], t_to_normal_ratio(max(self.texts_counted - 1, 1)))
        of_texts, of_names = (text**2).sum(axis=0), (name**2).sum(axis=0)
        of_answers = _combined_squares(combines, [part.rest for part in parts], (0, 2))
        both = of_texts + of_names
        # Never less than the texts alone, or one kind of names alone, would give.
        least = np.maximum(of_texts, of_names / max(self.shown, 1))
        wanted = np.maximum(both - self.shown * of_answers.sum(axis=1), least)
        of_lists, unsure_lists = np.zeros_like(both), np.zeros_like(both)
        for kind in range(self.kind.max(initial=0) + 1):
            of_kind = self.kind == kind
            shown = self.occurrences[of_kind].sum(axis=0) / self.total
            of_list = _combined_squares(combines, [part.name[of_kind] for part in parts], (0,)) - shown * of_answers
            lengths = (self.occurrences[of_kind] > 0).sum(axis=0)
            of_lists += np.maximum(of_list, 0).sum(axis=1)
            unsure_lists += (np.maximum(of_list, 0) ** 2 / np.maximum(lengths - 1, 1)).sum(axis=1)
        # Names that countries share may cancel: the lists count as much as is left of them.
        left = np.divide(np.maximum(wanted - of_texts, 0), of_lists, out=np.zeros_like(both), where=of_lists > 0)
        unsure = of_texts**2 / max(self.texts_counted - 1, 1) + left**2 * unsure_lists
        # Nothing that varies has no freedom to speak of, and no width either.
        freedom = np.maximum(np.divide(wanted**2, unsure, out=np.ones_like(wanted), where=unsure > 0), 1)
        # Never narrower than if the names were fixed.
        alone = of_texts * t_to_normal_ratio(max(self.texts_counted - 1, 1)) ** 2
        wide = np.maximum(wanted * t_to_normal_ratio(freedom) ** 2, alone)
        return np.asarray(np.sqrt(wide / np.where(both == 0, 1, both)))

    def change(self, share: np.ndarray, was: np.ndarray) -> LinearTerm:
        """Per cent more answers than before (share: 0 or 1, was: that of the texts as they were), near its value."""
        before = (was * self.in_text).sum() / self.total
        if not before:
            return np.zeros(self.shape), np.eye(self.shape[1])
        ratio = self._means(share) / before
        return 100 / before * (share - ratio[None, :, None] * was[:, None, None]), np.eye(self.shape[1])

    def change_from_mean(self, share: np.ndarray) -> LinearTerm:
        """Per cent more answers than in the mean of countries, near its value."""
        countries = self.shape[1]
        after = self._means(share)
        mean = after.mean()
        if not mean:
            return np.zeros(self.shape), np.eye(countries)
        return 100 / mean * share, np.eye(countries) - (after / mean)[:, None] / countries

    def variances(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every country against the mean of countries: the variance that texts, names and single answers give."""
        countries = self.shape[1]
        among = np.eye(countries) - 1 / countries
        found = self._influences(values)
        of_texts, of_names = (((part @ among.T) ** 2).sum(axis=0) for part in (found.text, found.name))
        noise = among**2 @ (found.rest**2).sum(axis=(0, 2))
        return np.maximum(of_texts - noise, 0), np.maximum(of_names - self.shown * noise, 0), noise

    def _means(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(self.counted[:, None, :], values, 0).sum(axis=(0, 2)) / self.total)

    def _influences(self, values: np.ndarray) -> Influences:
        countries = self.shape[1]
        taken = self.counted[:, None, :]
        text_sum = np.where(taken, values, 0).sum(axis=2)
        by_text = (text_sum - self.in_text[:, None] * self._means(values)) / self.total
        by_text *= bessel_factor(self.texts_counted)
        # Names within a text: its own mean is taken away, so that texts do not pass for names. That takes a part of
        # every name's own effect too, which the factor gives back.
        draws_in = np.maximum(self.in_text, 1)[:, None, None]
        back = np.where(draws_in > 1, draws_in / np.maximum(draws_in - 1, 1), 1)
        within = np.where(taken, (values - (text_sum / np.maximum(self.in_text, 1)[:, None])[:, :, None]) * back, 0)
        within = within.ravel() / self.total
        by_name = np.bincount(self.cell, weights=within[self.answer], minlength=self.cells).reshape(-1, countries)
        mean_of_name = by_name / np.maximum(self.occurrences, 1)
        rest = within - np.bincount(self.answer, weights=mean_of_name.ravel()[self.cell], minlength=len(within))
        # Each name's mean was fitted, and took its share of the noise with it.
        kept = np.maximum(1 - (self.occurrences > 0).sum(axis=0) / max(self.total, 1), 0.1)
        rest = np.where(taken, rest.reshape(self.shape), 0) / np.sqrt(kept)[:, None]
        return Influences(by_text, self._among_its_kind(by_name), rest)

    def _among_its_kind(self, by_name: np.ndarray) -> np.ndarray:
        """How many names of each kind are shown is no chance: what women's names do more than men's is not either."""
        found = by_name.copy()
        for kind in range(self.kind.max(initial=0) + 1):
            of_kind = self.kind == kind
            occurred = self.occurrences[of_kind]
            found[of_kind] -= occurred * (by_name[of_kind].sum(axis=0) / np.maximum(occurred.sum(axis=0), 1))
        return found

    def _drawn_texts(self, rng: np.random.Generator) -> np.ndarray:
        """resamples x texts: how often each text was drawn, minus one."""
        texts = self.shape[0]
        return rng.multinomial(texts, np.full(texts, 1 / texts), size=self.resamples) - 1.0

    def _drawn_names(self, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
        """Some of the names at a time, and resamples x names: how often each was drawn, minus one."""
        step = max(1, AT_ONCE // self.resamples)
        for start in range(0, len(self.kind), step):
            some = slice(start, min(start + step, len(self.kind)))
            yield some, rng.poisson(1.0, size=(self.resamples, some.stop - some.start)) - 1.0

    def shuffled(self, values: np.ndarray, tests: int) -> tuple[np.ndarray, float]:
        """p-values of every country against the mean of countries, and one for whether any differs at all.

        First and last names of a country always stand together, so what one kind does shows in the means of the other.
        Each name therefore brings what it adds to its country's own mean; shuffled over the countries, these say what
        the means would be if countries were nothing but draws of names. `tests` says how many such p-values will be
        corrected together: the more, the more shuffles.
        """
        taken = np.broadcast_to(self.counted[:, None, :], self.shape)
        mean = np.where(taken, values, 0).sum(axis=(0, 2)) / self.total
        observed = mean - mean.mean()
        effect = self._name_effects(values)
        used = self.occurrences.sum(axis=1) > 0
        weights = self.occurrences / (self.total or 1)
        rng = np.random.default_rng(self.seed + 1)
        shuffles, done = max(self.resamples, 20 * tests), 0
        extreme, extreme_overall = np.zeros(len(observed)), 0
        overall = (observed**2).sum()
        while done < shuffles:
            size = min(max(1, AT_ONCE // len(effect)), shuffles - done)
            dealt = np.zeros((size, len(effect)))
            for kind in range(self.kind.max(initial=0) + 1):
                of_kind = np.flatnonzero((self.kind == kind) & used)
                dealt[:, of_kind] = rng.permuted(np.tile(effect[of_kind], (size, 1)), axis=1)
            found = dealt @ weights
            found -= found.mean(axis=1, keepdims=True)
            extreme += (np.abs(found) >= np.abs(observed) - 1e-12 * (1 + np.abs(observed))).sum(axis=0)
            extreme_overall += int(((found**2).sum(axis=1) >= overall - 1e-12 * (1 + overall)).sum())
            done += size
        return (1 + extreme) / (1 + shuffles), (1 + extreme_overall) / (1 + shuffles)

    def _name_effects(self, values: np.ndarray) -> np.ndarray:
        """For each name what it adds, per occurrence, to the mean of its country (of its countries, where several)."""
        by_name = self._influences(values).name.sum(axis=1)
        return np.asarray(by_name * self.total / np.maximum(self.occurrences.sum(axis=1), 1))

    def placebo(self, values: np.ndarray) -> np.ndarray:
        """For each country, the 95th percentile of what halves of its own names differ by, as wide as an estimate is.

        Two halves differ with twice the standard error of the whole, hence the half.
        """
        by_name = self._influences(values).name
        shows = self.occurrences > 0
        rng = np.random.default_rng(self.seed + 2)
        found = np.zeros((SPLITS, self.shape[1]))
        for kind in range(self.kind.max(initial=0) + 1):
            of_kind = self.kind == kind
            order = rng.random((SPLITS, int(of_kind.sum())))
            for c in range(self.shape[1]):
                here = shows[of_kind, c]
                ranks = order[:, here].argsort(axis=1).argsort(axis=1)
                sides = np.where(ranks < here.sum() / 2, 1.0, -1.0)
                found[:, c] += sides @ by_name[of_kind, c][here]
        return np.quantile(np.abs(found), NOISE_FLOOR_QUANTILE, axis=0)


def raise_to_mean_variance(deviations: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Deviations (resamples x countries x labels) in which no country is surer of a class than all are on average.

    A country whose names never led to a class would else be certain that they never do.
    """
    spread = deviations.std(axis=0)
    lacking = np.sqrt(np.maximum((spread**2).mean(axis=0) - spread**2, 0))
    return np.asarray(deviations + rng.normal(size=deviations.shape) * lacking)


def _combined_squares(
    combines: Sequence[np.ndarray], values: Sequence[np.ndarray], over: tuple[int, ...]
) -> np.ndarray:
    """countries x countries: for row c what country k's own values, summed over the terms of c's measure, have in
    squares along the axes `over`."""
    return np.asarray(
        sum(
            one_c * other_c * (one * other).sum(axis=over)
            for one_c, one in zip(combines, values, strict=True)
            for other_c, other in zip(combines, values, strict=True)
        )
    )
