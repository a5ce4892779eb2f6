"""The countries of a regions run on the page: distances and their tests, artefacts, and the order of blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geobias.audits.pages import read_run
from geobias.audits.regions.charts import draw_continents
from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.rows import NameCorrelation, Placebo, RegionScores
from geobias.audits.regions.tables import describe_artefact, is_artefact
from geobias.audits.reports import make_section
from geobias.measures.estimates import NO_ESTIMATE, Estimate
from geobias.measures.word_jackknife import estimate_centroid_distances
from geobias.report.page.blocks import Table, WorldMap
from geobias.report.page.charts import DotPlot
from geobias.report.runs import FinishedRun
from tests.audits.gate.results import region_scores
from tests.report.pages import COUNTRIES, regions_run

Run = FinishedRun[RegionsResult]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun[RegionsResult]:
    folder: Path = tmp_path_factory.mktemp("map") / "run"
    regions_run(folder)
    run: FinishedRun[RegionsResult] = read_run(folder)
    return replace(run, result=replace(run.result, association=None, placebo=None))


def find(run: Run, key: str) -> Any:
    return next(block for block in make_section(run, "regions").blocks if block.id == f"regions-{key}")


def tokens_correlation(value: float, p_adjusted: float) -> NameCorrelation:
    estimate = Estimate(value, value - 0.1, value + 0.1, p_adjusted, p_adjusted)
    return NameCorrelation("country", 200, "tokens", estimate)


def placebo(ratio: float) -> Placebo:
    return Placebo("country", ["Abia"], None, None, NO_ESTIMATE, NO_ESTIMATE, replace(NO_ESTIMATE, value=ratio))


def test_distances_have_intervals_and_the_table_ranks_them(run: FinishedRun[RegionsResult]) -> None:
    distance, cities = find(run, "map").measures
    assert set(distance.estimates) == set(cities.estimates) == set(COUNTRIES)
    for estimate in distance.estimates.values():
        assert estimate.low is not None and estimate.high is not None and estimate.value is not None
        assert estimate.low <= estimate.value <= estimate.high  # seven words: no test
        assert estimate.p_adjusted is None
    rows = find(run, "countries").rows
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, 8)]
    values = [float(row["distance\n(HERB)"]) for row in rows]
    assert values == sorted(values, reverse=True) and "cities: C_w" in rows[0]


def test_a_planted_country_stands_out_and_noise_does_not() -> None:
    """Forty countries of two continents."""
    siblings, false_positives = [np.arange(0, 40, 2), np.arange(1, 40, 2)], 0
    for seed in range(5):
        noise = np.random.default_rng(seed)
        likelihoods = -3 + noise.normal(0, 0.3, (2, 40, 112))
        null = estimate_centroid_distances(likelihoods, siblings)
        assert not np.isnan(null.p_adjusted).any()
        false_positives += int((null.p_adjusted < 0.05).sum())
        likelihoods[:, 0] += noise.normal(0, 1.5, 112)  # other words than of its neighbours
        planted = estimate_centroid_distances(likelihoods, siblings)
        assert planted.p_adjusted[0] < 0.05 and planted.value.argmax() == 0
    assert false_positives <= 2  # of 200


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tokenisation": [tokens_correlation(0.62, 0.001)]}, "Spearman +0.62"),
        ({"tokenisation": [tokens_correlation(-0.5, 0.049)]}, "Spearman -0.50"),
        ({"tokenisation": [tokens_correlation(0.49, 0.001)]}, None),
        ({"tokenisation": [tokens_correlation(0.8, 0.05)]}, None),
        ({"placebo": placebo(0.9)}, "Invented places lie 0.90 times as far apart"),
        ({"placebo": placebo(0.89)}, None),
        ({}, None),
    ],
)
def test_what_counts_as_an_artefact(
    run: FinishedRun[RegionsResult], changes: dict[str, object], expected: str | None
) -> None:
    result = replace(run.result, **changes)  # type: ignore[arg-type]
    assert is_artefact(result) == (expected is not None)
    assert (expected or "") in describe_artefact(result)
    assert bool(describe_artefact(result)) == is_artefact(result)


def test_intervals_come_first_and_an_artefact_moves_the_map_down(run: Run) -> None:
    def list_ids(run: Run) -> list[str]:
        return [block.id.removeprefix("regions-") for block in make_section(run, "regions").blocks]

    assert list_ids(run)[:2] == ["continents-balanced-choice", "map"]
    artefact = replace(run, result=replace(run.result, tokenisation=[tokens_correlation(0.7, 0.001)]))
    assert list_ids(artefact) == ["continents-balanced-choice", "names", "map", "countries"]
    world, table = make_section(artefact, "regions").blocks[-2:]
    assert isinstance(world, WorldMap) and "artefact" in world.caution
    assert isinstance(table, Table)


def test_random_sets_in_words(run: Run) -> None:
    def compare(ratio: float, p: float | None, name: str = "Asia") -> RegionScores:
        region = region_scores("C", name, "continent", 0, 0.1 * ratio)
        return replace(region, random_mean=0.1, c_w_balanced=Estimate(0.1 * ratio, None, None, p, p))

    whole, country = region_scores("E", "Earth", "earth", None, 0.1), region_scores("K", "Kenya", "country", 1, 0.1)
    for scores, title in (
        ([compare(1.0, 0.5), compare(1.1, 0.2, "Africa")], "In none of 2 regions do the countries differ more"),
        ([compare(0.7, 0.01), compare(1.3, 0.02, "Africa")], "more alike than random sets in Asia, and less alike"),
        ([compare(1.3, None)], "(not tested)"),
    ):
        regions = [whole, *scores, replace(country, parent_index=len(scores), children=0)]
        (block,) = draw_continents(replace(run.result, regions=regions), is_artefact=False)
        chart = block.charts["balanced"]
        assert title in chart.title
        assert "Earth" not in str(chart.rows) and chart.rows[0]["random_sets"] == 0.1
        assert isinstance(chart.picture, DotPlot) and chart.picture.tick == "random_sets"
