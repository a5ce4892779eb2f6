"""Country or name: differences with length, spelling and frequency of names held fixed; names that countries share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.covariates import INSEPARABLE, Covariates
from geobias.audits.names.records import (
    ClassDifferences,
    CountryRarity,
    CountrySpread,
    NameSharing,
    RarityAdjustment,
    RarityCovariate,
    SharedNamesEffect,
)
from geobias.files import read_block
from geobias.measures.arrays import LazyValues, TextValues, sum_over_texts
from geobias.measures.change import predict_classes
from geobias.measures.covariate_adjustment import AdjustedDifferences, adjust_for_covariates, estimate_slopes_by_country
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.uncertainty import ROUNDING, Uncertainty, measure_spread, shrink_means
from geobias.report.results import number
from geobias.texts.counterfactuals import Counterfactuals

if TYPE_CHECKING:
    from geobias.audits.names.result import CountryNames

MARGIN = 0.25  # of what covariates explain: they measure length, spelling and frequency with some error
FEWEST_NAMES = 5  # different names of a country, shared and unshared, to compare them


def measure_rarity(
    values: TextValues,
    covariates: Covariates,
    genders: np.ndarray,
    variance: CrossedVariance,
    countries: Sequence[CountryNames],
    label: str | None = None,
) -> RarityAdjustment | None:
    """Differences of countries in Δ, or in how often `label` is predicted, with all covariates held fixed.

    None where no covariate differs, so that nothing has to be held fixed.
    """
    if len(countries) < 2 or not variance.total:
        return None
    adjustment = adjust_for_covariates(variance, values, covariates.values, genders, MARGIN)
    kept = [] if adjustment is None else adjustment.kept
    left_out = {**covariates.left_out, **_find_inseparable(variance, covariates, kept)}
    if adjustment is None and INSEPARABLE not in left_out.values():
        return None
    names = [covariates.names[k] for k in kept]
    return RarityAdjustment(
        label=label,
        texts=variance.text_count,
        draws=int(variance.draws_per_text.max()),
        covariates=[
            RarityCovariate(name, adjustment.slopes.at(k)) for k, name in enumerate(names) if adjustment is not None
        ],
        left_out=left_out,
        spread=adjustment and describe_spread(adjustment.adjusted.value, adjustment.uncertainty, countries),
        countries=[] if adjustment is None else _list_countries(adjustment, names, countries),
    )


def measure_class(
    answers: ClassifierAnswers,
    label: int,
    covariates: Covariates,
    genders: np.ndarray,
    variance: CrossedVariance,
    countries: Sequence[CountryNames],
) -> ClassDifferences:
    """How often each country's renamed texts get a class, in percentage points."""

    def predict(texts: slice) -> np.ndarray:
        return 100.0 * predict_classes(read_block(answers.renamed, texts), answers.threshold)[..., label]

    values, name = LazyValues(predict), answers.labels[label]
    return ClassDifferences(
        label=name,
        spread=measure_country_spread(values, variance, countries),
        rarity=measure_rarity(values, covariates, genders, variance, countries, name),
    )


def describe_spread(
    differences: np.ndarray, uncertainty: Uncertainty, countries: Sequence[CountryNames]
) -> CountrySpread | None:
    """The spread of differences from the mean of countries; None where their uncertainty is not known."""
    if not uncertainty.is_known or len(countries) < 2:
        return None
    sd = measure_spread(differences, uncertainty)
    shrunken = shrink_means(differences, uncertainty.covariance, sd.value or 0)
    codes = [country.code for country in countries]
    return CountrySpread(sd, dict(zip(codes, shrunken.tolist(), strict=True)))


def measure_country_spread(
    values: TextValues, variance: CrossedVariance, countries: Sequence[CountryNames]
) -> CountrySpread | None:
    """How much countries differ in the mean of `values`, as measured."""
    if not variance.is_estimable:
        return None
    measure = LinearMeasure(variance.summarise(values), np.eye(variance.countries) - 1 / variance.countries)
    differences = measure.coefficients @ variance.means(measure.values)
    return describe_spread(differences, variance.uncertainty(measure), countries)


def _list_countries(
    adjustment: AdjustedDifferences, names: Sequence[str], countries: Sequence[CountryNames]
) -> list[CountryRarity]:
    return [
        CountryRarity(
            country.country,
            country.code,
            dict(zip(names, adjustment.covariate_differences[c].tolist(), strict=True)),
            adjustment.unadjusted.at(c),
            adjustment.adjusted.at(c),
            adjustment.explained.at(c),
            adjustment.cautious.at(c),
        )
        for c, country in enumerate(countries)
    ]


def _find_inseparable(variance: CrossedVariance, covariates: Covariates, kept: Sequence[int]) -> Mapping[str, str]:
    """Covariates that differ between countries, but not within them: their effect and that of a country are one."""
    return {
        name: INSEPARABLE
        for k, name in enumerate(covariates.names)
        if k not in kept and np.ptp(variance.means(_select_column(covariates.values, k))) > ROUNDING
    }


def _select_column(values: TextValues, k: int) -> LazyValues:
    return LazyValues(lambda texts: values[texts][..., k])


@dataclass(frozen=True)
class SharedNames:
    """Which names several countries of the audit have."""

    is_shared: np.ndarray  # names, by their numbers in NameUnits
    share: TextValues  # texts with names x countries x draws: of the names that a renamed text shows
    by_country: list[NameSharing]


def find_shared_names(renamed: Counterfactuals, units: NameUnits) -> SharedNames:
    owners = renamed.count_owners()
    is_shared = np.array([owners[key] > 1 for key in renamed.name_index[2]], dtype=bool)
    texts, countries, draws = renamed.shape

    def compute_share(block: slice) -> np.ndarray:
        answer, unit = units.read_texts(block, countries * draws)
        size = (block.stop - block.start) * countries * draws
        shown = np.bincount(answer, minlength=size)
        shown_shared = np.bincount(answer, weights=is_shared[unit], minlength=size)
        return np.asarray((shown_shared / np.maximum(shown, 1)).reshape(-1, countries, draws))

    with_shared = sum_over_texts(lambda block: [(compute_share(block) > 0).sum(axis=(0, 2))], texts, countries * draws)[
        0
    ]
    lists = [
        {(kind, name) for kind in renamed.gazetteer.kinds for name in renamed.gazetteer.names(code, kind)}
        for code in renamed.countries
    ]
    by_country = []
    for c, names in enumerate(lists):
        shared = [name for name in names if owners[name] > 1]
        by_country.append(
            NameSharing(
                names=len(names),
                shared=len(shared),
                other_countries=sum(bool(names & other) for d, other in enumerate(lists) if d != c),
                others_per_shared_name=number(np.mean([owners[name] - 1 for name in shared])) if shared else None,
                renamed_texts_with_shared=float(with_shared[c] / (texts * draws)),
            )
        )
    return SharedNames(is_shared, LazyValues(compute_share), by_country)


def measure_shared_names(
    deltas: TextValues,
    shared_names: SharedNames,
    genders: np.ndarray,
    variance: CrossedVariance,
    countries: Sequence[CountryNames],
) -> list[SharedNamesEffect]:
    """For every country with enough names of both kinds: the slope of delta on the share of shared names."""
    if not variance.total:
        return []
    is_shared = shared_names.is_shared[variance.cells.unit]
    shared = np.bincount(variance.cells.country[is_shared], minlength=len(countries))
    unshared = np.bincount(variance.cells.country[~is_shared], minlength=len(countries))
    has_enough = np.minimum(shared, unshared) >= FEWEST_NAMES
    estimates = estimate_slopes_by_country(variance, deltas, shared_names.share, genders, has_enough)
    return [
        SharedNamesEffect(country.country, country.code, int(shared[c]), int(unshared[c]), estimates.at(c))
        for c, country in enumerate(countries)
        if not np.isnan(estimates.value[c])
    ]
