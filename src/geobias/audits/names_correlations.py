"""How a classifier goes with perplexity, and how sure that is: correlations with intervals, plain and partial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.numbers import number
from geobias.measures.correlation import global_correlation, local_correlations
from geobias.measures.inference import Estimates
from geobias.measures.partial import correlations
from geobias.measures.text_inference import text_estimates

if TYPE_CHECKING:
    from geobias.audits.names_result import Judgement, NamesResult
    from geobias.audits.perplexity import Perplexity


def sure_correlations(
    result: NamesResult, judged: Judgement, perplexity: Perplexity, some: np.ndarray
) -> dict[str, Any]:
    """Global correlations by language, and the overall local ones, each with its interval.

    `partial` holds the number of tokens and of characters fixed: of a text, or of what a renaming adds to it.
    """
    seed = result.renamed.seed
    languages = np.array(result.texts.languages)
    by_language = []
    for language in dict.fromkeys(result.texts.languages):
        of_it = some & (languages == language) & ~np.isnan(perplexity.original)
        if of_it.any():
            plain, partial = correlations(
                perplexity.original[of_it],
                judged.original[of_it],
                perplexity.size[of_it],
                np.flatnonzero(of_it),
                seed=seed,
            )
            plainly = global_correlation(perplexity.original[of_it], judged.original[of_it])
            by_language.append(
                {
                    "language": language,
                    "texts": int(of_it.sum()),
                    "pearson": dict(zip(judged.labels, map(number, plainly), strict=True)),
                    "inference": _by_label(judged, plain),
                    "partial": _by_label(judged, partial),
                }
            )
    return {"global": by_language, "local": _local(result, judged, perplexity, some)}


def _local(result: NamesResult, judged: Judgement, perplexity: Perplexity, some: np.ndarray) -> dict[str, Any]:
    here = some[result.named]
    rows = result.named[here]
    draws = perplexity.renamed.shape[2]
    labels = len(judged.labels)
    stranger = perplexity.renamed[here] - perplexity.original[rows][:, None, None]
    changed = judged.renamed[here][:, :, :draws] - judged.original[rows][:, None, None]
    longer = perplexity.renamed_size[here] - perplexity.size[rows][:, None, None]
    text = np.broadcast_to(rows[:, None, None], stranger.shape)
    plain, partial = correlations(
        stranger.ravel(), changed.reshape(-1, labels), longer.reshape(-1, 2), text.ravel(), seed=result.renamed.seed
    )
    each = local_correlations(perplexity.renamed[here], judged.renamed[here][:, :, :draws])
    within = [text_estimates(_mean_of_each_text(each[..., k])[:, None]).at(0) for k in range(labels)]
    return {
        "within": dict(zip(judged.labels, within, strict=True)),
        "pooled": _by_label(judged, plain),
        "pooled_partial": _by_label(judged, partial),
    }


def _mean_of_each_text(each: np.ndarray) -> np.ndarray:
    """Over the countries (texts x countries); a text that has no correlation in any takes no part."""
    some = ~np.isnan(each).all(axis=1)
    return np.nanmean(each[some], axis=1) if some.any() else np.array([np.nan])


def _by_label(judged: Judgement, found: Estimates) -> dict[str, dict[str, float | None]]:
    return {label: found.at(k) for k, label in enumerate(judged.labels)}
