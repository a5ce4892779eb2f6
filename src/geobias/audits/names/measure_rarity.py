"""Country or rarity: delta with the rarity of names held fixed, and names that several countries share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from geobias.audits.names.answers import Perplexities
from geobias.audits.names.records import (
    CountryRarity,
    NameSharing,
    RarityAdjustment,
    RarityCovariate,
    SharedNamesEffect,
)
from geobias.disk_arrays import read_block
from geobias.measures.arrays import LazyValues, TextValues, sum_over_texts
from geobias.measures.covariate_adjustment import adjust_for_covariates, estimate_slopes_by_country
from geobias.measures.crossed_variance import CrossedVariance, NameUnits
from geobias.report.results import number
from geobias.texts.counterfactuals import Counterfactuals

if TYPE_CHECKING:
    from geobias.audits.names.result import CountryNames

FEWEST_NAMES = 5  # different names of a country, shared and unshared, to compare them


class CovariateSet(NamedTuple):
    """Covariates of the renamed texts; NaN where they are not known."""

    names: tuple[str, ...]
    lm: str | None
    values: TextValues  # texts with names x countries x draws x covariates
    is_known: np.ndarray  # texts with names x draws: for every country


def list_covariate_sets(renamed: Counterfactuals, perplexities: Perplexities | None) -> Iterator[CovariateSet]:
    """What rarity can be measured by, the best first: a language model's numbers, else the length of the texts.

    They are those of whole renamed texts. What a renaming adds differs from them by a constant of the text, which
    cancels between countries.
    """
    if perplexities:
        tokens, characters = np.moveaxis(perplexities.renamed_sizes, -1, 0)
        log_perplexity = perplexities.renamed
        if np.nanmax(tokens, initial=0) > 0:
            # A sum over tokens: what a name adds to a mean depends on how long the rest of the text is.
            surprisal = log_perplexity if perplexities.form == "sum" else log_perplexity * tokens
            columns = {"tokens": tokens, "surprisal": surprisal}
        else:
            columns = {"characters": characters, "log-perplexity": log_perplexity}
        values = np.full((*renamed.shape, len(columns)), np.nan)
        values[:, :, : tokens.shape[2]] = np.stack(list(columns.values()), axis=-1)
        yield CovariateSet(tuple(columns), perplexities.model.name, values, ~np.isnan(values).any(axis=(1, 3)))
    lengths = LazyValues(lambda texts: read_block(renamed.text_lengths, texts)[..., None].astype(float))
    yield CovariateSet(("characters",), None, lengths, np.ones(renamed.shape[::2], dtype=bool))


def measure_rarity(
    deltas: TextValues,
    covariate_sets: Iterable[CovariateSet],
    genders: np.ndarray,
    variance: CrossedVariance,
    crossed_variance: Callable[[np.ndarray], CrossedVariance],
    countries: Sequence[CountryNames],
) -> RarityAdjustment | None:
    """Adjust for the first set of covariates that vary within countries, over the counted answers that have them."""
    if len(countries) < 2 or not variance.total:
        return None
    for names, lm, values, is_known in covariate_sets:
        takes_part = variance.counted & is_known
        design = variance if (takes_part == variance.counted).all() else crossed_variance(takes_part)
        if not design.total:
            continue
        adjustment = adjust_for_covariates(design, deltas, values, genders)
        if adjustment is None:
            continue
        return RarityAdjustment(
            lm=lm,
            texts=design.text_count,
            draws=int(design.draws_per_text.max()),
            covariates=[RarityCovariate(name, adjustment.slopes.at(k)) for k, name in enumerate(names)],
            countries=[
                CountryRarity(
                    country.country,
                    country.code,
                    dict(zip(names, adjustment.covariate_differences[c].tolist(), strict=True)),
                    adjustment.unadjusted.at(c),
                    adjustment.adjusted.at(c),
                    adjustment.explained.at(c),
                )
                for c, country in enumerate(countries)
            ],
        )
    return None


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
