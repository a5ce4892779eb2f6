"""What a language model loses and gains by mitigation, from its audits and its likelihoods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from geobias.audits.mitigate.measure import falls
from geobias.audits.mitigate.methods import LEAST_WORD_VARIANCE, MOST_CAPITALS_LOST, MOST_PERPLEXITY_RISE
from geobias.audits.mitigate.result import LanguageModelComparison, LanguageModelMeasures
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import benjamini_hochberg
from geobias.measures.mitigation import bootstrap_interval
from geobias.models.training.quality import CapitalsKnown, TextLikelihoods, compute_word_variance_ratio
from geobias.report.results import Interval, number


@dataclass(frozen=True)
class LanguageAnswers:
    """One language model: its audit, and how good it is."""

    audit: RegionsResult
    likelihoods: TextLikelihoods
    capitals: CapitalsKnown

    @property
    def word_scores(self) -> np.ndarray:
        """regions x words: the mean over templates; the root has no score."""
        scores = np.asarray(self.audit.likelihoods).mean(axis=0)
        return scores[~np.isnan(scores).any(axis=1)]


def describe_language_model(answers: LanguageAnswers) -> LanguageModelMeasures:
    root = answers.audit.regions[0]
    score = Interval(root.c_w.balanced, None, None)
    if root.inference is not None:
        score = Interval(root.c_w.balanced, root.inference.c_w.balanced.low, root.inference.c_w.balanced.high)
    variance = float(answers.word_scores.mean(axis=0).var())
    return LanguageModelMeasures(score, answers.likelihoods.perplexity, 100 * answers.capitals.share, variance)


def compare_perplexities(before: TextLikelihoods, after: TextLikelihoods) -> Interval:
    """The change in per cent, with its interval over texts."""
    log_ratios, tokens = before.log_p - after.log_p, before.tokens

    def change(texts: np.ndarray) -> float:
        return float(100 * (np.exp(log_ratios[texts].sum() / tokens[texts].sum()) - 1))

    return Interval(*bootstrap_interval(change, len(tokens)))


def compare_capitals(before: CapitalsKnown, after: CapitalsKnown) -> Interval:
    """The change in percentage points, with its interval over capitals."""
    changes = 100 * (after.is_known.astype(float) - before.is_known)
    return Interval(*bootstrap_interval(lambda capitals: float(changes[capitals].mean()), len(changes)))


def compare_word_variances(before: LanguageAnswers, after: LanguageAnswers) -> Interval:
    """The variance over words after mitigation divided by that before, with its interval over words."""
    first, second = before.word_scores, after.word_scores

    def ratio(words: np.ndarray) -> float:
        return compute_word_variance_ratio(first[:, words], second[:, words])

    return Interval(*bootstrap_interval(ratio, first.shape[1]))


def adjust_language_methods(comparisons: Sequence[LanguageModelComparison]) -> list[LanguageModelComparison]:
    """Adjust the tests of all methods as one family, and decide which of them help."""
    p_values = [entry.score_change.p for entry in comparisons]
    adjusted = benjamini_hochberg(np.array([np.nan if p is None else p for p in p_values]))
    entries = []
    for entry, p_adjusted in zip(comparisons, adjusted, strict=True):
        change = replace(entry.score_change, p_adjusted=number(p_adjusted))
        keeps_words = (entry.word_variance_ratio.value or 0) >= LEAST_WORD_VARIANCE
        has_lower_score = falls(change) and change.high is not None and change.high < 0
        entries.append(replace(entry, score_change=change, helps=has_lower_score and keeps_words))
    return entries


def recommend_language_method(comparisons: Sequence[LanguageModelComparison]) -> str | None:
    """The method that lowers the score most, of those that cost little; None if there is none."""
    candidates = [
        entry
        for entry in comparisons
        if entry.helps
        and (entry.perplexity_change.value or 0) <= MOST_PERPLEXITY_RISE
        and (entry.capitals_change.value or 0) >= -MOST_CAPITALS_LOST
    ]
    return min(candidates, key=lambda entry: entry.score_change.value or 0).method if candidates else None
