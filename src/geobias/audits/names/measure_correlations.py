"""Correlations of a classifier's probabilities with log-perplexity, plain and partial, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers, Perplexities
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.result import (
    CorrelationsByCountry,
    CountryCorrelation,
    CountryNames,
    LanguageCorrelation,
    OverallCorrelations,
    PerplexityCorrelations,
)
from geobias.measures.correlation import (
    LocalCorrelation,
    global_correlation,
    local_correlations,
    pooled_correlation,
    within_correlation,
)
from geobias.measures.correlation_intervals import (
    estimate_correlations,
    estimate_pooled_correlations,
    estimate_within_correlations,
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
    has_perplexity = (~np.isnan(perplexities.renamed[named_in_subset])).any(axis=(1, 2))
    local = _measure_local(design, answers, perplexities, in_subset)
    return PerplexityCorrelations(
        lm=perplexities.model.name,
        score=perplexities.model.score,
        form=perplexities.form,
        draws=perplexities.renamed.shape[2],
        texts=int(has_perplexity.sum()),
        texts_cut=perplexities.texts_cut,
        unknown_tokens=perplexities.unknown_tokens,
        languages_refused=perplexities.languages_refused,
        by_language=_measure_languages(design, answers, perplexities, in_subset),
        local=local.overall,
        within=_by_country(countries, answers.labels, local.within, local.within_estimates),
        pooled=_by_country(countries, answers.labels, local.pooled, local.pooled_estimates),
    )


def _measure_languages(
    design: NamesDesign, answers: ClassifierAnswers, perplexities: Perplexities, in_subset: np.ndarray
) -> list[LanguageCorrelation]:
    languages = np.array(design.texts.languages)
    entries = []
    for language in dict.fromkeys(design.texts.languages):
        rows = in_subset & (languages == language) & ~np.isnan(perplexities.original)
        if rows.any():
            log_perplexity, probabilities = perplexities.original[rows], answers.original[rows]
            plain, partial = estimate_correlations(
                log_perplexity,
                probabilities,
                perplexities.sizes[rows],
                np.flatnonzero(rows),
                seed=design.counterfactuals.seed,
            )
            entries.append(
                LanguageCorrelation(
                    language=language,
                    texts=int(rows.sum()),
                    pearson=by_label(answers.labels, global_correlation(log_perplexity, probabilities)),
                    inference=_estimates_by_label(answers.labels, plain),
                    partial=_estimates_by_label(answers.labels, partial),
                )
            )
    return entries


@dataclass(frozen=True)
class _LocalCorrelations:
    overall: OverallCorrelations
    within: LocalCorrelation
    within_estimates: Estimates
    pooled: LocalCorrelation
    pooled_estimates: Estimates


def _measure_local(
    design: NamesDesign, answers: ClassifierAnswers, perplexities: Perplexities, in_subset: np.ndarray
) -> _LocalCorrelations:
    named_in_subset = in_subset[design.named]
    rows = design.named[named_in_subset]
    log_perplexity = perplexities.renamed[named_in_subset]
    probabilities = answers.renamed[named_in_subset][:, :, : log_perplexity.shape[2]]
    original_log_perplexity, original_probabilities = perplexities.original[rows], answers.original[rows]
    added_log_perplexity = log_perplexity - original_log_perplexity[:, None, None]
    added_probability = probabilities - original_probabilities[:, None, None]
    added_size = perplexities.renamed_sizes[named_in_subset] - perplexities.sizes[rows][:, None, None]
    text_ids = np.broadcast_to(rows[:, None, None], added_log_perplexity.shape)
    labels, seed = answers.labels, design.counterfactuals.seed
    pooled, pooled_partial = estimate_correlations(
        added_log_perplexity.ravel(),
        added_probability.reshape(-1, len(labels)),
        added_size.reshape(-1, 2),
        text_ids.ravel(),
        seed=seed,
    )
    within, within_overall = estimate_within_correlations(local_correlations(log_perplexity, probabilities), seed=seed)
    return _LocalCorrelations(
        overall=OverallCorrelations(
            within=_estimates_by_label(labels, within_overall),
            pooled=_estimates_by_label(labels, pooled),
            pooled_partial=_estimates_by_label(labels, pooled_partial),
        ),
        within=within_correlation(log_perplexity, probabilities),
        within_estimates=within,
        pooled=pooled_correlation(log_perplexity, probabilities, original_log_perplexity, original_probabilities),
        pooled_estimates=estimate_pooled_correlations(added_log_perplexity, added_probability, seed=seed),
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
