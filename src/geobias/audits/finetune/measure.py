"""From the classifiers' probabilities to every number of a finetune audit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from scipy import stats

from geobias.audits.downstream.result import Predictions
from geobias.audits.finetune.design import FinetuneDesign
from geobias.audits.finetune.result import (
    ALL,
    ANY,
    Correlation,
    FinetunedModel,
    FinetuneResult,
    Flips,
    RankCorrelation,
)
from geobias.measures.bootstrap import bootstrap_means
from geobias.measures.estimates import CONFIDENCE_LEVEL, Estimate, Estimates
from geobias.measures.shift import flip_shares
from geobias.report.results import Interval, number

FEWEST_RANKED = 3  # models


def measure_finetune(design: FinetuneDesign, fine_tuned: list[FinetunedModel]) -> FinetuneResult:
    models = [entry.model for entry in fine_tuned]
    return FinetuneResult(
        settings=design.settings_for([model.name for model in models]),
        models=models,
        counts=design.counts,
        labels=design.settings.labels,
        fine_tuned=fine_tuned,
        rank_correlation=rank_correlation(fine_tuned),
        work={"models": len(models)},
    )


def measure_flips_by_regions(design: FinetuneDesign, predictions: Predictions) -> dict[str, Flips]:
    """The flips of all countries, then without each country that is left out."""
    original, regions = predictions.original, predictions.prefixed[:, 1:]
    flips = {ALL: measure_flips(original, regions, predictions.labels)}
    codes = [place.id for place in design.downstream.places]
    for code in design.settings.without if len(codes) > 1 else ():
        others = np.delete(regions, codes.index(code), axis=1)
        flips[f"without {code}"] = measure_flips(original, others, predictions.labels)
    return flips


def measure_flips(before: np.ndarray, after: np.ndarray, labels: Sequence[str]) -> Flips:
    """Per cent of texts x prefixes whose label flips: altogether, and from each class to each other."""
    shares = 100 * flip_shares(before, after)  # texts x classes x classes
    texts = len(shares)
    flips = {ANY: share_interval(bootstrap_means(shares.sum(axis=(1, 2))[:, None]), 0, texts=texts)}
    by_direction = bootstrap_means(shares.reshape(texts, -1))
    for position, (source, target) in enumerate(product(labels, labels)):
        if source != target:
            flips[f"{source} to {target}"] = share_interval(by_direction, position, texts=texts)
    return flips


def measure_flips_against_control(before: np.ndarray, after: np.ndarray) -> Estimate:
    """All flips of countries minus those of the control, in percentage points; interval and test over texts.

    `after` is texts x (control, then countries) x classes. Where few texts differ, resampling is too certain: p is
    never below that of a sign test of those texts.
    """
    control, countries = (100 * flip_shares(before, part).sum(axis=(1, 2)) for part in (after[:, :1], after[:, 1:]))
    differences = countries - control
    estimate = bootstrap_means(differences[:, None]).at(0)
    if estimate.p is None:
        return estimate
    p = max(estimate.p, min(1.0, 2 * 0.5 ** np.count_nonzero(differences)))
    return replace(estimate, p=p, p_adjusted=p)


def share_interval(estimates: Estimates, position: int, *, texts: int) -> Interval:
    """The interval of a share in per cent, which cannot fall below 0.

    Where no text flips, resampling shows no variance: the upper bound is then the exact binomial one.
    """
    value, low, high = (array[position] for array in (estimates.value, estimates.low, estimates.high))
    if value == 0:
        high = np.float64(100 * (1 - ((1 - CONFIDENCE_LEVEL) / 2) ** (1 / texts)))
    return Interval(number(value), number(np.maximum(low, 0)), number(high))


def rank_correlation(entries: Sequence[FinetunedModel]) -> RankCorrelation | None:
    """Spearman's correlation of C_w with all flips, over the models; None with fewer than three models.

    Where all models have the same score, or flip equally many labels, there is no order, and no number.
    """
    scores = [
        (entry.herb.c_w.balanced, entry.herb.c_w.paper, entry.flips[ALL][ANY].value) for entry in entries if entry.herb
    ]
    if len(scores) < FEWEST_RANKED:
        return None
    balanced, paper, flips = zip(*scores, strict=True)
    return RankCorrelation(len(scores), _spearman(balanced, flips), _spearman(paper, flips))


def _spearman(scores: Sequence[float | None], flips: Sequence[float | None]) -> Correlation:
    with warnings.catch_warnings(action="ignore", category=stats.ConstantInputWarning):
        test = stats.spearmanr(np.array(scores, dtype=float), np.array(flips, dtype=float))
    return Correlation(number(np.float64(test.statistic)), number(np.float64(test.pvalue)))
