"""Shares of a decisions audit: selection rates and impact ratios, and how many questions are answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from geobias.audits.decide.answers import WayAnswers
from geobias.audits.decide.records import WorstRatio
from geobias.measures.crossed_variance import CrossedVariance
from geobias.measures.decisions import average_means, average_situations, estimate_against_mean, summarise_countries
from geobias.measures.estimates import Estimates
from geobias.measures.impact_ratio import ImpactRatios
from geobias.measures.missing_answers import bound_shares, permute_countries
from geobias.report.results import Interval
from geobias.texts.origins import Origin


@dataclass(frozen=True)
class AnsweredShares:
    """The share of questions that is answered, by country."""

    share: np.ndarray
    bounds: tuple[np.ndarray, np.ndarray] | None  # None where it is not testable
    difference: Estimates  # from the mean of countries

    def interval(self, country: int) -> Interval:
        low, high = (None, None) if self.bounds is None else (float(ends[country]) for ends in self.bounds)
        return Interval(float(self.share[country]), low, high)


def measure_answered(
    ways: Sequence[WayAnswers], variances: Sequence[CrossedVariance], is_testable: bool
) -> AnsweredShares:
    """Tested by permutation, which is exact where most answer all; names add to the variance, so by that with them."""
    share = np.mean([np.nanmean(way.answered, axis=(0, 2)) for way in ways], axis=0)
    parts = [(np.nan_to_num(way.answered), np.ones(way.layout.counted.shape)) for way in ways]
    if not is_testable:
        return AnsweredShares(share, None, Estimates.unknown(share - share.mean()))
    means = average_means(
        [summarise_countries(variance, *part) for variance, part in zip(variances, parts, strict=True)]
    )
    difference = estimate_against_mean(means)
    if all(way.names is None for way in ways):
        cells = [average_situations(*part, way.layout.counted) for way, part in zip(ways, parts, strict=True)]
        p, p_adjusted = permute_countries(np.mean(cells, axis=0))
        difference = replace(difference, p=p, p_adjusted=p_adjusted)
    variance = means.combine(np.eye(len(share)), means.name_df)[1].variance
    return AnsweredShares(share, bound_shares(share, variance, len(ways[0].layout.cases)), difference)


def list_ratios(
    ratios: ImpactRatios | None, countries: Sequence[Origin], is_testable: bool
) -> tuple[dict[str, float], dict[str, Interval]]:
    """Selection rates and impact ratios by the codes of countries that can be compared."""
    if ratios is None:
        return {}, {}
    bounds = zip(ratios.low.tolist(), ratios.high.tolist(), strict=True)
    ends = list(bounds) if is_testable else [(None, None)] * len(countries)
    codes = [str(origin.code) for origin in countries]
    intervals = [Interval(ratio, *each) for ratio, each in zip(ratios.ratio.tolist(), ends, strict=True)]
    rates = np.clip(ratios.rate, 0, 1).tolist()  # adjusted ones may lie beyond
    return dict(zip(codes, rates, strict=True)), dict(zip(codes, intervals, strict=True))


def find_worst(ratios: ImpactRatios, countries: Sequence[Origin], is_testable: bool) -> WorstRatio:
    value, low, high, position = ratios.worst
    best = countries[int(ratios.rate.argmax())]
    return WorstRatio(
        value,
        low if is_testable else None,
        high if is_testable else None,
        country=str(countries[position].code),
        best=str(best.code),
    )
