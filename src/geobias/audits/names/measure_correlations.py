"""Correlations of a classifier's probabilities with log-perplexity, plain and partial, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers, Perplexities
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.records import (
    CorrelationsByCountry,
    CountryCorrelation,
    LanguageCorrelation,
    OverallCorrelations,
    PerplexityCorrelations,
)
from geobias.audits.names.result import CountryNames
from geobias.measures.correlation import (
    LocalCorrelation,
    estimate_correlations,
    estimate_pooled_correlations,
    estimate_within_correlations,
    local_correlations,
    pearson,
    pooled_correlation,
    within_correlation,
)
from geobias.measures.estimates import Estimate, Estimates
from geobias.report.results import by_label


def measure_correlations(
    design: NamesDesign,
    countries: Sequence[CountryNames],
    answers: ClassifierAnswers,
    perplexities: Perplexities,
    in_subset: np.ndarray,
) -> PerplexityCorrelations:
    """Global correlations by language, local ones by country and overall, over the texts of `in_subset` (bool).

    Partial correlations hold the number of tokens and of characters fixed: of a text, or of what a renaming adds.
    """
    named_in_subset = in_subset[design.named]
    rows = design.named[named_in_subset]
    log_perplexity = perplexities.renamed[named_in_subset]
    probabilities = answers.renamed[:, :, : log_perplexity.shape[2]][named_in_subset]
    original_log_perplexity, original_probabilities = perplexities.original[rows], answers.original[rows]
    added_log_perplexity = log_perplexity - original_log_perplexity[:, None, None]
    added_probability = probabilities - original_probabilities[:, None, None]
    added_size = perplexities.renamed_sizes[named_in_subset] - perplexities.sizes[rows][:, None, None]
    text_ids = np.broadcast_to(rows[:, None, None], added_log_perplexity.shape)
    labels, seed = answers.labels, design.options.seed
    overall, overall_partial = estimate_correlations(
        added_log_perplexity.ravel(),
        added_probability.reshape(-1, len(labels)),
        added_size.reshape(-1, 2),
        text_ids.ravel(),
        seed=seed,
    )
    within = within_correlation(log_perplexity, probabilities)
    within_estimates, within_overall = estimate_within_correlations(
        local_correlations(log_perplexity, probabilities), seed=seed
    )
    pooled = pooled_correlation(log_perplexity, probabilities, original_log_perplexity, original_probabilities)
    pooled_estimates = estimate_pooled_correlations(added_log_perplexity, added_probability, seed=seed)
    return PerplexityCorrelations(
        lm=perplexities.model.name,
        score=perplexities.model.score,
        draws=perplexities.renamed.shape[2],
        texts=int((~np.isnan(log_perplexity)).any(axis=(1, 2)).sum()),
        texts_cut=perplexities.texts_cut,
        unknown_tokens=perplexities.unknown_tokens,
        languages_refused=perplexities.languages_refused,
        by_language=list(_measure_languages(design, answers, perplexities, in_subset)),
        local=OverallCorrelations(
            within=_estimates_by_label(labels, within_overall),
            pooled=_estimates_by_label(labels, overall),
            pooled_partial=_estimates_by_label(labels, overall_partial),
        ),
        within=_by_country(countries, labels, within, within_estimates),
        pooled=_by_country(countries, labels, pooled, pooled_estimates),
    )


def _measure_languages(
    design: NamesDesign, answers: ClassifierAnswers, perplexities: Perplexities, in_subset: np.ndarray
) -> Iterator[LanguageCorrelation]:
    labels, languages = answers.labels, np.array(design.texts.languages)
    for language in dict.fromkeys(design.texts.languages):
        rows = np.flatnonzero(in_subset & (languages == language) & ~np.isnan(perplexities.original))
        if len(rows):
            log_perplexity, probabilities = perplexities.original[rows], answers.original[rows]
            plain, partial = estimate_correlations(
                log_perplexity, probabilities, perplexities.sizes[rows], rows, seed=design.options.seed
            )
            yield LanguageCorrelation(
                language=language,
                texts=len(rows),
                pearson=by_label(labels, pearson(log_perplexity, probabilities)),
                inference=_estimates_by_label(labels, plain),
                partial=_estimates_by_label(labels, partial),
            )


def _by_country(
    countries: Sequence[CountryNames], labels: Sequence[str], correlation: LocalCorrelation, estimates: Estimates
) -> CorrelationsByCountry:
    return CorrelationsByCountry(
        overall=by_label(labels, correlation.overall),
        countries=[
            CountryCorrelation(
                country=country.country,
                code=country.code,
                pearson=by_label(labels, correlation.by_country[c]),
                inference=_estimates_by_label(labels, estimates, c),
                texts=by_label(labels, correlation.texts[c]),
                texts_without_variance=by_label(labels, correlation.left_out[c]),
            )
            for c, country in enumerate(countries)
        ],
    )


def _estimates_by_label(labels: Sequence[str], estimates: Estimates, *index: int) -> dict[str, Estimate]:
    return {label: estimates.at(*index, k) for k, label in enumerate(labels)}
