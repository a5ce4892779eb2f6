"""Associations on the page in a real browser: the map by words, the panel in plain words, what the switch hides."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from geobias.world.words import Word
from tests.audits.regions.association_worlds import PLANTED, WORDS, World, world_run
from tests.report.test_page_browser import browser, find_shape, opened

__all__ = ["browser"]  # a fixture
pytestmark = pytest.mark.slow
MAP, PANEL, LEGEND = "#regions-map", "#regions-map .panel", "#regions-map .legend"
HOSTILE = '<img/src=x onerror="window.pwned=1"> $& {region}'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / "run"
    world_run(folder, PLANTED, words=[*WORDS, Word(HOSTILE, "manner")])
    return folder / "report.html"


@pytest.fixture(scope="module")
def wide(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file)


@pytest.fixture
def page(wide: Page) -> Page:
    """Loading takes seconds: all tests share a page, and each starts without a country and with the first measure."""
    wide.locator(f"{MAP} [data-role=country]").press("Escape")
    choose(wide, "measure", "Favourable words")
    return wide


def choose(page: Page, role: str, label: str) -> None:
    page.locator(f"{MAP} [data-role={role}]").select_option(label=label)


def choose_word(page: Page, topic: str, word: str) -> None:
    choose(page, "measure", "A topic or a word")
    choose(page, "topic", topic)
    choose(page, "word", word)
    expect(page.locator(LEGEND)).to_contain_text(word)  # it is said once the map is drawn


def search(page: Page, text: str) -> None:
    page.locator(f"{MAP} [data-role=country]").fill(text)
    page.keyboard.press("Enter")


def test_the_map_is_coloured_by_valence_first(page: Page) -> None:
    expect(page.locator(LEGEND)).to_contain_text("Favourable words. How many times as likely")
    assert page.locator(f"{MAP} [data-role=measure] option").all_inner_texts() == [
        "Favourable words",
        "Strength of associations",
        "Distance from the continent's mean",
        "A topic or a word",
    ]
    assert page.locator(f"{MAP} [data-role=ranking] .name").first.inner_text() == "Chad"
    assert "differs from invented and known places, adjusted p < 0.05 (2 of 12)" in page.inner_text(f"{MAP} .map-key")
    fills = {name: find_shape(page, MAP, name).get_attribute("fill") or "" for name in ("Chad", "Italy")}
    red, blue = ([int(part) for part in fills[name][4:-1].split(",")] for name in ("Italy", "Chad"))
    assert red[0] > red[2] and blue[2] > blue[0]  # orange is less favourable, blue more


def test_a_word_shows_times_as_likely_as_of_the_average_country(page: Page) -> None:
    choose_word(page, "manner", "thrifty")
    assert (
        "“People in … are thrifty.”. Times as likely as of the average country, relative to other words"
        in page.inner_text(LEGEND)
    )
    first = page.locator(f"{MAP} [data-role=ranking] li").first.inner_text()
    assert "Kenya" in first and 4 < float(first.split()[2]) < 8
    assert (find_shape(page, MAP, "Kenya").get_attribute("fill-opacity") or "1") == "1"
    assert float(find_shape(page, MAP, "Egypt").get_attribute("fill-opacity") or "1") < 0.5
    green = [int(part) for part in (find_shape(page, MAP, "Kenya").get_attribute("fill") or "")[4:-1].split(",")]
    assert green[1] > green[0] and green[1] > green[2]  # neither better nor worse
    choose_word(page, "work", "nurse")
    assert "“A typical person in … is a nurse.”" in page.inner_text(LEGEND)
    choose(page, "word", "all 5 words of it")
    expect(page.locator(LEGEND)).to_contain_text("The 5 words of “work”")
    assert page.locator(f"{MAP} [data-role=ranking] .name").first.inner_text() == "Brazil"


def test_the_panel_speaks_in_plain_words(page: Page) -> None:
    search(page, "Kenya")
    panel = page.locator(PANEL)
    text = " ".join(panel.inner_text().split())
    assert "Said more often of Kenya than of the average country, relative to other words thrifty 5." in text
    assert "For example: “People in Kenya are thrifty.”" in text and "Said less often" in text
    assert "Bold words are beyond what invented and known places show, pale ones are not." in text
    assert " f " not in text and "Strength of associations: 3." in text and "differs from invented" in text
    assert panel.locator("li.sure").all_inner_texts()[0].startswith("thrifty 5.")
    assert panel.locator("li.pale").count() > 6
    search(page, "France")
    assert "A typical person in France is a nurse." in panel.inner_text()
    search(page, "Egypt")
    assert "None of these words is beyond what invented and known places show." in panel.inner_text()


def test_the_switch_hides_words_everywhere(page: Page) -> None:
    search(page, "Kenya")
    chart, cell = page.locator("#regions-typical-words .drawing"), page.locator("#regions-countries td.texts").first
    assert chart.is_visible() and cell.is_visible()
    page.locator("#hide-texts").check()
    assert chart.is_hidden() and cell.is_hidden()
    shown = page.inner_text("main")
    assert "thrifty" not in shown and "Of Kenya it says a word" in shown and "Hidden by the switch" in shown
    page.locator("#hide-texts").uncheck()
    assert "thrifty" in page.inner_text(PANEL) and cell.is_visible()
    expect(page.locator("#regions-typical-words svg").first).to_contain_text("Kenya: thrifty")


def test_what_users_wrote_is_text(page: Page) -> None:
    choose(page, "measure", "A topic or a word")
    choose(page, "topic", "manner")
    choose(page, "word", HOSTILE)
    expect(page.locator(LEGEND)).to_contain_text(f"People in … are {HOSTILE}.")
    assert page.evaluate("window.pwned") is None


def test_figures_can_be_downloaded(page: Page, tmp_path: Path) -> None:
    def download(figure: str, kind: str) -> bytes:
        with page.expect_download() as started:
            page.locator(f"{figure} [data-download={kind}]").click()
        started.value.save_as(tmp_path / "file")
        return (tmp_path / "file").read_bytes()

    for figure in ("#regions-valence", "#regions-by-topic", "#regions-typical-words"):
        assert b"<svg" in download(figure, "svg") and download(figure, "png").startswith(b"\x89PNG")
    rows = list(csv.DictReader(download("#regions-valence", "csv").decode().splitlines()))
    assert rows[0]["region"] == "Chad" and float(rows[0]["low"]) > 1
    assert "what it means" in download("#regions-content", "csv").decode().splitlines()[0]


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light")])
def test_everybody_can_read_it(browser: Browser, file: Path, width: int, scheme: str) -> None:
    for page in opened(browser, file, viewport={"width": width, "height": 800}, color_scheme=scheme):
        search(page, "Kenya")
        results = Axe().run(page)
        assert results.response["violations"] == [], results.generate_report()
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_without_scripts_there_are_still_pictures(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    for figure in ("valence", "by-topic", "typical-words"):
        assert page.locator(f"#regions-{figure} .still svg").is_visible()
    assert "Favourable words" in page.inner_text(f"{MAP} .map") and page.locator(f"{MAP} .map svg").is_visible()
    assert "Ratio to invented places" in page.inner_text("#regions-content")
    context.close()


def test_a_run_without_effects_says_so(browser: Browser, tmp_path: Path) -> None:
    world_run(tmp_path / "run", World())
    for page in opened(browser, tmp_path / "run" / "report.html"):
        assert "no topic stands out for any country" in page.inner_text("#regions-by-topic")
        assert "no word stands out for any country" in page.inner_text("#regions-typical-words")
        assert page.locator("#regions-by-topic svg").count() == 0
        search(page, "Kenya")
        assert page.locator(f"{PANEL} li.sure").count() == 0
