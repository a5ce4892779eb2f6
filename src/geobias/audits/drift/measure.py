"""From the model's answers before the training and after every epoch to every number of a drift audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from geobias.audits.drift.corpus import TextCorpus, ToxicCorpus
from geobias.audits.drift.design import DriftDesign
from geobias.audits.drift.result import (
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
from geobias.measures.region_intervals import find_affordable, jackknife_regions
from geobias.models.language.masked import MaskedLM
from geobias.report.results import Interval, number

FEWEST_EPOCHS = 3  # points between which an order can be seen


@dataclass(frozen=True)
class DriftAnswers:
    """A training: the answers before and after it, and the scores after every epoch in between."""

    before: RegionsAnswers
    after: RegionsAnswers
    epochs: list[EpochScores]  # without epoch 0
    corpus: ToxicCorpus | TextCorpus
    trained_model: MaskedLM = field(repr=False)
    work: dict[str, int]


def measure_drift(design: DriftDesign, answers: DriftAnswers) -> DriftResult:
    before, corpus = answers.before, answers.corpus
    epochs = [EpochScores(0, None, measure_scores(design, before)), *answers.epochs]
    has_intervals = find_affordable(before.likelihoods, design.regions.tree.children).scores
    differences = {
        form: _differences(design, form, before, answers.after, has_intervals=has_intervals)
        for form in ("balanced", "paper")
    }
    return DriftResult(
        settings=design.settings_for(before.model.name),
        model=before.model,
        counts=DriftCounts(**vars(before.counts), **corpus.counts),
        epochs=epochs,
        inference=DriftInference(
            regions=[
                RegionTrend(
                    region.id,
                    region.name,
                    balanced=Trend(
                        _spearman([epoch.regions[k].balanced.value for epoch in epochs]), differences["balanced"].at(k)
                    ),
                    paper=Trend(
                        _spearman([epoch.regions[k].paper.value for epoch in epochs]), differences["paper"].at(k)
                    ),
                )
                for k, region in enumerate(epochs[0].regions)
            ],
            words_left_out=len(design.regions.words) if has_intervals else 0,
        ),
        work=answers.work,
        corpus=corpus.sentences if isinstance(corpus, ToxicCorpus) else [],
        trained_model=answers.trained_model,
    )


def measure_scores(design: DriftDesign, answers: RegionsAnswers) -> list[RegionScore]:
    """C_w of the regions that are followed, with intervals over words where they can be had."""
    tree = design.regions.tree
    jackknife = jackknife_regions(answers.likelihoods, answers.name_likelihoods, tree.children, flat=False)

    def estimate(form: str) -> Estimates:
        name = f"c_w.{form}"
        if name in jackknife:
            return jackknife[name].estimates(name, len(tree))
        return Estimates.unknown(_scores_by_template(design, answers, form).mean(axis=0))

    balanced, paper = estimate("balanced"), estimate("paper")
    return [
        RegionScore(region.id, region.name, region.level, _interval(balanced, row), _interval(paper, row))
        for row, region in ((row, tree.regions[row]) for row in design.rows)
    ]


def _interval(estimates: Estimates, row: int) -> Interval:
    estimate = estimates.at(row)
    return Interval(estimate.value, estimate.low, estimate.high)


def _scores_by_template(
    design: DriftDesign, answers: RegionsAnswers, form: str, words: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """templates x regions: C_w, from some of the words."""
    children = design.regions.tree.children
    vectors = (descriptive_vectors(likelihoods[:, words]) for likelihoods in answers.likelihoods)
    return np.array([herb_scores(each, answers.name_likelihoods, children).c_w[form] for each in vectors])


def _spearman(scores: Sequence[float | None]) -> float | None:
    """Spearman's correlation of a score with the epoch."""
    if len(scores) < FEWEST_EPOCHS or len(set(scores)) == 1:
        return None
    return number(np.float64(stats.spearmanr(np.arange(len(scores)), np.array(scores, dtype=float)).statistic))


def _differences(
    design: DriftDesign, form: str, before: RegionsAnswers, after: RegionsAnswers, *, has_intervals: bool
) -> Estimates:
    """C_w after the training minus before, on the same words."""

    def measure(words: np.ndarray) -> np.ndarray:
        """templates x (before, after) x regions."""
        scores = [_scores_by_template(design, answers, form, words)[:, design.rows] for answers in (before, after)]
        return np.stack(scores, axis=1)

    words = np.arange(len(design.regions.words))
    if not has_intervals:
        first, last = measure(words).mean(axis=0)
        return Estimates.unknown(last - first)
    return word_differences(measure, len(words)).difference
