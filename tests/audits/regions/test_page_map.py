"""The countries of a regions run on the page: distances and their tests, artefacts, and the order of blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from geobias.audits.pages import read_run
from geobias.audits.regions.caution import describe_artefact, is_artefact
from geobias.audits.regions.country_distances import measure_country_distances
from geobias.audits.regions.files import read_likelihoods
from geobias.audits.regions.page import section
from geobias.audits.regions.page_continents import continent_chart
from geobias.audits.regions.page_map import country_blocks, relative_likelihoods
from geobias.audits.regions.records import Placebo, RegionNull, RegionScores, Score, Tokenisation
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Chart, Table, WorldMap
from geobias.report.runs import FinishedRun
from tests.report.pages import COUNTRIES, WORDS, regions_run

UNKNOWN = Estimate(None, None, None, None, None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun[RegionsResult]:
    folder: Path = tmp_path_factory.mktemp("map") / "run"
    regions_run(folder)
    run: FinishedRun[RegionsResult] = read_run(folder, ["regions"])
    return replace(run, result=replace(run.result, association=None, placebo=None))  # as older runs are


def region(row: int, parent: int | None, **changes: object) -> RegionScores:
    level = "earth" if parent is None else "country" if parent else "continent"
    scores = Score(0.1, 0.1)
    leaf = RegionScores(f"C{row}", f"Country {row}", level, None, parent, 0, 0, True, scores, scores)
    return replace(leaf, **changes)  # type: ignore[arg-type]


def countries(run: FinishedRun[RegionsResult], count: int) -> RegionsResult:
    """A result of two continents with so many countries each."""
    tree = [region(0, None), region(1, 0), region(2, 0)]
    return replace(run.result, regions=tree + [region(3 + k, 1 + k % 2) for k in range(2 * count)])


def tokens_correlation(value: float, p_adjusted: float) -> Tokenisation:
    estimate = Estimate(value, value - 0.1, value + 0.1, p_adjusted, p_adjusted)
    return Tokenisation("country", 200, estimate, None, None)


def placebo(ratio: float) -> Placebo:
    return Placebo("country", ["Abia"], None, None, None, UNKNOWN, UNKNOWN, Estimate(ratio, None, None, None, None))


def test_relative_likelihoods_by_hand() -> None:
    """Minus the mean of each word over countries, then minus the mean of that over the words."""
    relative = relative_likelihoods(np.array([[-3.0, -1.0], [0.0, 0.0], [np.nan, -2.0]]))
    words = np.array([-1.5, -1.0])  # the means over countries, without the unknown
    for country, likelihoods in enumerate(([-3.0, -1.0], [0.0, 0.0])):
        against_others = np.array(likelihoods) - words
        assert relative[country] == pytest.approx(against_others - against_others.mean())
    assert np.isnan(relative[2]).all()


def test_the_map_lists_the_words_that_stand_out(run: FinishedRun[RegionsResult]) -> None:
    blocks = country_blocks(run, "regions")
    assert blocks and blocks.world.words
    words = blocks.world.words
    assert words["names"] == [name for topic in WORDS.values() for name in topic]
    f, _ = read_likelihoods(run)
    rows = {region.id: row for row, region in enumerate(run.result.regions) if region.level == "country"}
    relative = relative_likelihoods(f[0, list(rows.values())])
    for country, code in enumerate(rows):
        salient = words["salient"][code]
        assert [k for k, _ in salient["likelier"]] == [
            k for k in np.argsort(-relative[country]) if relative[country, k] > 0
        ][:6]
        assert all(
            value == pytest.approx(relative[country, k], abs=1e-4) for side in salient.values() for k, value in side
        )
    topic = words["topics"][0]
    assert topic["words"] == [0, 1, 2]
    assert topic["values"]["FR"] == pytest.approx(f[0, rows["FR"], :3].mean(), abs=1e-4)


def test_distances_have_intervals_and_the_table_ranks_them(run: FinishedRun[RegionsResult]) -> None:
    blocks = country_blocks(run, "regions")
    assert blocks and blocks.table
    distance, cities = blocks.world.measures
    assert set(distance.estimates) == set(cities.estimates) == set(COUNTRIES)
    for estimate in distance.estimates.values():
        assert estimate.low is not None and estimate.high is not None and estimate.value is not None
        assert estimate.low <= estimate.value <= estimate.high  # seven words: no test
        assert estimate.p_adjusted is None
    rows = blocks.table.rows
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, 8)]
    values = [float(row["distance"]) for row in rows]
    assert values == sorted(values, reverse=True) and "cities: C_w" in rows[0]


def test_a_planted_country_stands_out_and_noise_does_not(run: FinishedRun[RegionsResult]) -> None:
    result, rows = countries(run, 20), slice(3, None)
    false_positives = 0
    for seed in range(5):
        noise = np.random.default_rng(seed)
        likelihoods = -3 + noise.normal(0, 0.3, (2, 43, 112))
        null = measure_country_distances(result, likelihoods)
        assert null and np.isnan(null.against_mean.p_adjusted).sum() == 0
        false_positives += int((null.against_mean.p_adjusted < 0.05).sum())
        likelihoods[:, 3] += noise.normal(0, 1.5, 112)  # other words than of its neighbours
        planted = measure_country_distances(result, likelihoods)
        assert planted and planted.list_estimates()["C3"].p_adjusted < 0.05  # type: ignore[operator]
        assert planted.distances.value.argmax() == 0 and len(planted.codes) == len(result.regions[rows])
    assert false_positives <= 2  # of 200


def test_too_few_words_and_lonely_countries_have_no_test(run: FinishedRun[RegionsResult]) -> None:
    result = countries(run, 3)
    likelihoods = np.random.default_rng(0).normal(-3, 0.3, (1, 9, 4))
    few = measure_country_distances(result, likelihoods)
    assert few and np.isnan(few.distances.low).all() and np.isnan(few.against_mean.p_adjusted).all()
    assert measure_country_distances(countries(run, 1), likelihoods) is None


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


def test_intervals_come_first_and_an_artefact_moves_the_map_down(run: FinishedRun[RegionsResult]) -> None:
    def list_ids(run: FinishedRun[RegionsResult]) -> list[str]:
        return [block.id for block in section(run, "regions").blocks]

    assert list_ids(run)[:2] == ["regions-form", "regions-map"]
    artefact = replace(run, result=replace(run.result, tokenisation=[tokens_correlation(0.7, 0.001)]))
    blocks = section(artefact, "regions").blocks
    assert list_ids(artefact)[0] == "regions-form" and [block.id for block in blocks[-3:]] == [
        "regions-names",
        "regions-map",
        "regions-countries",
    ]
    world, table = blocks[-2:]
    assert isinstance(world, WorldMap) and not world.is_hero and "artefact" in world.caution
    assert isinstance(table, Table)


def test_random_sets_in_words(run: FinishedRun[RegionsResult]) -> None:
    def compared(ratio: float, p: float | None, name: str = "Asia") -> RegionScores:
        null = RegionNull(0.1, ratio, p, p, ratio > 1)
        return region(1, 0, name=name, children=3, pairs=3, c_w=Score(0.1 * ratio, 0.1), null=null)

    whole = region(0, None, name="Earth", children=2, pairs=1)
    for scores, title in (
        ([compared(1.0, 0.5), compared(1.1, 0.2, "Africa")], "In none of 2 regions do the countries differ more"),
        ([compared(0.7, 0.01), compared(1.3, 0.02, "Africa")], "more alike than random sets in Asia, and less alike"),
        ([compared(1.3, None)], "(not tested)"),
    ):
        chart = continent_chart("regions", [whole, *scores], "country").options["balanced"]
        assert isinstance(chart, Chart) and title in chart.title
        assert "Earth" not in str(chart.rows) and chart.rows[0]["random_sets"] == 0.1
        assert any(layer["encoding"]["x"].get("field") == "random_sets" for layer in chart.spec["layer"])
