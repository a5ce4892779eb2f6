"""Results in Python and notebooks: a summary, a small HTML table, a tidy frame, and the page of the run."""

from __future__ import annotations

import re
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geobias
from geobias.audits.registry import BUNDLED, Audit
from geobias.errors import InputError
from geobias.measures.estimates import Estimate
from geobias.report.notebook import MOST_ROWS, render_result
from geobias.report.results import AuditResult, Interval
from geobias.report.rows import tidy_row
from tests.audits.gate.results import downstream_result, names_result, regions_result
from tests.conftest import spell
from tests.report.pages import invent_findings

NUMBERS = ["measure", "label", "against", "value", "low", "high", "p", "p_adjusted", "is_marked"]
COUNTRIES = ["FR", "MX", "UG"]


def judge(texts: list[str]) -> list[dict[str, float]]:
    return [{"no": 0.6 - 0.2 * ("Mexico" in text), "<b>hate</b>": 0.4 + 0.2 * ("Mexico" in text)} for text in texts]


def fair(texts: list[str]) -> list[dict[str, float]]:
    return [{"no": 0.6, "<b>hate</b>": 0.4} for _ in texts]


@pytest.fixture(scope="module")
def results() -> list[geobias.DownstreamResult]:
    """The runs of the first test that needs them, kept for the others."""
    return []


@pytest.fixture
def saved(
    results: list[geobias.DownstreamResult], tmp_path_factory: pytest.TempPathFactory
) -> list[geobias.DownstreamResult]:
    """Two runs on the same texts: `judge` moves by 0.2 where a text names Mexico."""
    texts = [f"text {spell(i)}" for i in range(8)]
    for each in () if results else (fair, judge):
        out = tmp_path_factory.mktemp(each.__name__)
        results.append(geobias.audit_downstream(each, texts, countries=COUNTRIES, positive="<b>hate</b>", out=out))
    return results


@pytest.mark.parametrize("audit", BUNDLED, ids=lambda audit: audit.name)
def test_no_result_has_the_representation_of_a_dataclass(audit: Audit) -> None:
    assert audit.result_type.__repr__ is AuditResult.__repr__
    assert {"summarise", "list_tidy_rows"} <= set(vars(audit.result_type))


@pytest.mark.parametrize("result", [names_result(), regions_result(), downstream_result()], ids=lambda each: each.audit)
def test_every_view_of_a_result(result: AuditResult) -> None:
    lines = repr(result).split("\n")
    assert lines[0].startswith(f"{type(result).__name__}: ") and len(lines) <= 2
    assert max(map(len, lines)) < 200 and "settings=" not in repr(result)
    html = result._repr_html_()
    assert html.count("<table") == 1 and "<script" not in html and not re.search(r"[^-]color:|background:#", html)
    frame = result.to_frame()
    assert frame.columns[-len(NUMBERS) :].tolist() == NUMBERS and frame.columns[0] == "model"
    keys = [name for name in frame.columns if name not in NUMBERS[3:]]
    assert not frame.duplicated(keys).any() and frame.is_marked.dtype == bool


def test_the_frame_of_names() -> None:
    frame = names_result().to_frame()
    row = frame[(frame.country == "France") & (frame.measure == "change") & (frame.against == "mean of countries")]
    assert row[["code", "label", "value", "low", "high"]].values.tolist() == [["FR", "sad", 8.0, -2.0, 18.0]] * 2
    assert set(frame.measure) == {"change", "kl"}  # without a positive label there is no delta
    assert len(frame) == 2 * 2 * 2 * 2  # classifiers, countries, measures, references


def test_the_frame_of_regions() -> None:
    frame = regions_result().to_frame()
    row = frame[(frame.region == "Namibia") & (frame.measure == "c_w.balanced")].iloc[0]
    assert (row.code, row.level, row.value, row.low, row.against) == ("NA", "country", 0.3, 0.3 - 0.02, "sub-regions")
    leaf = frame[frame.level == "city"].iloc[0]
    assert leaf.against == "siblings" and leaf.value == 0.4 and pd.isna(leaf.low)
    assert "Earth: balanced C_w 0.1000 (95 %: 0.08 to 0.12)" in repr(regions_result())


def test_rows_are_marked_by_the_adjusted_p_value() -> None:
    marked = tidy_row({"country": "Chad"}, "delta", Estimate(1.0, 0.5, 1.5, 0.001, 0.04))
    assert marked["is_marked"] is True and list(marked) == ["country", *NUMBERS]
    assert tidy_row({}, "delta", Estimate(1.0, 0.5, 1.5, 0.001, 0.05))["is_marked"] is False
    assert tidy_row({}, "delta", Interval(1.0, 0.5, 1.5))["is_marked"] is False


def test_html_is_escaped_and_short() -> None:
    html = render_result(["<i>", "b & c"], [{"name": "<script>", "empty": None, "value": 1 / 3, "sure": True}] * 50)
    assert "<script>" not in html and "&lt;script&gt;" in html and "b &amp; c" in html and "0.3333" in html
    assert html.count("<tr>") == 1 + MOST_ROWS and "empty" not in html and f"The first {MOST_ROWS} rows" in html
    assert "yes" in html
    assert "<table" not in render_result(["nothing"], [])


def test_a_notebook_shows_the_verdict_and_the_findings() -> None:
    result = replace(names_result(), findings=invent_findings("<i>"))
    html = result._repr_html_()
    assert html.index(invent_findings()[0].sentence) < html.index(">clear, tiny</span>") < html.index("<table")
    assert (
        "[suggestive, tiny]" in result.summary()
        and html.count("</span>") == 6
        and ">caution</span>Rare names" in html
        and "<i>" not in html
    )
    assert result.summary().count(invent_findings()[0].sentence) == 2 and "[caution] Rare names" in result.summary()
    assert not re.search(r"[^-]color:|background:#", html)


def test_a_saved_result_opens_its_page(saved: list[geobias.DownstreamResult], monkeypatch: pytest.MonkeyPatch) -> None:
    result, addresses = saved[1], list[str]()

    def open_address(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_address)
    assert result.folder is not None
    result.open()
    assert addresses == [(result.folder / "report.html").as_uri()]
    assert repr(result).endswith(f"Page: {result.folder / 'report.html'}")
    assert "0.20 (95 % interval 0.20 to 0.20) higher" in repr(result) and "No other of 3 countries stands out" in repr(
        result
    )
    html = result._repr_html_()
    assert "&lt;b&gt;hate" in html and "<b>hate" not in html and not re.search(r"<(script|style|link)", html)


UNSAVED: list[Callable[[Any], Any]] = [
    lambda result: result.open(),
    geobias.write_report,
    geobias.export,
    lambda result: geobias.compare([result, result]),
]


@pytest.mark.parametrize("use", UNSAVED)
def test_a_result_that_was_not_saved_says_so(use: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"was not saved.*\. Run it with out='runs/NAME'"):
        use(downstream_result())


def test_reports_cards_gates_and_comparisons_of_saved_results(
    saved: list[geobias.DownstreamResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = saved
    assert first.folder is not None and second.folder is not None
    (second.folder / "report.html").unlink()
    with pytest.raises(InputError, match=r"has no page\. Write it with geobias.write_report"):
        second.open()
    assert geobias.write_report(second) == second.folder / "report.html" and (second.folder / "report.html").is_file()
    page = geobias.write_report([first, second.folder], out="both.html")
    assert page == Path("both.html") and "side-by-side" in page.read_text(encoding="utf-8")
    assert list(Path("both-figures").glob("*.svg"))
    text = geobias.export(second, out="card.md")
    assert "| Mexico |" in text and Path("card.md").read_text(encoding="utf-8") == text
    comparison = geobias.compare(saved)
    assert "differ clearly in 1 of" in repr(comparison) and "for Mexico" in repr(comparison)
    frame = comparison.to_frame()
    assert {"first_run", "place", "code", "first", "second", *NUMBERS} <= set(frame.columns)
    assert frame.value.abs().max() == pytest.approx(0.2, abs=1e-6) and "<table" in comparison._repr_html_()
    report = geobias.gate(second, 'downstream."tests.report.test_result_views:judge".no.worst < 0.1')
    assert "1 of 1 rules failed" in repr(report) and report.to_frame().passed.tolist() == [False]
    assert "<table" in report._repr_html_() and len(repr(report).split("\n")) == 2
