"""The page without a browser: findings, terms, limits, and what the commands make and refuse."""

from __future__ import annotations

import json
import re
import shutil
import webbrowser
from dataclasses import replace
from pathlib import Path

import pytest

import geobias
from geobias.audits.limits_and_sources import list_citations, list_limits, list_sources
from geobias.audits.pages import read_runs, render_page, run_sections
from geobias.report.glossary import TERMS, find_term
from geobias.report.page.build import TermMarker, _inert
from geobias.report.page.finding_cards import split_code
from geobias.world.gazetteer import load_gazetteer
from tests.conftest import Run
from tests.report.pages import HOSTILE, Speaker, both_runs, finding, judge

LARGEST = 1_000_000  # bytes


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return both_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def runs(page: Path, tmp_path: Path) -> Path:
    """Both runs in a folder that a test may spoil."""
    return Path(shutil.copytree(page.parent, tmp_path / "runs"))


def test_commands_are_set_off() -> None:
    assert split_code("Use `a b`, or `c`.") == [
        ("Use ", False),
        ("a b", True),
        (", or ", False),
        ("c", True),
        (".", False),
    ]
    assert split_code("More texts: geobias names --texts FILE") == [
        ("More texts: ", False),
        ("geobias names --texts FILE", True),
    ]
    assert split_code("What geobias does.") == [("What geobias does.", False)]


def test_each_term_is_explained_once_in_a_block() -> None:
    terms = TermMarker()
    html = terms.mark("Δ of <b>: AUL, Δ and the adjusted p-value; adjusted p", "one")
    assert html.count("<dfn") == 3 and "&lt;b&gt;" in html and "<b>" not in html
    assert "<dfn" not in terms.mark("Δ again, and a deltaplane", "one") and "<dfn" in terms.mark("Δ", "two")
    assert list(terms.seen) == ["delta", "aul", "adjusted-p"]
    assert find_term("PLL") is find_term("pseudo-log-likelihood") is not None and find_term("no such term") is None
    assert len({term.id for term in TERMS}) == len(TERMS)
    for term in TERMS:
        assert re.fullmatch(r"[a-z0-9-]+", term.id) and term.definition.endswith(".") and len(term.definition) < 240


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


def test_tests_that_cannot_tell_share_a_card(page: Path) -> None:
    _, names = read_runs(page.parent)
    several = [finding(p=0.001), *(finding(p=None, model=f"judges:{k}", size=None) for k in "xy")]
    for count in (2, 3):  # tests; a single one has its own card
        shown = replace(names, result=replace(names.result, findings=several[:count]))
        html = render_page([shown])
        assert html.count('<article class="card"') == 2 and html.count('<p class="answer">Cannot tell.</p>') == 1
        assert html.count('<details id="names-test-') == (2 if count == 3 else 0)


def test_only_limits_and_sources_that_apply(page: Path) -> None:
    regions, names = (run.result for run in read_runs(page.parent))
    of_regions, of_names = (" ".join(list_limits([result], has_map=False)) for result in (regions, names))
    assert "Tokenisation" in of_regions and "proxy" not in of_regions and "AUL" not in of_regions  # another score
    assert "proxy" in of_names and "Tokenisation" not in of_names and "borders are" not in of_names
    assert list_sources([regions, names], has_map=False) == []  # both with data of their own
    assert "Natural Earth" in list_sources([regions], has_map=True)[0]
    default = replace(names.settings, names=load_gazetteer("latin").digest, scripts="latin")
    assert "CheckList" in list_sources([replace(names, settings=default)], has_map=False)[0]
    assert [len(list_citations(each)) for each in ([regions], [names], [regions, names])] == [2, 2, 3]
    everything = [*list_limits([regions, regions], True), *list_sources([regions, regions], True)]
    assert len(everything) == len(set(everything))


def test_the_bundled_texts_are_named_as_a_source(tmp_path: Path) -> None:
    geobias.audit_downstream(judge("one"), countries="FR,DE", limit=3, out=tmp_path / "run")
    (run,) = read_runs(tmp_path / "run")
    sources = " ".join(list_sources([run.result], has_map=True))
    assert "Broad Twitter Corpus" in sources and "GeoNames" in sources and "CheckList" not in sources


def test_report_makes_the_page_again(run: Run, runs: Path) -> None:
    (runs / "report.html").unlink()
    code, out, err = run("report", runs)
    assert (code, err) == (0, "") and "Page: runs/report.html" in out
    text = (runs / "report.html").read_text(encoding="utf-8")
    assert 'id="regions-map' in text and 'id="names-heat"' in text
    figures = sorted((runs / "figures").iterdir())
    assert f"Figures: {len(figures)} as SVG" in out
    assert {file.suffix for file in figures} == {".svg"} and all(file.stat().st_size for file in figures)


def test_several_runs_share_a_page(run: Run, runs: Path) -> None:
    shutil.copytree(runs / "names", runs / "other")
    code, out, _ = run("report", runs / "names", runs / "other", "--out", "both/page.html")
    assert code == 0 and "Page: both/page.html" in out and "both/page-figures" in out
    text = Path("both/page.html").read_text(encoding="utf-8")
    assert 'id="names"' in text and 'id="names-2"' in text and "regions-map" not in text
    code, out, _ = run("report", runs / "regions", runs / "names")
    (made,) = Path("runs").glob("*-report*/report.html")
    assert code == 0 and f"Page: {made}" in out


def test_what_is_no_run_and_no_page_is_refused(run: Run, runs: Path) -> None:
    (runs / "regions/results.json").write_text("{", encoding="utf-8")
    for given, said in (
        (("report", runs), "results.json was changed after the run"),
        (("report", "nowhere"), "nowhere has no finished run"),
        (("report", runs / "names", "--out", "folder"), "--out must be an HTML file, such as folder/report.html"),
        (("report", "nowhere", "--open"), "nowhere has no finished run"),
    ):
        code, _, err = run(*given)
        assert code == 2 and said in " ".join(err.split()), given


def test_open(run: Run, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def starts(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", starts)
    assert run("report", runs, "--open")[:2] == (0, f"Opened {runs}/report.html\n")
    assert opened == [(runs / "report.html").resolve().as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    code, _, err = run("report", runs, "--open")
    assert code == 2 and "Cannot start a browser" in " ".join(err.split())
