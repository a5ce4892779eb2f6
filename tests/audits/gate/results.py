"""Small results of every audit that a gate reads, with numbers that are easy to follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geobias.audits.downstream.result import (
    ClassifierReading,
    DownstreamCounts,
    DownstreamResult,
    DownstreamSettings,
    PrefixEffect,
)
from geobias.audits.inputs import TextsSettings
from geobias.audits.names import result as names
from geobias.audits.names.result import NamesCounts, NamesResult, NamesSettings
from geobias.audits.names.rows import ClassEffect, DeltaEffect
from geobias.audits.regions.answers import RegionsCounts
from geobias.audits.regions.result import RegionsResult, RegionsSettings
from geobias.audits.regions.rows import RegionScores
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import Evidence, Finding
from geobias.report.results import AuditResult, Interval, to_json
from geobias.report.rows import Farthest
from geobias.report.runs import RunDescription
from tests.conftest import sign_results

TEXTS = TextsSettings("texts.csv", 10, "digest")
WORST = Interval(-1.5, 0.2, 2.9)  # of the United Kingdom


def estimate(value: float | None, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, low, high, None, None)


UNITED_KINGDOM, FRANCE = estimate(-1.5, -2.5, -0.5), estimate(0.75)


def names_result(
    classifiers: Sequence[str] = ("embedded/sentiment", "my/model.v2"),
    worst: Interval | None = WORST,
    deltas: tuple[Estimate, Estimate] = (UNITED_KINGDOM, FRANCE),
) -> NamesResult:
    """Two countries; the delta of the first has an interval, that of the second none."""
    settings = NamesSettings(
        texts=TEXTS,
        finder="given spans",
        mentions="digest",
        countries=["GB", "FR"],
        draws=5,
        seed=0,
        scripts="latin",
        names="digest",
        positive="by name",
        negative="by name",
        threshold=None,
        perplexity=None,
        perplexity_draws=5,
        names_are="random",
        prompt=None,
        classifiers=list(classifiers),
    )
    places = (("GB", "United Kingdom", deltas[0]), ("FR", "France", deltas[1]))
    return NamesResult(
        settings=settings,
        models=[ModelIdentity(name, "probabilities", None) for name in classifiers],
        counts=NamesCounts(
            texts=10,
            rows_without_text=0,
            texts_with_names=10,
            people=10,
            mentions=10,
            draws=5,
            countries=2,
            countries_left_out=[],
        ),
        classifiers=[
            names.ClassifierReading(
                model=name,
                labels=["sad"],
                multi_label=False,
                threshold=None,
                positive=[],
                negative=["sad"],
                texts_cut=0,
                renamed_texts=100,
                distinct_renamed_texts=100,
                renamed_texts_cut=0,
                notes=[],
            )
            for name in classifiers
        ],
        effects=[_delta(model, *place) for model in classifiers for place in places],
        classes=[_class(model, *place[:2]) for model in classifiers for place in places],
        farthest=[
            Farthest(model=model, label=None, place="United Kingdom", code="GB", **vars(worst))
            for model in classifiers
            if worst
        ],
        name_lists=[],
    )


AGAINST_ORIGINALS = estimate(-9, -9, -9)  # which no rule reads


def _delta(model: str, code: str, name: str, delta: Estimate) -> DeltaEffect:
    return DeltaEffect(
        model=model,
        subset=None,
        place=name,
        code=code,
        label="Δ",
        p_adjusted=None,
        against_mean=delta,
        against_originals=AGAINST_ORIGINALS,
        kl=AGAINST_ORIGINALS,
        kl_from_mean=estimate(0.01, 0.005, 0.02),
        noise_floor=None,
        renamed_texts=50,
    )


def _class(model: str, code: str, name: str) -> ClassEffect:
    return ClassEffect(
        model=model,
        subset=None,
        place=name,
        code=code,
        label="sad",
        p_adjusted=None,
        against_mean=estimate(8.0, -2.0, 18.0),
        against_originals=AGAINST_ORIGINALS,
        renamed_texts=50,
        before=50,
        after=54,
        changed_texts=4,
        changed_texts_from_mean=4,
    )


def regions_result() -> RegionsResult:
    """An id at two levels, and a city, which is a leaf."""
    return RegionsResult(
        settings=RegionsSettings("herb", ["People in {region} are {word}."], "digest", "a/lm", "aul"),
        model=ModelIdentity("a/lm", "aul", None),
        counts=RegionsCounts(4, 336, 336, 0, 0),
        regions=[
            region_scores("Earth", "Earth", "earth", None, 0.1),
            region_scores("NA", "North America", "continent", 0, 0.2),
            region_scores("NA", "Namibia", "country", 1, 0.3),
            region_scores("1", "Windhoek", "city", 2, 0.4),
        ],
        scored_words=[],
        tokenisation=[],
    )


def make_finding(evidence: Evidence, sentence: str, model: str = "embedded/sentiment", **fields: Any) -> Finding:
    """The overall answer of a names audit, unless `fields` say otherwise."""
    defaults = {"role": "overall", "audit": "names", "question": "Do names matter?", "limit": "Small sample."}
    return Finding(**defaults | fields, model=model, evidence=evidence, sentence=sentence, next_step="Add more texts.")


def region_scores(
    key: str, name: str, level: str, parent_index: int | None, value: float, *, has_interval: bool = True
) -> RegionScores:
    """A region whose scores are 0.02 away from the ends of their intervals; a city is a leaf."""
    is_leaf = level == "city"
    balanced, paper = (
        estimate(v, v - 0.02, v + 0.02) if has_interval and not is_leaf else estimate(v) for v in (value, value / 10)
    )
    unknown = "in_sentence parent flat sparseness c_w_balanced_spread random_mean rank influential"
    return RegionScores(
        id=key,
        name=name,
        level=level,
        parent_index=parent_index,
        children=0 if is_leaf else 2,
        c_w_balanced=balanced,
        c_w_paper=paper,
        c_z_balanced=balanced,
        c_z_paper=paper,
        **dict.fromkeys((*unknown.split(), "c_w_without_it", "distance", "association_score")),
    )


def downstream_result() -> DownstreamResult:
    """One country, whose shift of -0.03 has an interval on both sides of 0."""
    model = ModelIdentity("a/b", "probabilities", None)
    reading = ClassifierReading(
        model=model.name,
        labels=["hate"],
        multi_label=False,
        threshold=None,
        shown="hate",
        tone=-1,
        detectable_difference=0.05,
        texts_cut=0,
        prefixed_texts=20,
        distinct_prefixed_texts=20,
        prefixed_texts_cut=0,
        notes=[],
    )
    settings = DownstreamSettings(
        texts=TEXTS,
        prefixes=["From {region}: "],
        controls=["From here: "],
        invented=[],
        regions="countries",
        cities=0,
        continents=[],
        countries=["MX"],
        regions_digest="digest",
        positive="by name",
        threshold=None,
        classifiers=[model.name],
    )
    return DownstreamResult(
        settings=settings,
        models=[model],
        counts=DownstreamCounts(texts=10, rows_without_text=0, places=1, countries_without_city=[]),
        classifiers=[reading],
        effects=[_effect("From here: ", None), _effect("Mexico", "MX", estimate(-0.03, -0.05, 0.01))],
        wording_effects=[],
        name_traits=[],
        farthest=[Farthest(model=model.name, place="Mexico", code="MX", label="hate", value=0.03, low=0.0, high=0.06)],
    )


def _effect(place: str, code: str | None, difference: Estimate | None = None) -> PrefixEffect:
    return PrefixEffect(
        model="a/b",
        place=place,
        code=code,
        country=code,
        in_sentence=place,
        label="hate",
        p_adjusted=difference.p_adjusted if difference else None,
        p_all_tests=difference.p_adjusted if difference else None,
        shared_word=None,
        against_control=difference,
        against_invented=difference,
        against_mean=None,
        mean_difference=estimate(-0.04),
        names_held_fixed=difference,
        mean_before=0.5,
        mean_after=0.46,
        gained=0,
        lost=0,
    )


def save_run(folder: Path, result: AuditResult) -> None:
    """A finished run of a result, as far as a gate reads it."""
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(result.to_dict()), encoding="utf-8")
    description = RunDescription("2026-01-01T00:00:00Z", 1.0, {}, {})
    (folder / "run.json").write_text(json.dumps(to_json(description)), encoding="utf-8")
    sign_results(folder)
