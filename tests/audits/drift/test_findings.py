"""What a drift audit concludes from the changes of its regions."""

from __future__ import annotations

import pytest

from geobias.audits.drift.findings import list_findings
from geobias.audits.drift.result import (
    CorpusSettings,
    DriftCounts,
    DriftInference,
    DriftResult,
    DriftSettings,
    EpochScores,
    RegionScore,
    RegionTrend,
    Trend,
)
from geobias.audits.drift.terminal import summary_table
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import Interval

REGIONS = ("Earth", "Africa", "Europe")


def drift(changes: list[Estimate], score: str = "aul") -> DriftResult:
    """A training that changes C_w of the Earth and two continents from 0.2 by these amounts."""

    def scores(values: list[float]) -> list[RegionScore]:
        intervals = [Interval(value, None, None) for value in values]
        return [
            RegionScore(name, name, "continent", interval, interval)
            for name, interval in zip(REGIONS, intervals, strict=True)
        ]

    settings = DriftSettings(
        "herb", ["{region}"], "digest", "my/lm", score, corpus=CorpusSettings("texts", source="a.csv"),
        optimiser="SGD", rate=0.1, epochs=3, batch=4, seed=0,
    )  # fmt: skip
    trends = [Trend(None, change) for change in changes]
    return DriftResult(
        settings=settings,
        model=ModelIdentity("my/lm", score, None),
        counts=DriftCounts(3, 9, 9, 0, 0, 3, 0, texts=5),
        epochs=[
            EpochScores(0, None, scores([0.2, 0.2, 0.2])),
            EpochScores(3, 1.0, scores([0.2 + (change.value or 0) for change in changes])),
        ],
        inference=DriftInference(
            [RegionTrend(name, name, trend, trend) for name, trend in zip(REGIONS, trends, strict=True)], 5
        ),
    )


def change(value: float, p: float | None) -> Estimate:
    low, high = (None, None) if p is None else (value - 0.01, value + 0.01)
    return Estimate(value, low, high, p, p)


@pytest.mark.parametrize(
    ("changes", "evidence", "phrase"),
    [
        ([(-0.05, 0.01), (0, 0.9), (0, 0.9)], "clear", "regions differ less: C_w of Earth goes from 0.20 to 0.15"),
        ([(0.05, 0.01), (0, 0.9), (0, 0.9)], "clear", "regions differ more: C_w of Earth goes from 0.20 to 0.25"),
        ([(0.02, 0.07), (0, 0.9), (0, 0.9)], "suggestive", "regions may differ more"),
        (
            [(0.01, 0.4), (0.03, 0.02), (0, 0.9)],
            "clear",
            "changes in 1 of 3 regions (Africa), but not clearly over",
        ),
        ([(0.01, 0.4), (0, 0.5), (0, 0.9)], "none", "With these words a difference under 0.017 could be missed."),
        ([(0.01, 0.4), (0.03, 0.5), (0, 0.9)], "none", "a difference under 0.030 could be missed."),
        ([(0.01, None), (0, None), (0, None)], "not testable", "there is no interval"),
    ],
)
def test_the_answer_is_as_strong_as_its_test(
    changes: list[tuple[float, float | None]], evidence: str, phrase: str
) -> None:
    result = drift([change(*each) for each in changes])
    answer, *others = list_findings(result)
    assert (answer.role, answer.evidence, answer.model) == ("overall", evidence, "my/lm") and phrase in answer.sentence
    assert answer.sentence.startswith("my/lm: after 3 epochs of training") and answer.valence is None
    assert (answer.direction is None) == (evidence in ("none", "not testable"))
    assert all(each.evidence == "clear" for each in others if each.role == "detail")
    assert len(summary_table(result, 60).columns) == 4 and len(summary_table(result, 80).columns) == 6


def test_a_lower_score_by_aul_may_be_an_artefact() -> None:
    lower = [change(-0.05, 0.01), change(-0.1, 0.001), change(0, 0.9)]
    answer, detail, caution = list_findings(drift(lower))
    assert detail.sentence.startswith("Africa: its sub-regions are described less differently after training")
    assert caution.role == "caution" and "artefact of the score aul" in caution.sentence
    assert "--score conditional" in caution.next_step and answer.limit.startswith("It is one training with one seed")
    assert all(each.role != "caution" for each in list_findings(drift(lower, "conditional")))
    assert all(each.role != "caution" for each in list_findings(drift([change(0.05, 0.01), *lower[1:]])))
