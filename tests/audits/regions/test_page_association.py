"""What the model says of whom, on the page: planted associations are shown, and without any there is a sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from geobias.audits.regions import charts
from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.rows import Association
from geobias.audits.reports import make_section
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Chart, Remark, Table, WorldMap
from geobias.report.page.world_map import MapPicture
from geobias.report.runs import FinishedRun
from tests.audits.regions.association_worlds import COUNTRIES, PLANTED, WORDS, World, world_run

Run = FinishedRun[RegionsResult]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return world_run(tmp_path_factory.mktemp("planted") / "run", PLANTED)


@pytest.fixture(scope="module")
def null(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return world_run(tmp_path_factory.mktemp("null") / "run", World())


@pytest.fixture(scope="module")
def untested(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return world_run(tmp_path_factory.mktemp("untested") / "run", PLANTED, placebo=False)


def find(run: Run, key: str) -> Any:
    """The block with this id, or None."""
    blocks: list[Any] = [*make_section(run, "regions").blocks]
    return next((block for block in blocks if block.id.removesuffix("-0") == f"regions-{key}"), None)


def get_association(run: Run) -> Association:
    assert run.result.association is not None
    return run.result.association


def change_regions(run: Run, change: dict[str, dict[str, Any]], **settings: Any) -> Run:
    """The run with other fields of some regions, by name."""
    result = run.result
    rows = [replace(row, **change.get(row.name, {})) for row in result.region_associations]
    changed = replace(result, region_associations=rows, settings=replace(result.settings, **settings))
    return replace(run, result=changed)


def test_intervals_come_first_then_the_map_then_herb(planted: Run) -> None:
    page = make_section(planted, "regions")
    assert [block.id.removeprefix("regions-") for block in page.blocks][:7] == [
        "signal",
        "valence",
        "by-topic",
        "typical-words",
        "map",
        "content",
        "continents-balanced-choice",
    ]
    assert page.blocks[-1].id == "regions-countries" and "What the model says of whom" in page.lead
    older = replace(planted, result=replace(planted.result, association=None))
    assert find(older, "valence") is None and find(older, "content") is None


def test_the_chart_of_valence_names_who_stands_out(planted: Run) -> None:
    chart = find(planted, "valence")
    assert isinstance(chart, Chart)
    assert chart.title == "world speaks more favourably of Chad, less favourably of Italy than of the average country"
    assert [row["region"] for row in chart.rows if row["marked"]] == ["Chad", "Italy"]
    assert (chart.rows[0]["region"], chart.rows[-1]["region"]) == ("Chad", "Italy")
    assert 0 < chart.rows[0]["low"] < chart.rows[0]["value"] < chart.rows[0]["high"]
    assert len(chart.rows) == 2 + 2 * charts.EXTREMES
    kinds = re.findall(r'<circle[^>]*class="(\w+)"', chart.picture.draw(640).svg)
    assert (kinds[0], kinds[-1]) == ("better", "worse") and set(kinds[1:-1]) == {"open"}
    assert "2 of 12 stand out" in chart.alt


def test_the_heat_map_shows_clear_cells_only(planted: Run) -> None:
    chart = find(planted, "by-topic")
    assert isinstance(chart, Chart)
    cells = chart.rows
    marked = [(row["region"], row["topic"]) for row in cells if row["marked"]]
    assert ("Brazil", "work") in marked and "Brazil work" in chart.alt
    shown = {row["region"] for row in cells}
    assert shown == {region for region, _ in marked} and "Kenya" not in shown
    kinds = re.findall(r'class="(cell[^"]*)"', chart.picture.draw(640).svg)
    assert kinds.count("cell neutral") == len(marked) and set(kinds) <= {"cell", "cell neutral"}  # no topic is better


def test_the_chart_of_words_has_the_planted_ones_and_can_be_hidden(planted: Run) -> None:
    chart = find(planted, "typical-words")
    assert isinstance(chart, Chart) and chart.has_texts
    rows = {row["pair"]: row for row in chart.rows}
    names = list(rows)
    assert (names[0], names[-1]) == ("Kenya: thrifty", "France: nurse")
    assert {name.split(":")[0] for name in names} <= {"Kenya", "France", "Chad", "Italy"}  # whose words are planted
    assert rows["Kenya: thrifty"]["value"] > 4 and rows["France: nurse"]["value"] < 0.3
    estimates = planted.result.all_associations
    row = [region.name for region in planted.result.region_associations].index("Kenya")
    position = [word.word for word in WORDS].index("thrifty")
    assert rows["Kenya: thrifty"]["low"] == pytest.approx(np.exp(estimates.low[row, position]))


def test_without_effects_sentences_stand_in_place_of_charts(null: Run) -> None:
    valence, topics, words = (find(null, key) for key in ("valence", "by-topic", "typical-words"))
    assert isinstance(valence, Chart) and "no country is described clearly more or less favourably" in valence.title
    assert not any(row["marked"] for row in valence.rows)
    assert isinstance(topics, Remark) and isinstance(words, Remark)
    assert "no topic stands out" in topics.title and "None of 420 pairs of country and word" in words.reading
    assert "would probably be missed" in words.reading


def test_without_placebo_nothing_is_called_clear(untested: Run) -> None:
    valence = find(untested, "valence")
    assert isinstance(valence, Chart) and "(not tested)" in valence.title and "--placebo" in valence.reading
    assert find(untested, "by-topic") is None and find(untested, "typical-words") is None
    content = find(untested, "content")
    assert "Ratio to invented places" not in [row["quantity"] for row in content.rows]
    world, table = find(untested, "map"), find(untested, "countries")
    assert all(estimate.p_adjusted is None for k in (0, 1) for estimate in world.measures[k].estimates.values())
    assert all((estimate.value or 0) >= 1 for estimate in world.measures[1].estimates.values())  # of typical words
    assert "*" not in "".join(row["said more often"] for row in table.rows)


def test_of_a_single_sentence_the_page_names_and_denies_no_pair(tmp_path: Any) -> None:
    run = world_run(tmp_path / "run", PLANTED, paraphrases=1)
    assert find(run, "typical-words") is None and "alone" in find(run, "valence").reading


def test_states_come_before_territories_unless_countries_are_chosen(
    planted: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = {"Germany": {"id": "GU", "valence": Estimate(20.0, 15.0, 25.0, 1e-9, 1e-9)}}
    monkeypatch.setattr(charts, "MOST_MARKED", 1)
    for countries, name in (("all", "Italy"), (COUNTRIES, "Germany")):
        run = change_regions(planted, change, countries=countries)
        (chart,) = charts.draw_valence(run.result, get_association(run))
        assert [row["region"] for row in chart.rows if row["marked"]] == [name]
        first, second = ("Chad", "Germany") if countries == "all" else ("Germany", "Chad")
        assert f"more favourably of {first} and {second}" in chart.title
        assert "1 of the 3 that stand out are shown" in chart.reading


def test_regions_of_one_name_have_rows_of_their_own(planted: Run) -> None:
    run = change_regions(planted, {"Italy": {"name": "Chad"}})
    names = [row["region"] for row in find(run, "valence").rows]
    assert names[0] == "Chad (TD)" and names[-1] == "Chad (IT)" and len(set(names)) == len(names)


def test_the_picture_of_the_answer_has_name_and_fame(planted: Run) -> None:
    chart, signal = find(planted, "signal"), get_association(planted).signal
    assert signal and [row["value"] for row in chart.rows] == [
        each.value for each in (signal.beyond_names, signal.beyond_fame) if each and each.value is not None
    ]
    assert f"Fame explains {100 * (signal.fame_share or 0):.0f} %" in chart.reading


def test_the_table_of_content_says_what_each_number_means(planted: Run) -> None:
    table = find(planted, "content")
    assert isinstance(table, Table)
    rows = {row["quantity"]: row for row in table.rows}
    shares = get_association(planted).variance
    assert rows["Variance: the word"]["value (95 % interval)"] == f"{100 * shares.word:.1f} %"
    ratio = get_association(planted).ratio
    assert ratio and rows["Ratio to invented places"]["value (95 % interval)"].startswith(f"{ratio.value:.2f} (")
    assert " nats (" in rows["More than a name"]["value (95 % interval)"] and "More than fame" in rows
    assert rows["Explained by fame"]["value (95 % interval)"].endswith(" %")
    assert "Agreement of paraphrases" in rows and all(row["what it means"].endswith(".") for row in table.rows)


def test_the_map_starts_with_valence_and_herb_comes_last(planted: Run) -> None:
    world = find(planted, "map")
    assert [measure.title for measure in world.measures] == [
        "Favourable words",
        "Strength of associations",
        "Distance from the continent's mean",
    ]
    favourable, strength, distance = world.measures
    assert (favourable.centre, favourable.tone, favourable.is_ratio) == (1, 1, True)
    assert (favourable.estimates["TD"].value or 0) > 3 and (favourable.estimates["IT"].value or 1) < 0.3
    assert max(strength.estimates, key=lambda code: strength.estimates[code].value or 0) in (
        "TD",
        "IT",
        "KE",
        "FR",
        "BR",
    )
    assert strength.estimates["TD"].p_adjusted is not None and strength.estimates["TD"].p_adjusted < 0.05
    assert world.caution == ""
    assert "artefact of names" in distance.reading or "artefact" not in str(planted.result.findings)
    svg = MapPicture(favourable, world.names).draw(640).svg
    kinds = re.findall(r'class="((?:better|worse)-\d)">', svg)
    assert {kind[:-2] for kind in kinds} == {"better", "worse"} and len(kinds) == 2  # Chad and Italy


def test_the_table_of_countries_has_favourable_and_typical_words(planted: Run) -> None:
    table = find(planted, "countries")
    assert isinstance(table, Table) and set(table.text_columns) == {"said more often", "said less often"}
    assert table.rows[0]["country"] == "Chad" and table.rows[-1]["country"] == "Italy"
    kenya = next(row for row in table.rows if row["country"] == "Kenya")
    assert kenya["said more often"].startswith("thrifty 5.") and "*" in kenya["said more often"]
    assert kenya["said more often"].count(",") == 2
    values = [float(row["favourable words,\ntimes"]) for row in table.rows]
    assert values == sorted(values, reverse=True) and table.rows[0]["adjusted p"] != "–"
    assert float(table.rows[0]["distance\n(HERB)"]) > 0


def test_words_without_ratings_have_no_valence(planted: Run) -> None:
    change: dict[str, Any] = {row.name: {"valence": None} for row in planted.result.region_associations}
    run = change_regions(planted, change)
    assert find(run, "valence") is None and find(run, "map").measures[0].title == "Strength of associations"
    table = find(run, "countries")
    assert "favourable words,\ntimes" not in table.rows[0] and "said more often" in table.rows[0]


def test_associations_of_other_regions_leave_the_map_to_herb(planted: Run) -> None:
    """Below ten countries, cities are compared: they have charts, but no place on the map."""
    rows = [replace(row, level="city") for row in planted.result.region_associations]
    association = replace(get_association(planted), level="city")
    result = replace(planted.result, association=association, region_associations=rows, topic_associations=[])
    run = replace(planted, result=replace(result, associations=[]))
    world = find(run, "map")
    assert isinstance(world, WorldMap) and world.measures[0].title == "Distance from the continent's mean"
    assert "average city" in find(run, "valence").reading
