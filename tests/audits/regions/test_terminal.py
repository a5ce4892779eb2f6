"""What the command line prints: findings and one table, everything with --full."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from geobias.audits.regions.result import RegionsResult
from geobias.audits.show_results import View, show_result
from geobias.report.results import from_json
from geobias.report.tables import digits
from tests.audits.regions.test_findings import measure_world
from tests.conftest import Run

MANY = ("--cities", "0", "--countries", "FR,DE,IT,ES,NG,KE,GH,EG,JP,IN,CN,TH", "--paraphrases", "0")


@pytest.fixture
def words(tmp_path: Path) -> Path:
    file = tmp_path / "words.txt"
    file.write_text("kind\nhonest\nloud\nshy\nproud\n", encoding="utf-8")
    return file


def test_regions_with_a_placebo_and_two_templates(
    run: Run, small_models: dict[str, Path], words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    templates = ("--template", "People in {region} are {description}.", "--template", "{region}: {description}")
    code, out, err = run(
        "regions", small_models["bert"], *MANY, "--words", words, "--out", "here", "--placebo", "--full", *templates
    )
    assert code == 0, err
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith("Page"))
    results = json.loads(Path("here/results.json").read_text())
    assert len(results["placebo"]["names"]) == 60 and len(results["kendall_w"]) == 2
    europe = next(entry for entry in results["regions"] if entry["name"] == "Europe")
    bounds = europe["c_w_balanced"]
    assert "{low:.3g} to {high:.3g}".format(**bounds) in out and bounds["low"] <= bounds["value"] <= bounds["high"]
    assert "{value:.0f} ({low:.0f}–{high:.0f})".format(**europe["rank"]) in out
    assert "60 invented places" in out and "Kendall's W" in out
    with Path("here/tables/regions.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["name"] == "Europe")
    assert float(row["c_w_balanced_low"]) == bounds["low"]


def test_a_run_without_a_placebo_is_another_run(run: Run, small_models: dict[str, Path], words: Path) -> None:
    command = ("regions", small_models["bert"], *MANY, "--words", words, "--out", "here")
    assert run(*command, "--no-placebo")[0] == 0
    code, _, err = run(*command, "--placebo")
    assert code == 2 and "other settings" in err
    assert json.loads(Path("here/results.json").read_text())["placebo"] is None


@pytest.mark.parametrize("width", [80, 60])
def test_a_result_fits_on_one_screen(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The world with most findings: three details, two cautions."""
    monkeypatch.setenv("COLUMNS", str(width))
    result = measure_world(1, scale=(0.2, 0.2, 0.3, 1, 2.5), follows_tokens=False, invented_scale=1.5)
    folder = Path("here")
    show_result(result, folder, View())
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= width for line in lines)
    assert len(lines) <= 25 or width < 80
    assert any("suggestive" in line for line in lines)
    assert "Page: here/report.html" in lines and any(line.startswith("Next: ") for line in lines)
    table = "\n".join(lines[-14:])
    assert all(name in table for name in ("Parent 0", "Parent 1", "Parent 2", "Parent 4"))
    assert f"{result.regions[1].ratio:.2f}*" in table
    show_result(from_json(RegionsResult, result.to_dict()), folder, View(full=True))  # as read from a folder
    full = capsys.readouterr().out
    assert all(len(line) <= width for line in full.splitlines()) and "Kendall" not in full
    assert all(digits(region.c_w_balanced.value) in full for region in result.regions[:6])


def test_several_scores_of_one_model_are_told_apart(
    run: Run, small_models: dict[str, Path], words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    command = ("regions", small_models["bert"], *MANY, "--words", words, "--score", "aul,conditional", "--out", "both")
    code, out, err = run(*command)
    assert code == 0, err
    rows = [line for line in out.splitlines() if "bert" in line and line.endswith(" ")]
    assert len(rows) == 2 and "(aul)" in rows[0] and "(conditional)" in rows[1]
    assert "side by side" not in out
