"""How a classifier goes with perplexity, and how sure that is: correlations with intervals, plain and partial."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.numbers import by_label
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
from geobias.measures.estimates import Estimates

if TYPE_CHECKING:
    from geobias.audits.names.perplexity import Perplexity
    from geobias.audits.names.result import Judgement, NamesResult


def sure_correlations(
    result: NamesResult, judged: Judgement, perplexity: Perplexity, some: np.ndarray
) -> dict[str, Any]:
    """Global correlations by language, local ones by country and overall, each with its interval.

    `partial` holds the number of tokens and of characters fixed: of a text, or of what a renaming adds to it.
    """
    return {
        "lm": perplexity.model["name"],
        "score": perplexity.model["score"],
        "form": perplexity.form,
        "draws": perplexity.renamed.shape[2],
        "texts": int((~np.isnan(perplexity.renamed[some[result.named]])).any(axis=(1, 2)).sum()),
        "texts_cut": perplexity.cut,
        "unknown_tokens": perplexity.unknown,
        "languages_refused": perplexity.refused,
        "global": _global(result, judged, perplexity, some),
        **_local(result, judged, perplexity, some),
    }


def _global(result: NamesResult, judged: Judgement, perplexity: Perplexity, some: np.ndarray) -> list[dict[str, Any]]:
    languages = np.array(result.texts.languages)
    by_language = []
    for language in dict.fromkeys(result.texts.languages):
        of_it = some & (languages == language) & ~np.isnan(perplexity.original)
        if of_it.any():
            plain, partial = estimate_correlations(
                perplexity.original[of_it],
                judged.original[of_it],
                perplexity.size[of_it],
                np.flatnonzero(of_it),
                seed=result.renamed.seed,
            )
            plainly = global_correlation(perplexity.original[of_it], judged.original[of_it])
            by_language.append(
                {
                    "language": language,
                    "texts": int(of_it.sum()),
                    "pearson": by_label(judged.labels, plainly),
                    "inference": _sure(judged, plain),
                    "partial": _sure(judged, partial),
                }
            )
    return by_language


def _local(result: NamesResult, judged: Judgement, perplexity: Perplexity, some: np.ndarray) -> dict[str, Any]:
    here = some[result.named]
    rows = result.named[here]
    strange, said = perplexity.renamed[here], judged.renamed[here][:, :, : perplexity.renamed.shape[2]]
    before, said_before = perplexity.original[rows], judged.original[rows]
    stranger, changed = strange - before[:, None, None], said - said_before[:, None, None]
    longer = perplexity.renamed_size[here] - perplexity.size[rows][:, None, None]
    text = np.broadcast_to(rows[:, None, None], stranger.shape)
    seed = result.renamed.seed
    plain, partial = estimate_correlations(
        stranger.ravel(), changed.reshape(-1, len(judged.labels)), longer.reshape(-1, 2), text.ravel(), seed=seed
    )
    within, within_overall = estimate_within_correlations(local_correlations(strange, said), seed=seed)
    pooled = estimate_pooled_correlations(stranger, changed, seed=seed)
    return {
        "local": {
            "within": _sure(judged, within_overall),
            "pooled": _sure(judged, plain),
            "pooled_partial": _sure(judged, partial),
        },
        "within": _by_country(result, judged, within_correlation(strange, said), within),
        "pooled": _by_country(result, judged, pooled_correlation(strange, said, before, said_before), pooled),
    }


def _by_country(result: NamesResult, judged: Judgement, found: LocalCorrelation, sure: Estimates) -> dict[str, Any]:
    return {
        "overall": by_label(judged.labels, found.overall),
        "countries": [
            {
                "country": country["country"],
                "code": country["code"],
                "pearson": by_label(judged.labels, found.by_country[c]),
                "inference": _sure(judged, sure, c),
                "texts": by_label(judged.labels, found.texts[c]),
                "texts_without_variance": by_label(judged.labels, found.left_out[c]),
            }
            for c, country in enumerate(result.countries)
        ],
    }


def _sure(judged: Judgement, found: Estimates, *of: int) -> dict[str, dict[str, float | None]]:
    return {label: asdict(found.at(*of, k)) for k, label in enumerate(judged.labels)}
