"""From the classifiers' probabilities to every number of a finetune audit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import stats

from geobias.audits.finetune.design import FinetuneDesign
from geobias.audits.finetune.result import (
    ALL,
    ANY,
    Correlation,
    FinetunedModel,
    FinetuneResult,
    Flips,
    HerbScore,
    RankCorrelation,
    TrainedModel,
)
from geobias.audits.regions.result import RegionsResult
from geobias.measures.bootstrap import bootstrap_means
from geobias.measures.estimates import CONFIDENCE_LEVEL, Estimates
from geobias.measures.shift import flip_shares
from geobias.report.results import Interval, number

FEWEST_RANKED = 3  # models


def measure_finetune(design: FinetuneDesign, trained: Sequence[TrainedModel]) -> FinetuneResult:
    fine_tuned = [_measure_model(design, model) for model in trained]
    models = [entry.model for entry in fine_tuned]
    return FinetuneResult(
        settings=design.settings_for([model.name for model in models]),
        models=models,
        counts=design.counts,
        labels=list(design.labels),
        fine_tuned=fine_tuned,
        rank_correlation=rank_correlation(fine_tuned),
        work={"models": len(models)},
        trained=tuple(trained),
    )


def _measure_model(design: FinetuneDesign, trained: TrainedModel) -> FinetunedModel:
    (predictions,), (classifier,) = trained.downstream.predictions, trained.downstream.classifiers
    codes = [place.id for place in design.downstream.places]
    original, control, regions = predictions.original, predictions.prefixed[:, :1], predictions.prefixed[:, 1:]
    assert classifier.performance is not None  # the test texts are labelled
    flips = {ALL: measure_flips(original, regions, design.labels)}
    for code in design.without if len(codes) > 1 else ():
        others = np.delete(regions, codes.index(code), axis=1)
        flips[f"without {code}"] = measure_flips(original, others, design.labels)
    return FinetunedModel(
        model=trained.model,
        herb=None if trained.regions is None else _herb_score(trained.regions),
        without_score=trained.without_score,
        performance=classifier.performance,
        epochs=trained.epochs,
        best_epoch=trained.best_epoch,
        flips=flips,
        control=measure_flips(original, control, design.labels),
    )


def _herb_score(result: RegionsResult) -> HerbScore:
    region = next(region for region in result.regions if region.pairs)
    assert region.inference is not None  # every region with a pair has it
    return HerbScore(region.name, region.c_w, region.inference.c_w)


def measure_flips(before: np.ndarray, after: np.ndarray, labels: Sequence[str]) -> Flips:
    """Per cent of texts x prefixes whose label flips: altogether, and from each class to each other."""
    shares = 100 * flip_shares(before, after)  # texts x classes x classes
    texts = len(shares)
    flips = {ANY: share_interval(bootstrap_means(shares.sum(axis=(1, 2))[:, None]), 0, texts=texts)}
    by_direction = bootstrap_means(shares.reshape(texts, -1))
    for i, j in np.ndindex(len(labels), len(labels)):
        if i != j:
            interval = share_interval(by_direction, i * len(labels) + j, texts=texts)
            flips[f"{labels[i]} to {labels[j]}"] = interval
    return flips


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
    scores = [(entry.herb.c_w, entry.flips[ALL][ANY].value) for entry in entries if entry.herb is not None]
    if len(scores) < FEWEST_RANKED:
        return None
    flips = [value for _, value in scores]
    return RankCorrelation(
        models=len(scores),
        balanced=_spearman([c_w.balanced for c_w, _ in scores], flips),
        paper=_spearman([c_w.paper for c_w, _ in scores], flips),
    )


def _spearman(scores: Sequence[float | None], flips: Sequence[float | None]) -> Correlation:
    with warnings.catch_warnings(action="ignore", category=stats.ConstantInputWarning):
        test = stats.spearmanr(np.array(scores, dtype=float), np.array(flips, dtype=float))
    return Correlation(number(np.float64(test.statistic)), number(np.float64(test.pvalue)))
