"""The page in a real browser: it draws, answers, can be read by everyone, and shows whatever users wrote as text."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from geobias.audits.pages import read_runs
from geobias.world.shapes import load_shapes
from tests.report.pages import COUNTRIES, HOSTILE, LABELS, PEOPLE, WORDS, both_runs

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FOUND = next(filter(None, map(shutil.which, BROWSERS)), None)
if FOUND is None and "CI" not in os.environ:
    pytest.skip("The page is tested in a browser: apt-get install chromium.", allow_module_level=True)
pytestmark = pytest.mark.slow
MAP, PANEL = "#regions-map", "#regions-map .panel"
CONTROLS = "a[href], button, select, input, summary, [tabindex='0']"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Whatever is on the path, or Chrome where macOS and Windows keep it; in CI a missing browser is a failure."""
    channel = None if FOUND else "chrome"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=FOUND, channel=channel, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return both_runs(tmp_path_factory.mktemp("plain"))


def opened(browser: Browser, file: Path, **options: Any) -> Iterator[Page]:
    """The page once it is drawn. Whatever it complained of or asked the network for is an error at the end."""
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, "reduced_motion": "reduce"} | options)
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
    yield from opened(browser, file, viewport={"width": 375, "height": 700})


@pytest.fixture
def dark(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file, color_scheme="dark")


def colours(page: Page) -> list[str]:
    """Of the countries that have a number."""
    return page.eval_on_selector_all(
        f"{MAP} svg .layer_1_marks path", "all => all.map(one => one.getAttribute('fill'))"
    )


def legend(page: Page) -> str:
    return page.locator(f"{MAP} .legend").inner_text()


def choose(page: Page, role: str, label: str) -> None:
    before = legend(page)
    page.locator(f"{MAP} [data-role={role}]").select_option(label=label)
    if role != "country":
        expect(page.locator(f"{MAP} .legend")).not_to_have_text(before)  # it is said once the map is drawn


def test_the_world_is_drawn_and_fills_its_place(page: Page) -> None:
    def count(layer: int) -> int:
        return page.locator(f"{MAP} svg .layer_{layer}_marks path").count()

    with_shape = {shape.code for shape in load_shapes()} & set(COUNTRIES)
    assert count(1) == len(with_shape) and count(0) + count(1) == len(load_shapes())
    assert count(2) >= 1  # Malta's circle
    drawing, land = (page.locator(f"{MAP} {what}").bounding_box() for what in (".drawing svg", "svg .layer_0_marks"))
    assert drawing and land
    assert land["width"] > 0.95 * drawing["width"]
    assert land["height"] > 0.95 * (drawing["height"] - 70)  # the legend's


def test_topics_and_words_change_colours_and_the_sentence(page: Page) -> None:
    assert not page.locator(f"{MAP} [data-role=word]").is_visible()
    seen = [(legend(page), colours(page))]
    for role, label in (("measure", "How likely words are"), ("topic", "work"), ("word", "thief")):
        choose(page, role, label)
        seen.append((legend(page), colours(page)))
    assert len({said for said, _ in seen}) == len({tuple(found) for _, found in seen}) == 4
    assert "the 3 words of “manners”" in seen[1][0] and "“People in … are thief.”" in seen[3][0]


def test_a_country_opens_by_click_or_from_the_list(page: Page) -> None:
    panel = page.locator(PANEL)
    assert panel.is_hidden()
    page.locator(f"{MAP} svg .layer_1_marks path[aria-label*='Chad']").click()
    clicked = panel.inner_text()
    assert "Chad (Africa)" in clicked and "City 2 of TD" in clicked
    assert panel.evaluate("panel => panel === document.activeElement")
    said = list[str]()
    for title in ("Likelier", "Less likely"):
        sentences = panel.locator("div", has=page.locator("h5", has_text=title)).last.locator("li")
        said += [sentence.split(" f\xa0")[0] for sentence in sentences.all_inner_texts()]
    expected = [f"“People in Chad are {word}.”" for words in WORDS.values() for word in words]
    assert sorted(said) == sorted(expected)  # each in one of the lists
    panel.get_by_role("button", name="Close").click()
    assert panel.is_hidden()
    assert page.evaluate("document.activeElement.dataset.role") == "country"
    choose(page, "country", "Chad")
    assert panel.inner_text() == clicked
    page.keyboard.press("ArrowDown")  # the focus is still in the list
    assert "Chad" not in panel.inner_text()


def test_the_heat_map_has_a_cell_for_every_country_and_class(page: Page) -> None:
    fills = "all => all.map(one => one.getAttribute('fill'))"
    cells = page.eval_on_selector_all("#names-heat-0 svg .mark-rect.layer_0_marks path", fills)
    texts = page.eval_on_selector_all("#names-heat-0 svg .layer_1_marks text", fills)
    assert len(cells) == len(texts) == len(PEOPLE) * len(LABELS)
    assert set(texts) == {"#000000", "#ffffff"} and len(set(cells)) > 5


def test_a_choice_shows_the_other_chart(page: Page) -> None:
    for choice in ("regions-form", "names-heat", "names-delta", "names-correlations"):
        first, second = page.locator(f"#{choice} figure").all()
        page.locator(f"#{choice} input").nth(1).check()
        second.locator("svg").wait_for()
        assert first.is_hidden() and second.is_visible()


def test_dark_by_the_system_and_by_the_button(page: Page, dark: Page) -> None:
    def look(of: Page, unlike: str = "") -> tuple[str, str]:
        label = of.locator("#names-heat-0 svg .role-axis-label text").first
        expect(label).not_to_have_attribute("fill", unlike)  # drawing takes a while
        return of.evaluate("getComputedStyle(document.body).backgroundColor"), label.get_attribute("fill") or ""

    light, by_system = look(page), look(dark)
    assert light[0] != by_system[0] and light[1] != by_system[1]
    page.locator("#theme").click()
    assert look(page, light[1]) == by_system
    page.locator("#theme").click()
    assert look(page, by_system[1]) == light


CONTRAST = """() => {
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    const colour = getComputedStyle(one).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" ? behind(one.parentElement) : colour;
  };
  const of = (one) => [light(getComputedStyle(one).color), light(behind(one))].sort((a, b) => b - a);
  const ratio = ([more, less]) => (more + 0.05) / (less + 0.05);
  const texts = document.querySelectorAll("body, .reading, .note, .warning, .interval, dt, a, button, mark, footer");
  return [...texts].map((one) => [ratio(of(one)), one.outerHTML.slice(0, 80)]).filter(([found]) => found < 4.5);
}"""


def test_texts_stand_out_from_what_is_behind_them(page: Page, dark: Page) -> None:
    assert page.evaluate(CONTRAST) == dark.evaluate(CONTRAST) == []


def test_a_narrow_screen(narrow: Page) -> None:
    choose(narrow, "country", "France")
    narrow.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    assert narrow.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    boxes = [number.bounding_box() for number in narrow.locator(".numbers > div").all()]
    assert len({box["x"] for box in boxes if box}) == 1 and len({box["y"] for box in boxes if box}) == 3
    overlapping = """all => all.filter((one, k) => k && one.closest("g") === all[k - 1].closest("g")
        && one.getBoundingClientRect().left < all[k - 1].getBoundingClientRect().right).length"""
    labels = ".chart:not(.world) svg .mark-group.role-axis[aria-label^='X-axis'] .role-axis-label text[opacity='1']"
    assert narrow.locator(labels).count() > 6
    assert narrow.eval_on_selector_all(labels, overlapping) == 0


def test_on_paper_there_is_nothing_to_press_and_no_dark(dark: Page) -> None:
    choose(dark, "country", "France")
    dark.emulate_media(media="print", color_scheme="dark")
    assert [one for one in dark.locator("button, select, input, nav").all() if one.is_visible()] == []
    assert dark.locator(PANEL).is_visible() and dark.locator("h1").is_visible()
    assert dark.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    labels = dark.locator("#names-heat-0 svg .role-axis-label text, #regions-map svg .role-legend text")
    assert set(labels.evaluate_all("all => all.map(one => getComputedStyle(one).fill)")) == {"rgb(68, 68, 68)"}


def test_the_keyboard_alone_reaches_everything_in_order(page: Page) -> None:
    choose(page, "country", "France")
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
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


def test_the_switch_hides_texts_words_and_sentences(page: Page) -> None:
    choose(page, "measure", "How likely words are")
    choose(page, "topic", "work")
    choose(page, "word", "thief")
    choose(page, "country", "France")
    assert "thief" in page.inner_text(PANEL) and page.locator(".example").first.is_visible()
    page.locator("#hide-texts").check()
    shown = page.inner_text("main")
    assert "thief" not in shown and "was here" not in shown and "Hidden by the switch" in shown
    assert "City 1 of FR" in page.inner_text(PANEL)
    page.locator("#hide-texts").uncheck()
    assert "thief" in legend(page) and "was here" in page.inner_text("main")


def test_every_chart_offers_its_rows(page: Page, file: Path, tmp_path: Path) -> None:
    def rows(of: str) -> list[dict[str, str]]:
        with page.expect_download() as started:
            page.locator(f"[data-csv='{of}']").click()
        started.value.save_as(tmp_path / "rows.csv")
        return list(csv.DictReader((tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()))

    found = rows("regions-map")
    assert [row["code"] for row in found] == list(COUNTRIES) and found[0]["continent"] == "Europe"
    cells = rows("names-heat-0")
    assert len(cells) == len(PEOPLE) * len(LABELS)
    entry = read_runs(file.parent)[1].result.classifiers[0].countries[0]
    assert float(cells[0]["value"]) == entry.against_mean.change[LABELS[0]]
    assert cells[0]["text"].startswith(("'+", "'-"))  # no formula


def test_the_page_is_well_formed(page: Page) -> None:
    assert page.get_attribute("html", "lang") == "en" and page.locator("h1").count() == 1
    ids = page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    charts = page.locator("figure.chart").all()
    assert len(charts) > 8
    for chart in charts:
        for part in ("h3", ".reading"):
            assert chart.locator(part).text_content()
        assert chart.locator(".drawing").get_attribute("aria-label")


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return both_runs(tmp_path_factory.mktemp("hostile"), HOSTILE)


@pytest.fixture
def hostile(browser: Browser, hostile_file: Path) -> Iterator[Page]:
    yield from opened(browser, hostile_file, viewport={"width": 375, "height": 900})


def test_whatever_users_wrote_is_shown_as_text(hostile: Page) -> None:
    for role, label in (("measure", "How likely words are"), ("topic", "work" + HOSTILE), ("word", "thief" + HOSTILE)):
        choose(hostile, role, label)
    assert "thief" in legend(hostile)
    choose(hostile, "country", "Chad" + HOSTILE)
    shown = {
        "a title": "h1",
        "a legend": f"{MAP} .legend",
        "the panel": PANEL,
        "a city": f"{PANEL} > ul:last-child",
        "a text": ".example",
        "a country": ".example .as-is span",
        "a label": ".example .said th",
        "a model": "#names-heat legend ~ label",
        "the settings": "details",
    }
    for what, selector in shown.items():
        text = hostile.locator(selector).first.text_content() or ""
        assert '<img src=x onerror="window.pwned=1"> <b>\'"&amp; $& ' in text, what
        assert "{{7*7}}" in text, what
    assert "“People in Chad" + HOSTILE + " are " in (hostile.locator(PANEL).text_content() or "")
    for mark in (f"{MAP} svg .layer_1_marks path", "#names-heat-0 svg .layer_1_marks text"):
        hostile.locator(mark).first.hover()
        tip = hostile.locator("#vg-tooltip-element.visible")
        tip.wait_for()
        assert "<img src=x onerror" in tip.inner_text() and "{{7*7}}" in tip.inner_text()
        hostile.mouse.move(0, 0)
    assert hostile.locator("img, b:not(.numbers b)").count() == 0
    assert hostile.evaluate("window.pwned") is None
    assert hostile.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_no_spreadsheet_runs_the_name_of_a_country(browser: Browser, file: Path, tmp_path: Path) -> None:
    formula = tmp_path / "page.html"
    formula.write_text(file.read_text(encoding="utf-8").replace('"name":"France"', '"name":"=1+1"'), encoding="utf-8")
    for page in opened(browser, formula):
        with page.expect_download() as started:
            page.locator("[data-csv='regions-map']").click()
        assert 'FR,"\'=1+1",' in started.value.path().read_text(encoding="utf-8")
