"""What the command line says of how sure its numbers are."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from geobias.audits.regions.terminal import format_bounds
from geobias.measures.estimates import Estimate
from tests.conftest import Run

MANY = ("--cities", "0", "--countries", "FR,DE,IT,ES,NG,KE,GH,EG,JP,IN,CN,TH")


@pytest.fixture
def words(tmp_path: Path) -> Path:
    file = tmp_path / "words.txt"
    file.write_text("kind\nhonest\nloud\nshy\nproud\n", encoding="utf-8")
    return file


@pytest.mark.slow
def test_regions_with_a_placebo_and_two_templates(
    run: Run, small_models: dict[str, Path], words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    templates = ("--template", "People in {region} are {description}.", "--template", "{region}: {description}")
    code, out, err = run(
        "regions", small_models["bert"], *MANY, "--words", words, "--out", "here", "--placebo", *templates
    )
    assert code == 0, err
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith("Results"))
    results = json.loads(Path("here/results.json").read_text())
    assert len(results["placebo"]["names"]) == 60 and len(results["kendall_w"]) == 2
    europe = next(entry for entry in results["regions"] if entry["name"] == "Europe")
    bounds = europe["inference"]["c_w"]["balanced"]
    assert format_bounds(Estimate(**bounds)) in out and bounds["low"] <= bounds["value"] <= bounds["high"]
    assert f"rank {europe['rank']['value']} ({europe['rank']['low']}–{europe['rank']['high']})" in out
    joined = " ".join(out.split())
    for part in (
        "Placebo: 60 invented places",
        "Kendall's W",
        "tokens of the name",
        "95 % interval",
        "drawn at random",
    ):
        assert part in joined
    with Path("here/tables/regions.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["name"] == "Europe")
    assert float(row["c_w_balanced_low"]) == bounds["low"]
    assert {"c_w_balanced_high", "c_w_balanced_p", "c_w_balanced_p_adjusted", "c_w_balanced_null_mean"} <= set(row)


@pytest.mark.slow
def test_a_run_without_a_placebo_is_another_run(run: Run, small_models: dict[str, Path], words: Path) -> None:
    assert run("regions", small_models["bert"], *MANY, "--words", words, "--out", "here")[0] == 0
    code, _, err = run("regions", small_models["bert"], *MANY, "--words", words, "--out", "here", "--placebo")
    assert code == 2 and "other settings" in err
    assert json.loads(Path("here/results.json").read_text())["placebo"] is None


def test_the_mark_stands_where_the_results_say(run: Run, small_models: dict[str, Path], words: Path) -> None:
    _, out, _ = run("regions", small_models["bert"], *MANY, "--words", words, "--out", "here")
    results = json.loads(Path("here/results.json").read_text())
    for entry in results["regions"]:
        if entry["level"] in ("earth", "continent"):
            line = next(line for line in out.splitlines() if line.strip().startswith(f"{entry['name']} "))
            assert (f"{entry['c_w']['balanced']:.4f}*" in line) == (entry["null"]["p_adjusted"] < 0.05)
