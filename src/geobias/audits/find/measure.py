"""From the outcomes of mentions to every number of an audit of finders.

The share of a renamed text is that of its mentions; a country's share is the mean over its renamed texts, so every text
counts alike. Over mentions that have something in common (women's names, say) it is the ratio

    R = sum of w v / sum of w

with v the share of those mentions in a renamed text and w = 1 if there are any. To first order R varies as the mean of
w (v - R) / mean(w). Whether a country stands out is decided by its difference from the mean of countries, max-T over
countries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from geobias.audits.find.answers import OUTCOMES, FinderAnswers, Outcome, list_levels
from geobias.audits.find.result import (
    FactorLevel,
    FindCounts,
    FinderMeasures,
    FindResult,
    NameRecall,
    OutcomeShare,
)
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.estimates import TAIL, Estimates
from geobias.measures.uncertainty import Family, Uncertainty
from geobias.report.model_findings import find_mirrors
from geobias.report.results import Interval, number

if TYPE_CHECKING:
    from geobias.audits.find.design import FindDesign

WEAKEST_NAMES = 20
FEWEST_MENTIONS = 10  # of a name that is listed: fewer say little
Positions = dict[tuple[int, str, str], list[tuple[int, int]]]


def measure_finders(design: FindDesign, answers: tuple[FinderAnswers, ...]) -> FindResult:
    shares, positions = RenamedShares(design), locate_names(design)
    names = [list_name_recalls(design, positions, finder) for finder in answers]
    measured = [_measure_finder(design, shares, finder) for finder in answers]
    return FindResult(
        settings=design.settings_for([finder.model.name for finder in answers]),
        models=[finder.model for finder in answers],
        counts=_count(design),
        finders=[finder for finder, _ in measured],
        effects=[row for _, rows in measured for row in rows],
        factors=[level for finder in answers for level in _measure_factors(design, shares, finder)],
        weakest_names=[
            name
            for each in names
            for name in [row for row in each if row.mentions >= FEWEST_MENTIONS and row.recall < 1][:WEAKEST_NAMES]
        ],
        names=[name for each in names for name in each],
        nondeterministic_models=[finder.nondeterministic for finder in answers if finder.nondeterministic],
        # Their recall is 0 whatever the country, so a gate on a difference would test nothing.
        constant_answers={
            finder.model.name: "all texts" for finder in answers if not (finder.renamed == Outcome.RECALL).any()
        },
        design=design,
        answers=answers,
    )


def _count(design: FindDesign) -> FindCounts:
    counterfactuals = design.counterfactuals
    return FindCounts(
        texts=len(design.texts),
        rows_without_text=design.texts.left_out,
        copies=design.texts.copies,
        texts_with_names=len(design.named),
        people=sum(map(len, counterfactuals.people)),
        mentions=len(design.mentions),
        draws=counterfactuals.draws,
        recased_draws=design.recased_draws,
        countries=len(counterfactuals.countries),
        countries_left_out=[counterfactuals.gazetteer.country(code) for code in design.countries_left_out],
    )


def _measure_finder(
    design: FindDesign, shares: RenamedShares, answers: FinderAnswers
) -> tuple[FinderMeasures, list[OutcomeShare]]:
    values = {name: shares.average_mentions(answers.renamed == outcome) for name, outcome in OUTCOMES.items()}
    by_outcome = {name: shares.infer_countries(each) for name, each in values.items()}
    recall = by_outcome["recall"]
    hits = np.add.reduceat((answers.original == Outcome.RECALL).astype(float), design.first_mentions[:-1])
    finder = FinderMeasures(
        model=answers.model.name,
        recall=shares.infer_mean(values["recall"]),
        lowest=to_interval(recall.value.min(), recall.simultaneous_low.min(), recall.simultaneous_high.min()),
        gap=to_interval(*recall.gap),
        detectable_difference=shares.detectable_difference(values["recall"]),
        original_recall=infer_over_texts(hits / np.diff(design.first_mentions), np.ones(len(hits))),
        precision=infer_over_texts(answers.correct_counts, answers.prediction_counts),
    )
    return finder, [
        row for name, each in by_outcome.items() for row in _list_shares(design, answers.model.name, name, each)
    ]


def to_interval(value: float, low: float, high: float) -> Interval:
    """Without what is not known (NaN)."""
    return Interval(*map(number, np.array([value, low, high], dtype=float)))


def _list_shares(design: FindDesign, model: str, outcome: str, shares: CountryShares) -> Iterator[OutcomeShare]:
    """The share of one outcome for each country."""
    counterfactuals = design.counterfactuals
    names = [counterfactuals.gazetteer.country(code) for code in counterfactuals.countries]
    differences = [shares.difference.at(c) for c in range(len(names))]
    mirrors = find_mirrors(differences)
    for c, (code, difference) in enumerate(zip(counterfactuals.countries, differences, strict=True)):
        yield OutcomeShare(
            model=model,
            place=names[c],
            code=code,
            label=outcome,
            p_adjusted=difference.p_adjusted,
            mirrors=names[mirrors[c]] if c in mirrors else None,
            share=to_interval(shares.value[c], shares.low[c], shares.high[c]),
            against_mean=difference,
            fewest_names=design.fewest_names[c],
        )


def _measure_factors(design: FindDesign, shares: RenamedShares, answers: FinderAnswers) -> Iterator[FactorLevel]:
    """Every level of gender, part, script and case, over all countries; differences are one family."""
    levels = list_levels(design, answers)
    recalls = [shares.level_ratio(level.outcomes == Outcome.RECALL, level.is_level) for level in levels]
    first = {level.factor: k for k, level in reversed(list(enumerate(levels)))}
    compared = {k: recalls[first[level.factor]] for k, level in enumerate(levels) if k != first[level.factor]}
    family = Family(
        [np.array([recalls[k].value - reference.value]) for k, reference in compared.items()],
        [shares.mean_uncertainty(recalls[k].linear - reference.linear) for k, reference in compared.items()],
    )
    differences = {k: family.estimates(n).at(0) for n, k in enumerate(compared)}
    for k, level in enumerate(levels):
        others = {
            name: shares.level_ratio(level.outcomes == outcome, level.is_level).value
            for name, outcome in OUTCOMES.items()
            if outcome != Outcome.RECALL
        }
        yield FactorLevel(
            model=answers.model.name,
            factor=level.factor,
            level=level.name,
            mentions=int(level.is_level.sum()),
            recall=shares.infer_ratio(recalls[k]),
            **others,
            difference=differences.get(k),
        )


def locate_names(design: FindDesign) -> Positions:
    """By country, kind and name: the mentions that show it, alone or with another name, and in which draws."""
    counterfactuals = design.counterfactuals
    positions: Positions = defaultdict(list)
    for m, each in enumerate(design.mentions):
        kinds = counterfactuals.first_kinds(each.text)[each.person]
        for c in range(len(counterfactuals.countries)):
            for draw, new in enumerate(counterfactuals.new_names(each.text, c)[each.person]):
                if "first" in each.mention.parts:
                    positions[c, kinds[draw] or "", new.first].append((m, draw))
                if "last" in each.mention.parts:
                    positions[c, "last", new.last].append((m, draw))
    return positions


def list_name_recalls(design: FindDesign, positions: Positions, answers: FinderAnswers) -> list[NameRecall]:
    """Every name, from the lowest recall to the highest: where to look when a country is low."""
    gazetteer, codes = design.counterfactuals.gazetteer, design.counterfactuals.countries
    is_hit = answers.renamed == Outcome.RECALL
    recalls = []
    for (c, kind, name), pairs in positions.items():
        mentions, draws = np.array(pairs).T
        hits, country = is_hit[mentions, c, draws], gazetteer.country(codes[c])
        recalls.append(
            NameRecall(answers.model.name, name, country, codes[c], kind, len(hits), recall=float(hits.mean()))
        )
    return sorted(recalls, key=lambda recall: (recall.recall, -recall.mentions))


class Ratio(NamedTuple):
    """R of some mentions, and the values whose mean varies as R does (texts x countries x draws)."""

    value: float
    linear: np.ndarray
    text_count: int


@dataclass(frozen=True)
class CountryShares:
    """The shares of one outcome by country, and their differences from the mean of countries, with all bounds."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    simultaneous_low: np.ndarray
    simultaneous_high: np.ndarray
    difference: Estimates
    difference_low: np.ndarray  # simultaneous
    difference_high: np.ndarray

    @property
    def gap(self) -> tuple[float, float, float]:
        """The highest minus the lowest share, with bounds that hold if all simultaneous bounds do.

        Differences from the mean sum to 0: the largest is at least 0, the smallest at most 0.
        """
        low, high = self.difference_low, self.difference_high
        if np.isnan(low).any() or np.array_equal(low, high):
            low, high = self.simultaneous_low, self.simultaneous_high
            lowest_gap = max(low.max() - high.min(), 0.0)
        else:
            lowest_gap = max(low.max(), 0.0) - min(high.min(), 0.0)
        return float(np.ptp(self.value)), lowest_gap, min(high.max() - low.min(), 1.0)


class RenamedShares:
    """Which mention of the renamed texts belongs to which text, and which renamed text shows which names."""

    def __init__(self, design: FindDesign) -> None:
        counterfactuals = design.counterfactuals
        self.shape = counterfactuals.shape
        self.first_mentions = design.first_mentions[:-1]
        names = NameUnits(*counterfactuals.name_units())
        self.variance = CrossedVariance(names, self.shape, np.ones(self.shape[::2], dtype=bool))
        unit_country = (names.answer // self.shape[2]) % self.shape[1]
        pairs = np.unique(unit_country * len(names.kind) + names.unit)
        self.name_counts = np.bincount(pairs // len(names.kind), minlength=self.shape[1])

    def average_mentions(self, hits: np.ndarray) -> np.ndarray:
        """texts x countries x draws: the share of each renamed text (`hits`: mentions x countries x draws, bool)."""
        return self._sum_by_text(hits) / self._sum_by_text(np.ones((len(hits), 1, 1)))

    def infer_countries(self, values: np.ndarray) -> CountryShares:
        """Of shares of renamed texts (texts x countries x draws)."""
        countries = self.shape[1]
        means = self.variance.means(values)
        level = self._uncertainty(values, np.eye(countries))
        from_mean = Family([means - means.mean()], [self._uncertainty(values, np.eye(countries) - 1 / countries)])
        difference, half_width = from_mean.estimates(0), from_mean.simultaneous_half_width(0)
        if has_t_interval(level):
            family = Family([means], [level])
            widths = level.half_width(), family.simultaneous_half_width(0)
            (low, high), (all_low, all_high) = (np.clip([means - width, means + width], 0, 1) for width in widths)
        else:
            units = np.minimum(self.shape[0], self.name_counts) if self.variance.is_estimable else np.zeros(countries)
            low, high = exact_interval(means, units, TAIL)
            all_low, all_high = exact_interval(means, units, TAIL / countries)
        bounds = difference.value - half_width, difference.value + half_width
        return CountryShares(means, low, high, all_low, all_high, difference, *bounds)

    def detectable_difference(self, values: np.ndarray, pilot: RenamedShares | None = None) -> float | None:
        """The smallest difference of a country from the mean of countries that is marked with a power of 80 %.

        `values` are shares of these renamed texts, or of those of a pilot.
        """
        variance = (pilot or self).variance
        if self.shape[1] < 2 or not (variance.has_components and self.variance.is_estimable):
            return None
        return self.variance.smallest_effect(variance.variance_components(values)) or None

    def infer_mean(self, values: np.ndarray) -> Interval:
        """The mean of countries."""
        return self.infer_ratio(self.compute_ratio(values, np.ones(self.shape)))

    def level_ratio(self, hits: np.ndarray, is_level: np.ndarray) -> Ratio:
        """The share of hits among the mentions of a level (both mentions x countries x draws, bool)."""
        counts = self._sum_by_text(is_level)
        values = np.divide(self._sum_by_text(hits & is_level), counts, out=np.zeros(counts.shape), where=counts > 0)
        return self.compute_ratio(values, (counts > 0).astype(float))

    def compute_ratio(self, values: np.ndarray, weights: np.ndarray) -> Ratio:
        ratio = float((values * weights).sum() / weights.sum())
        text_count = int(weights.any(axis=(1, 2)).sum())
        return Ratio(ratio, weights * (values - ratio) / weights.mean(), text_count)

    def infer_ratio(self, ratio: Ratio) -> Interval:
        uncertainty = self.mean_uncertainty(ratio.linear)
        return make_interval(ratio.value, uncertainty, ratio.text_count if self.variance.is_estimable else 0)

    def mean_uncertainty(self, linear: np.ndarray) -> Uncertainty:
        """Of the mean over texts, countries and draws."""
        countries = self.shape[1]
        by_country = self._uncertainty(linear, np.full((countries, countries), 1 / countries))
        return Uncertainty(by_country.covariance[:1, :1], by_country.df[:1])

    def _uncertainty(self, values: np.ndarray, coefficients: np.ndarray) -> Uncertainty:
        if not self.variance.is_estimable:
            return Uncertainty.unknown(len(coefficients))
        return self.variance.uncertainty(LinearMeasure(values, coefficients))

    def _sum_by_text(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values.astype(float), self.first_mentions, axis=0)


def infer_over_texts(numerator: np.ndarray, denominator: np.ndarray) -> Interval:
    """The ratio of two sums over texts, with its interval over texts."""
    total = denominator.sum()
    if not total:
        return Interval(None, None, None)
    ratio = float(numerator.sum() / total)
    linear = (numerator - ratio * denominator) / denominator.mean()
    shape = (len(linear), 1, 1)
    no_names = NameUnits(*(np.zeros(0, dtype=int) for _ in range(3)))
    variance = CrossedVariance(no_names, shape, np.ones((len(linear), 1), dtype=bool), names_fixed=True)
    uncertainty = Uncertainty.unknown(1)
    if variance.is_estimable:
        uncertainty = variance.uncertainty(LinearMeasure(linear.reshape(shape), np.eye(1)))
    return make_interval(ratio, uncertainty, int((denominator > 0).sum()) if variance.is_estimable else 0)


def has_t_interval(uncertainty: Uncertainty) -> bool:
    """Whether enough texts differ from each other for Student's t."""
    return uncertainty.is_known and bool(uncertainty.variance.any())


def make_interval(share: float, uncertainty: Uncertainty, units: int) -> Interval:
    """A share with its 95 % interval: Student's t, or the exact one of `units` units where that is unknown."""
    if has_t_interval(uncertainty):
        half_width = float(uncertainty.half_width()[0])
        return Interval(share, max(share - half_width, 0.0), min(share + half_width, 1.0))
    low, high = exact_interval(np.array([share]), np.array([units]), TAIL)
    return Interval(share, number(low[0]), number(high[0]))


def exact_interval(share: np.ndarray, units: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's interval of a share of `units` independent units; NaN where there are none.

    It is for shares near 0 or 1, of which hardly any text differs. A unit whose share lies between 0 and 1 varies less
    than one that has either, so the interval is conservative.
    """
    successes = share * units
    low = stats.beta.ppf(tail, successes, units - successes + 1)
    high = stats.beta.isf(tail, successes + 1, units - successes)
    low, high = np.where(successes > 0, low, 0.0), np.where(successes < units, high, 1.0)
    return np.where(units > 0, low, np.nan), np.where(units > 0, high, np.nan)
