"""The page in a real browser: structure, overlap, downloads, everyone can read it, and what users wrote is text."""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from geobias.audits.pages import read_runs, render_page
from geobias.report.page.blocks import Block, Choice, Section, Table
from geobias.report.page.build import Background, render
from tests.report.pages import COUNTRIES, HOSTILE, LABELS, PEOPLE, invent_findings, page_with_findings

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FOUND = next(filter(None, map(shutil.which, BROWSERS)), None)
if FOUND is None and "CI" not in os.environ:
    pytest.skip("The page is tested in a browser: apt-get install chromium.", allow_module_level=True)
CONTROLS = "a[href], button, select, input, summary, [tabindex='0']"
UNFOLD = "all => all.forEach(each => { each.open = true })"
# Texts of one picture that cover each other, by their boxes less a pixel.
OVERLAPS = """svgs => svgs.flatMap(svg => {
    const texts = [...svg.querySelectorAll("text")].filter(text => !text.closest(".claim"));
    const boxes = texts.map(text => [text.getBoundingClientRect(), text.textContent]);
    const meet = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
    return boxes.flatMap(([box, first], k) => boxes.slice(k + 1).filter(([other]) => meet(box, other))
        .map(([, second]) => [svg.closest("figure").id, first, second]));
})"""
OUTSIDE = """svgs => svgs.flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter(text => !text.closest(".claim")).filter(text => {
        const box = text.getBoundingClientRect();
        return box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2;
    }).map(text => [svg.closest("figure").id, text.textContent]);
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Whatever is on the path, or Chrome where macOS and Windows keep it; in CI a missing browser is a failure."""
    channel = None if FOUND else "chrome"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=FOUND, channel=channel, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_with_findings(tmp_path_factory.mktemp("plain"))


def opened(browser: Browser, file: Path, **options: Any) -> Iterator[Page]:
    """The page. Whatever it complained of or asked the network for is an error at the end."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options)
    page, complaints, asked = context.new_page(), list[str](), list[str]()
    page.set_default_timeout(60_000)  # cores may be busy with other tests
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn=yes]")
    yield page
    page.wait_for_timeout(50)  # what was said last arrives
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("blob:", "data:"))] == [file.as_uri()]


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file)


@pytest.fixture
def narrow(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file, viewport={"width": 390, "height": 700})


@pytest.fixture
def dark(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file, color_scheme="dark")


def download(page: Page, figure: str, kind: str) -> bytes:
    with page.expect_download() as started:
        page.locator(f"#{figure} [data-download={kind}]").click()
    assert started.value.suggested_filename == f"{figure}.{kind}"
    return started.value.path().read_bytes()


def test_the_first_screen_has_the_headline_and_a_picture(page: Page) -> None:
    answers = [each for each in invent_findings() if each.role == "overall"]
    assert page.locator("h1").inner_text() == answers[0].sentence  # without a headline of its own
    assert page.locator(".hero .chip").inner_text().endswith(answers[0].label)
    picture = page.locator(".hero svg:visible").bounding_box()
    assert picture and picture["y"] < 600
    assert page.locator(".board tbody tr").count() == page.locator(".cards > .card").count() == len(answers) + 1
    labels = [chip.split("\n")[-1] for chip in page.locator(".board .chip").all_inner_texts()]
    assert re.sub(r"^\W+", "", labels[0]) == "clear"


def test_a_quote_has_the_limit(browser: Browser, file: Path) -> None:
    for page in opened(browser, file, permissions=["clipboard-read", "clipboard-write"]):
        page.locator("[data-copy]").click()
        quote = page.evaluate("navigator.clipboard.readText()")
        assert quote.startswith(page.locator("h1").inner_text()) and "12 texts." in quote and "geobias" in quote


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_no_text_of_a_picture_covers_another_or_leaves_it(browser: Browser, file: Path, width: int) -> None:
    for page in opened(browser, file, viewport={"width": width, "height": 800}):
        page.eval_on_selector_all("details", UNFOLD)
        pictures = "figure > svg"
        shown = page.locator(f"{pictures}:visible").count()
        assert shown > 8 and shown == page.locator("figure:visible:has(> svg)").count()  # one width of each
        for script in (OVERLAPS, OUTSIDE):
            assert (
                page.eval_on_selector_all(pictures, f"all => ({script})(all.filter(one => one.checkVisibility()))")
                == []
            )
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_only_what_is_distinguishable_has_a_colour(page: Page) -> None:
    effects = [
        row for row in read_runs(Path(page.url.removeprefix("file://")).parent)[1].result.effects if row.stands_out
    ]
    marked = page.locator("#names-delta-0 > svg.w0 circle:not(.open)").count()
    assert marked == len({row.place for row in effects if row.model == "judges:one" and row.unit == "points"})
    cells = page.locator("#names-heat-0 > svg.w0 rect.cell")
    assert cells.count() == len(PEOPLE) * len(LABELS)


def test_a_choice_shows_one_chart_and_follows_the_others(page: Page) -> None:
    page.eval_on_selector_all("details", UNFOLD)
    page.locator("#names-heat input").nth(1).check()
    for choice in ("names-heat", "names-correlations"):
        first, second = page.locator(f"#{choice} > [data-option]").all()
        assert first.is_hidden() and second.is_visible()


def test_dark_by_the_system_and_by_the_button(page: Page, dark: Page) -> None:
    def look(of: Page) -> list[str]:
        body, text = of.locator("body"), of.locator("svg text.ink").first
        return [
            body.evaluate("e => getComputedStyle(e).backgroundColor"),
            text.evaluate("e => getComputedStyle(e).fill"),
        ]

    light = look(page)
    assert all(one != other for one, other in zip(light, look(dark), strict=True))
    page.locator("#theme").click()
    assert look(page) == look(dark)
    page.locator("#theme").click()
    assert look(page) == light


@pytest.mark.parametrize("view", ["page", "dark", "narrow"])
def test_axe_finds_no_violation(view: str, request: pytest.FixtureRequest) -> None:
    shown: Page = request.getfixturevalue(view)
    shown.eval_on_selector_all("details", UNFOLD)
    results = Axe().run(shown)
    assert results.response["violations"] == [], results.generate_report()


def test_terms_are_explained_on_hover_and_focus(page: Page) -> None:
    page.eval_on_selector_all("details", UNFOLD)
    tip, term = page.locator(".tip"), page.locator("dfn", has_text="adjusted p").first
    described_by = term.get_attribute("aria-describedby")
    definition = page.locator(f"#{described_by}").text_content() or ""
    assert definition and tip.is_hidden()
    term.hover()
    assert tip.inner_text() == definition
    page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    term.focus()
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


@pytest.fixture
def table_page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    values = ["+10.5*", "−3.0", "2 to 4", "–", "< 0.001", "1,200", *(f"{n}.5" for n in range(20, 32))]
    rows = [{"place": f"place {n}", "value": value} for n, value in enumerate(values)]
    options = {name: Table(name, name, "", rows[:3]) for name in ("short", "other")}
    tables: list[Block] = [Table("long", "Long", "", rows), Choice("choice", "Which", options)]
    html = render([Section("s", "S", "", tables)], [], description="", background=Background([], [], []))
    (tmp_path / "tables.html").write_text(html, encoding="utf-8")
    yield from opened(browser, tmp_path / "tables.html")


def test_tables_are_sorted_and_searched(table_page: Page) -> None:
    table_page.eval_on_selector_all("details", UNFOLD)

    def cells(column: int) -> list[str]:
        return table_page.locator(f"#long tbody tr:not([hidden]) td:nth-child({column})").all_inner_texts()

    table_page.locator("#long th button", has_text="value").press("Enter")
    assert cells(2)[:5] == ["−3.0", "< 0.001", "2 to 4", "+10.5*", "20.5"] and cells(2)[-2:] == ["1,200", "–"]
    heading = table_page.locator("#long th", has_text="value")
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert cells(2)[0] == "1,200" and cells(2)[-1] == "–" and heading.get_attribute("aria-sort") == "descending"
    assert table_page.locator("#short input").count() == 0
    table_page.locator("#long input").fill("PLACE 6 20")
    assert cells(2) == ["20.5"] and "1 of 18 rows" in table_page.inner_text("#long")
    table_page.locator("#choice label", has_text="other").click()
    assert table_page.locator("#other").is_visible() and table_page.locator("#short").is_hidden()


def test_without_scripts_every_picture_is_there_and_nothing_to_press(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator("details").first.wait_for()
    assert page.locator(".hero svg:visible").count() == 1
    assert not any(control.is_visible() for control in page.locator("button, input").all())
    context.close()


def test_on_paper_there_are_two_pages(dark: Page) -> None:
    dark.emulate_media(media="print", color_scheme="dark")
    assert [each for each in dark.locator("button, select, input, nav").all() if each.is_visible()] == []
    assert dark.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert dark.locator(".hero svg:visible").count() == 1 and "Details" not in dark.inner_text("body")
    assert re.findall(rb"/Count (\d+)", dark.pdf(prefer_css_page_size=True)) == [b"2"]


def test_a_text_can_be_tried_with_every_country(browser: Browser, file: Path, tmp_path: Path) -> None:
    html = render_page(read_runs(file.parent), with_texts=True)
    (tmp_path / "texts.html").write_text(html, encoding="utf-8")
    for page in opened(browser, tmp_path / "texts.html"):
        dots = page.locator("#try circle")
        assert dots.count() == len(PEOPLE) * 4 and page.locator("#try circle.neutral").count() == 4
        for country, first in (("Aland", "A"), ("Cland", "E")):
            page.locator("[data-try=country]").select_option(label=country)
            assert page.locator("#try mark").first.inner_text().startswith(first)
            assert page.locator("[data-try=answer]").inner_text().startswith(f"{country}: ")
        page.locator("#hide-texts").check()
        assert page.locator("#try").is_hidden()


def test_the_headline_is_saved_as_a_card(page: Page) -> None:
    with page.expect_download() as started:
        page.locator("#save-social").click()
    content = started.value.path().read_bytes()
    assert (int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")) == (1200, 630)


def test_the_keyboard_alone_reaches_everything_in_order(page: Page) -> None:
    page.mouse.click(1, 1)  # Tab goes on from where the reader clicked last
    expected = page.eval_on_selector_all(
        CONTROLS,
        """all => all.filter(one => one.checkVisibility() && (one.type !== "radio" || one.checked))
            .map((one, k) => (one.dataset.tab = String(k)))""",
    )
    reached = []
    for _ in range(len(expected) + 1):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.dataset.tab"))
    assert reached[: len(expected)] == expected and len(expected) > 20


def test_the_switch_hides_texts(page: Page) -> None:
    assert "is rude" in page.inner_text("main")
    page.locator("#hide-texts").check()
    assert "is rude" not in page.inner_text("main") and "was here" not in page.inner_text("main")


def test_every_picture_is_saved_with_its_title_caveat_and_source(dark: Page, file: Path) -> None:
    svg = download(dark, "names-delta-0", "svg").decode()
    texts = " ".join(re.findall(r"<text[^>]*>([^<]*)<", svg))
    assert "Source: geobias" in texts and "judges:one" in texts and "Hollow" in texts and "--ink: #15181c" in svg
    png = download(dark, "names-delta-0", "png")
    assert png.startswith(b"\x89PNG") and len(png) > 10_000
    width = int.from_bytes(png[16:20], "big")
    assert width == 2 * int(re.findall(r'viewBox="\S+ \S+ (\d+)', svg)[0])
    title, caveat, source, *lines = download(dark, "names-delta-0", "csv").decode().splitlines()
    assert title.startswith('"# ') and caveat.startswith('"# ') and source.startswith('"# Source: geobias')
    rows = list(csv.DictReader(lines))
    effects = {row.place: row for row in read_runs(file.parent)[1].result.list_deltas("judges:one")}
    assert {row["place"]: float(row["value"]) for row in rows} == pytest.approx(
        {name: effect.estimate.value for name, effect in effects.items()},
        rel=1e-5,  # six digits
    )


def test_a_table_is_saved_as_it_stands_on_the_page(page: Page) -> None:
    page.eval_on_selector_all("details", UNFOLD)
    table = page.locator("figure.table:visible").first
    name = table.get_attribute("id") or ""
    _, _, source, heading, *rows = csv.reader(download(page, name, "csv").decode().splitlines())
    assert source[0].startswith("# Source: geobias") and len(heading) == table.locator("th").count()
    cells = [
        [cell.strip() for cell in row.locator("td").all_text_contents()] for row in table.locator("tbody tr").all()
    ]
    assert [[cell.removeprefix("'") for cell in row] for row in rows] == cells
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


def test_the_map_has_every_country_and_its_csv_their_numbers(page: Page) -> None:
    page.eval_on_selector_all("details", UNFOLD)
    figures = page.locator("[id^='regions-map']:is(figure)")
    assert figures.count() >= 1
    name = figures.first.get_attribute("id") or ""
    assert page.locator(f"#{name} > svg.w0 use").count() > 200
    rows = list(csv.DictReader(download(page, name, "csv").decode().splitlines()[3:]))
    assert {row["code"] for row in rows} <= set(COUNTRIES)


def test_the_page_is_well_formed(page: Page) -> None:
    assert page.get_attribute("html", "lang") == "en" and page.locator("h1").count() == 1
    ids = page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    assert all(svg.get_attribute("aria-label") for svg in page.locator("figure > svg").all())


def test_whatever_users_wrote_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    for page in opened(browser, page_with_findings(tmp_path, HOSTILE), viewport={"width": 375, "height": 900}):
        page.eval_on_selector_all("details", UNFOLD)
        places = (
            "h1",
            ".example",
            ".card details",
            ".board td",
            "#names-heat-0 > svg.w1 text >> nth=-1",
            ".command, .plain td",
        )
        for place in places[:4]:
            text = page.locator(place).first.text_content() or ""
            assert "<img src=x onerror=" in text and "{{7*7}}" in text, place
        assert page.locator("img").count() == 0 and page.evaluate("window.pwned") is None
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
