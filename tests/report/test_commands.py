"""`geobias report` and `geobias export` as a user types them."""

from __future__ import annotations

import shutil
import webbrowser
from pathlib import Path

import pytest

from tests.conftest import SCORE_ONLY, Run, spell

PLACES = ("--texts", "texts.txt", "--countries", "FR,MX,UG")


@pytest.fixture
def judges(tmp_path: Path) -> Path:
    """Functions and texts in the folder where the command is run."""
    (tmp_path / "judges.py").write_text(
        """
def fair(texts):
    return [{"no": 0.6, "hate|ful": 0.4} for _ in texts]

def biased(texts):
    return [{"no": 0.6 - 0.2 * ("Mexico" in text), "hate|ful": 0.4 + 0.2 * ("Mexico" in text)} for text in texts]
""",
        encoding="utf-8",
    )
    (tmp_path / "texts.txt").write_text("".join(f"text {spell(i)}\n" for i in range(8)), encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps the runs of the first test for the others."""
    return tmp_path_factory.mktemp("finished")


@pytest.fixture
def two_runs(run: Run, judges: Path, finished: Path) -> tuple[str, str]:
    for name in ("fair", "biased"):
        if not (finished / name).exists():
            code, _, err = run("downstream", f"judges:{name}", *PLACES, "--out", finished / name)
            assert code == 0, err
        shutil.copytree(finished / name, name)
    return "fair", "biased"


def test_one_page_of_several_runs_in_a_new_folder(run: Run, two_runs: tuple[str, str]) -> None:
    code, out, err = run("report", *two_runs, two_runs[0])
    assert code == 0, err
    (page,) = Path("runs").glob("*-report/report.html")
    text = page.read_text(encoding="utf-8")
    assert text.count('class="evidence" id="downstream') == 2 and 'id="side-by-side"' in text
    assert "Page: " in out and (page.parent / "figures/side-by-side-downstream.svg").is_file()


def test_a_page_is_made_again_where_it_was(run: Run, two_runs: tuple[str, str]) -> None:
    page = Path("fair/report.html")
    page.unlink()
    assert run("report", "fair")[0] == 0 and page.is_file() and "side-by-side" not in page.read_text(encoding="utf-8")
    assert run("report", "fair", "--out", "new/page.html")[0] == 0 and Path("new/page.html").is_file()
    code, _, err = run("report", "fair", "--out", "new")
    assert code == 2 and "--out must be an HTML file" in err


def test_a_comparison_has_a_page(run: Run, two_runs: tuple[str, str]) -> None:
    assert run("compare", *two_runs, "--out", "both")[0] == 0
    text = Path("both/report.html").read_text(encoding="utf-8")
    assert "judges:biased minus judges:fair" in text and 'id="compare"' in text
    assert run("report", "both")[0] == 0 and list(Path("both/figures").glob("compare-*.svg"))


def test_a_card_on_the_terminal_or_in_a_file(run: Run, two_runs: tuple[str, str]) -> None:
    code, out, _ = run("export", "biased")
    assert code == 0 and out.startswith("## Bias by place and nationality\n")
    assert r"| judges:biased | hate\|ful | 0.200 | 0.200 to 0.200 | Mexico | 1 of 3 |" in out
    assert "geobias downstream judges:biased --texts texts.txt --countries FR,MX,UG\n" in out
    code, shown, _ = run("export", "biased", "--out", "cards/card.md")
    assert code == 0 and shown == "Wrote cards/card.md\n" and Path("cards/card.md").read_text(encoding="utf-8") == out


def test_a_card_of_several_runs(run: Run, small_models: dict[str, Path]) -> None:
    Path("words.txt").write_text("kind\nrude\nloud\n", encoding="utf-8")
    options = ("--cities", "0", "--countries", "FR,DE,NG,KE", "--words", "words.txt", "--out", "both", *SCORE_ONLY)
    assert run("regions", small_models["bert"], "--score", "aul,pll", *options)[0] == 0
    code, out, _ = run("export", "both")
    assert code == 0 and out.count("Balanced C\\_w of Earth") == 2 and "scored by aul" in out and "scored by pll" in out
    assert 'id="side-by-side"' in Path("both/report.html").read_text(encoding="utf-8")


def test_what_is_no_run_is_one_line(run: Run) -> None:
    for arguments, message in (
        (("export", "nowhere"), "has no finished run"),
        (("report", "nowhere"), "has no finished run"),
        (("report", "nowhere", "--open"), "has no finished run"),
    ):
        code, out, err = run(*arguments)
        assert code == 2 and out == "" and message in err and err.count("\n") == 1


def test_a_page_is_opened(run: Run, two_runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: address.startswith("file:///"))
    code, out, _ = run("report", "fair", "--open")
    assert code == 0 and "Opened fair/report.html" in out
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    code, _, err = run("report", "fair", "--open")
    assert code == 2 and "Cannot start a browser" in err
