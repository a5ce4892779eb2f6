"""The page without a browser: the numbers above, and what the commands make and refuse."""

from __future__ import annotations

import json
import shutil
import webbrowser
from pathlib import Path

import pytest

import geobias
from geobias.audits.pages import read_runs, run_sections
from geobias.report.page.blocks import Number, Section
from geobias.report.page.build import NUMBERS, _first_numbers, _inert
from tests.conftest import Run
from tests.report.pages import HOSTILE, Speaker, both_runs

LARGEST = 6_000_000  # bytes: what can still be sent by mail


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return both_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def runs(page: Path, tmp_path: Path) -> Path:
    """Both runs in a folder that a test may spoil."""
    return Path(shutil.copytree(page.parent, tmp_path / "runs"))


def section(*labels: str) -> Section:
    return Section("s", "S", "", [], [Number(label, "1", "", "") for label in labels])


def test_three_numbers_are_taken_in_turns() -> None:
    assert [number.label for number in _first_numbers([section("a", "b", "c"), section("d", "e")])] == ["a", "d", "b"]
    assert [number.label for number in _first_numbers([section("a", "b", "c", "d")])] == ["a", "b", "c"]
    assert [number.label for number in _first_numbers([section(), section("d")])] == ["d"]
    assert _first_numbers([section()]) == [] and NUMBERS == 3


def test_runs_of_one_audit_have_sections_of_their_own(page: Path) -> None:
    finished = read_runs(page.parent)
    sections = run_sections([*finished, *finished])
    assert [each.id for each in sections] == ["regions", "names", "regions-2", "names-2"]
    blocks = [block.id for each in sections for block in each.blocks]
    assert len(blocks) == len(set(blocks))


def test_data_cannot_end_the_script_that_holds_it() -> None:
    text = _inert({HOSTILE: [HOSTILE, "\u2029<!--"]})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {HOSTILE: [HOSTILE, "\u2029<!--"]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        _inert({"number": float("nan")})


def test_the_page_of_the_whole_world_is_small(tmp_path: Path) -> None:
    geobias.audit_regions(Speaker(), cities=0, out=tmp_path / "world")
    assert (tmp_path / "world/report.html").stat().st_size < LARGEST


@pytest.mark.figures
def test_report_makes_the_page_again(run: Run, runs: Path) -> None:
    (runs / "report.html").unlink()
    code, out, err = run("report", runs)
    assert (code, err) == (0, "") and "Page: runs/report.html" in out
    text = (runs / "report.html").read_text(encoding="utf-8")
    assert 'id="regions-map"' in text and 'id="names-heat"' in text
    figures = sorted((runs / "figures").iterdir())
    assert f"Figures: {len(figures) // 2} as SVG and PNG" in out
    assert {file.suffix for file in figures} == {".svg", ".png"} and all(file.stat().st_size for file in figures)


@pytest.mark.slow
def test_several_runs_share_a_page(run: Run, runs: Path) -> None:
    shutil.copytree(runs / "names", runs / "other")
    code, out, _ = run("report", runs / "names", runs / "other", "--out", "both/page.html")
    assert code == 0 and "Page: both/page.html" in out and "both/page-figures" in out
    text = Path("both/page.html").read_text(encoding="utf-8")
    assert 'id="names"' in text and 'id="names-2"' in text and "regions-map" not in text
    code, out, _ = run("report", runs / "regions", runs / "names")
    (made,) = Path("runs").glob("*-report*/report.html")
    assert code == 0 and f"Page: {made}" in out


@pytest.mark.parametrize("file", ["regions/likelihoods.parquet", "names/counterfactuals.parquet"])
def test_a_run_without_its_answers_is_refused_in_a_line(run: Run, runs: Path, file: str) -> None:
    (runs / file).unlink()
    code, out, err = run("report", runs)
    assert (code, out) == (2, "") and "is missing, damaged or of another run" in err
    assert len(err.splitlines()) == 1


def test_what_is_no_run_and_no_page_is_refused(run: Run, runs: Path) -> None:
    (runs / "regions/results.json").write_text("{", encoding="utf-8")
    for given, said in (
        (("report", runs), "results.json is damaged"),
        (("report", "nowhere"), "nowhere holds no finished run"),
        (("report", runs / "names", "--out", "folder"), "--out is the page to write, such as folder/report.html"),
        (("open", "nowhere"), "nowhere holds no finished run"),
    ):
        code, _, err = run(*given)
        assert code == 2 and said in " ".join(err.split()), given


def test_open(run: Run, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def starts(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", starts)
    assert run("open", runs)[:2] == (0, "Opened runs/report.html\n")
    assert opened == [(runs / "report.html").resolve().as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    code, _, err = run("open", runs)
    assert code == 2 and "No browser could be started here" in " ".join(err.split())
