"""Pages of comparisons, and of several runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geobias
from geobias.audits.compare.report import MOST_ROWS
from geobias.audits.pages import read_runs, render_page, run_sections
from geobias.audits.side_by_side import short_names, side_by_side_section
from geobias.report.page.blocks import Chart, Choice, Section, Table
from geobias.report.runs import FinishedRun
from geobias.world.gazetteer import load_gazetteer
from tests.conftest import spell

LISTED = load_gazetteer("latin")
NAMES = {country: {n for kind in LISTED.kinds for n in LISTED.names(country, kind)} for country in ("FR", "MA", "GB")}
MOROCCAN = NAMES["MA"] - NAMES["FR"] - NAMES["GB"]
TEXTS = [f"Mary is here {spell(i)}" for i in range(16)]


class Judge:
    """Fair, or not to Moroccan names and Uganda; by a name of its own."""

    def __init__(self, name: str, *, is_fair: bool) -> None:
        self.__name__ = self.__qualname__ = name
        self.is_fair = is_fair

    def __call__(self, texts: list[str]) -> list[dict[str, float]]:
        return [self._said(text) for text in texts]

    def _said(self, text: str) -> dict[str, float]:
        is_disliked = not self.is_fair and (text.split(" is ")[0] in MOROCCAN or "Uganda" in text)
        p = 0.6 - 0.2 * is_disliked + 0.001 * (len(text) % 5)
        return {"positive": p, "negative": 1 - p}


@pytest.fixture
def fair_and_biased(tmp_path: Path) -> list[Path]:
    texts = pd.DataFrame({"text": TEXTS, "spans": [[[0, 4]]] * len(TEXTS)})
    options: dict[str, Any] = {"spans": "spans", "draws": 3, "countries": "FR,MA,GB"}
    for name in ("fair", "biased"):
        geobias.audit_names(Judge(name, is_fair=name == "fair"), texts, out=tmp_path / name, **options)
    return [tmp_path / "fair", tmp_path / "biased"]


def downstream(place: Path, *, is_fair: bool, **options: Any) -> Path:
    judge = Judge("judge", is_fair=is_fair)
    geobias.audit_downstream(judge, **{"texts": TEXTS, "continents": "AF,EU", "out": place, **options})
    return place


def all_of(*folders: Path) -> list[FinishedRun[Any]]:
    return [run for folder in folders for run in read_runs(folder)]


def side_by_side(runs: list[FinishedRun[Any]]) -> Section:
    section = side_by_side_section(runs)
    assert section is not None
    return section


def test_a_comparison_of_names(fair_and_biased: list[Path], tmp_path: Path) -> None:
    geobias.compare(fair_and_biased, out=tmp_path / "here")
    (section,) = run_sections(read_runs(tmp_path / "here"))
    differences, marked = section.blocks
    assert isinstance(differences, (Choice, Chart)) and isinstance(marked, Table)
    chart = next(iter(differences.options.values())) if isinstance(differences, Choice) else differences
    assert isinstance(chart, Chart)
    lowest = chart.rows[-1]
    assert lowest["place"] == "Morocco" and lowest["marked"] and lowest["value"] < -20
    assert lowest["low"] <= lowest["value"] <= lowest["high"]
    assert marked.rows[0]["compared"] == "3" and int(marked.rows[0]["stand out"]) >= 1
    page = (tmp_path / "here/report.html").read_text()
    assert "biased minus" in page and "<h4>Counts" not in page  # a comparison has none


def test_a_comparison_of_many_shows_the_surest(tmp_path: Path) -> None:
    folders = [downstream(tmp_path / name, is_fair=name == "fair") for name in ("fair", "biased")]
    geobias.compare(folders, out=tmp_path / "here")
    (section,) = run_sections(read_runs(tmp_path / "here"))
    chart = section.blocks[0]
    assert (
        isinstance(chart, Chart) and len(chart.rows) == MOST_ROWS and f"The {MOST_ROWS} most certain" in chart.reading
    )
    assert {row["place"] for row in chart.rows if row["marked"]} == {"Uganda, positive", "Uganda, negative"}


def test_runs_of_one_audit_side_by_side(fair_and_biased: list[Path], tmp_path: Path) -> None:
    found = all_of(*fair_and_biased)
    section = side_by_side(found)
    (chart,) = section.blocks
    assert isinstance(chart, Chart) and len(chart.rows) == 2 * 3 and len({row["classifier"] for row in chart.rows}) == 2
    biased = [row for row in chart.rows if "biased" in row["classifier"]]
    (morocco,) = [row for row in biased if row["marked"] and row["country"] == "Morocco"]
    assert morocco["value"] < -10
    assert "geobias compare tests that" in section.lead and "have different settings" not in section.lead
    page = render_page(found)
    assert page.index('id="side-by-side"') < page.index('id="names"')
    assert page.index('id="names"') < page.index('id="names-2"') and "elsewhere (biased)" in page


def test_one_classifier_in_two_runs_of_other_texts(tmp_path: Path) -> None:
    first = downstream(tmp_path / "first", is_fair=True)
    second = downstream(tmp_path / "second", is_fair=False, texts=TEXTS[:8])
    section = side_by_side(all_of(first, second))
    assert "downstream audit have different settings: they differ in texts" in section.lead
    (chart,) = section.blocks
    assert isinstance(chart, Chart)
    found = {(row["classifier"].split(" (")[-1], row["class"]): row["value"] for row in chart.rows}
    assert len(found) == 4 and found["second)", "negative"] > found["first)", "negative"] >= 0
    assert all(row["low"] is None for row in chart.rows)  # noise alone moves it: no interval would hold 0


def test_models_and_scores_of_regions(small_models: dict[str, Path], tmp_path: Path) -> None:
    for score in ("aul", "pll"):
        geobias.audit_regions(
            small_models["bert"], score=score, cities=0, countries="FR,DE,NG,KE,JP,CN", words=["kind", "rude", "loud"],
            placebo=False, paraphrases=0, out=tmp_path / score,
        )  # fmt: skip
    found = all_of(tmp_path / "aul", tmp_path / "pll")
    section = side_by_side(found)
    (chart,) = section.blocks
    assert isinstance(chart, Chart) and "different scales" in chart.reading
    assert {row["region"] for row in chart.rows} == {"Earth", "Europe", "Africa", "Asia"}
    assert {row["run"].split(", ")[-1] for row in chart.rows} == {"aul", "pll"}
    assert side_by_side_section(found[:1]) is None


def test_a_run_of_one_continent_has_a_page(small_models: dict[str, Path], tmp_path: Path) -> None:
    words = ["kind", "rude", "loud"]
    geobias.audit_regions(small_models["bert"], cities=0, continents="SA", words=words, out=tmp_path / "here")
    (section,) = run_sections(read_runs(tmp_path / "here"))
    (form,) = [block for block in section.blocks if isinstance(block, Choice)]
    chart = next(iter(form.options.values()))
    assert isinstance(chart, Chart) and "South America" in chart.alt


def test_names_of_runs_are_as_short_as_tells_them_apart() -> None:
    assert short_names([Path("/a/x/aul"), Path("/a/y/pll")]) == ["aul", "pll"]
    assert short_names([Path("/a/x/aul"), Path("/a/y/aul")]) == ["x/aul", "y/aul"]
