"""From the model's answers before the training and after every epoch to every number of a drift audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from geobias.audits.drift.corpus import Corpus
from geobias.audits.drift.design import DriftDesign
from geobias.audits.drift.result import (
    FORMS,
    DriftCounts,
    DriftInference,
    DriftResult,
    EpochScores,
    RegionScore,
    RegionTrend,
    Trend,
)
from geobias.audits.regions.answers import RegionsAnswers
from geobias.measures.estimates import Estimates
from geobias.measures.herb import descriptive_vectors, herb_scores
from geobias.measures.paired_differences import word_differences
from geobias.measures.ranks import rank_correlation
from geobias.measures.region_intervals import find_affordable, jackknife_regions
from geobias.models.language.masked import MaskedLM
from geobias.report.results import Interval


@dataclass(frozen=True)
class DriftAnswers:
    """A training: the answers before and after it, and the scores after every epoch in between."""

    before: RegionsAnswers
    after: RegionsAnswers
    epochs: list[EpochScores]  # without epoch 0
    corpus: Corpus
    trained_model: MaskedLM = field(repr=False)
    work: dict[str, int]


def measure_drift(design: DriftDesign, answers: DriftAnswers) -> DriftResult:
    before, corpus = answers.before, answers.corpus
    epochs = [EpochScores(0, None, measure_scores(design, before)), *answers.epochs]
    has_intervals = find_affordable(before.likelihoods, design.regions.tree.children).scores
    trends = [_measure_trends(design, form, answers, epochs, has_intervals=has_intervals) for form in FORMS]
    return DriftResult(
        settings=design.settings_for(before.model.name),
        model=before.model,
        counts=DriftCounts(**vars(before.counts), **corpus.counts),
        epochs=epochs,
        inference=DriftInference(
            regions=[
                RegionTrend(region.id, region.name, *by_form)
                for region, *by_form in zip(epochs[0].regions, *trends, strict=True)
            ],
            words_left_out=len(design.regions.words) if has_intervals else 0,
        ),
        work=answers.work,
        corpus=corpus.sentences,
        trained_model=answers.trained_model,
    )


def measure_scores(design: DriftDesign, answers: RegionsAnswers) -> list[RegionScore]:
    """C_w of the regions that are followed, with intervals over words where they can be had."""
    tree = design.regions.tree
    jackknife = jackknife_regions(answers.likelihoods, answers.name_likelihoods, tree.children, flat=False)
    estimates = {
        form: jackknife[f"c_w.{form}"].estimates(f"c_w.{form}", len(tree))
        if f"c_w.{form}" in jackknife
        else Estimates.unknown(_scores_by_template(design, answers, form).mean(axis=0))
        for form in FORMS
    }

    def interval(form: str, row: int) -> Interval:
        estimate = estimates[form].at(row)
        return Interval(estimate.value, estimate.low, estimate.high)

    return [
        RegionScore(region.id, region.name, region.level, **{form: interval(form, row) for form in FORMS})
        for row, region in ((row, tree.regions[row]) for row in design.rows)
    ]


def _scores_by_template(
    design: DriftDesign, answers: RegionsAnswers, form: str, words: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """templates x regions: C_w, from some of the words."""
    children = design.regions.tree.children
    vectors = (descriptive_vectors(likelihoods[:, words]) for likelihoods in answers.likelihoods)
    return np.array([herb_scores(each, answers.name_likelihoods, children).c_w[form] for each in vectors])


def _measure_trends(
    design: DriftDesign, form: str, answers: DriftAnswers, epochs: Sequence[EpochScores], *, has_intervals: bool
) -> list[Trend]:
    """For each region that is followed, C_w after the training minus before, on the same words."""

    def measure(words: np.ndarray) -> np.ndarray:
        """templates x (before, after) x regions."""
        states = (answers.before, answers.after)
        return np.stack([_scores_by_template(design, state, form, words)[:, design.rows] for state in states], axis=1)

    words = np.arange(len(design.regions.words))
    if has_intervals:
        differences = word_differences(measure, len(words)).difference
    else:
        first, last = measure(words).mean(axis=0)
        differences = Estimates.unknown(last - first)
    scores = np.array([[getattr(region, form).value for region in epoch.regions] for epoch in epochs], dtype=float)
    numbers = np.arange(len(epochs))
    return [Trend(rank_correlation(numbers, column), differences.at(k)) for k, column in enumerate(scores.T)]
