"""Two runs of the decisions audit in which origin shows by names: names are a random factor of their difference."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import geobias
from geobias.audits.compare.result import Difference
from geobias.texts.scenarios import Scenario
from geobias.world.gazetteer import load_gazetteer
from tests.audits.decide.deciders import Decide, chance, decide_evenly, make_decider

CODES = "FR,TD,KE,NO,IN,BR"


def last_name(prompt: str) -> str:
    return prompt.partition("?")[0].split()[-1]


def audit_by_name(decide: Decide, folder: Path, draws: int = 4) -> geobias.DecideResult:
    return geobias.audit_decisions(decide, countries=CODES, origin="stated,name", draws=draws, limit=15, out=folder)


def compare_countries(folder: Path, first: Decide, second: Decide, draws: int = 4) -> dict[str, Difference]:
    results = [audit_by_name(first, folder / "first", draws), audit_by_name(second, folder / "second", draws)]
    [comparison] = geobias.compare([folder / "first", folder / "second"]).comparisons
    rows = {row.id: row for row in comparison.rows if row.measure == "preference"}
    for result, run in zip(results, ("first", "second"), strict=True):  # as the audits say
        preferences = [row.preference.value for row in result.effects]
        assert [getattr(row, run) for row in rows.values()] == pytest.approx(preferences)
    return rows


def avoid_single_names(scenario: Scenario, prompt: str) -> float:
    return 1.5 * chance(last_name(prompt)) * ("citizen" not in prompt)


def test_a_planted_country_comes_back_and_single_names_do_not(tmp_path: Path) -> None:
    of_chad = {name.split()[-1] for name in load_gazetteer().names("TD", "last")}

    def avoid_chad(scenario: Scenario, prompt: str) -> float:
        return -1.5 * (last_name(prompt) in of_chad)

    evenly = make_decider(decide_evenly)
    rows = compare_countries(tmp_path / "chad", evenly, make_decider(avoid_chad))
    chad, truth = rows["TD"].difference, -1.5 / 2 * (1 - 1 / len(rows))  # origin shows by name in one of two ways
    assert chad.p_adjusted is not None and chad.p_adjusted < 0.01
    assert chad.low is not None and chad.high is not None and chad.low <= truth <= chad.high
    rows = compare_countries(tmp_path / "names", evenly, make_decider(avoid_single_names))
    assert all((row.difference.p_adjusted or 0) > 0.05 for row in rows.values())


def test_one_draw_of_names_is_compared_without_intervals(tmp_path: Path) -> None:
    rows = compare_countries(tmp_path, make_decider(decide_evenly), make_decider(avoid_single_names), draws=1)
    assert all(row.difference.value is not None and row.difference.low is None for row in rows.values())
    table = pq.read_table(tmp_path / "first" / "answers.parquet")
    by_name = table.filter(pc.equal(table["origin"], "name"))
    assert set(by_name["gender"].to_pylist()) == {"male", "female"} and by_name["last_name"].null_count == 0
    assert table["first_name"].null_count == table.num_rows - by_name.num_rows


def test_runs_with_other_names_are_not_compared(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        audit_by_name(make_decider(decide_evenly), tmp_path / folder)
    path = tmp_path / "second" / "answers.parquet"
    table = pq.read_table(path)
    names = pc.replace_substring(table["last_name"], "a", "o")
    pq.write_table(table.set_column(table.column_names.index("last_name"), "last_name", names), path)
    with pytest.raises(geobias.InputError, match="cannot be compared: their cases or names differ"):
        geobias.compare([tmp_path / "first", tmp_path / "second"])
