"""The page in a real browser: it draws, answers, can be read by everyone, and shows whatever users wrote as text."""

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
from playwright.sync_api import Browser, ElementHandle, Page, expect, sync_playwright

from geobias.audits.pages import read_runs
from geobias.report.page.blocks import Block, Choice, Section, Table
from geobias.report.page.build import Background, render
from geobias.world.countries import load_shapes
from tests.report.pages import COUNTRIES, HOSTILE, LABELS, PEOPLE, WORDS, invent_findings, page_with_findings

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
    return page_with_findings(tmp_path_factory.mktemp("plain"))


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


def find_shape(page: Page, map_id: str, country: str) -> ElementHandle:
    """The outline of a country on a map; Vega keeps the row behind each shape."""
    shape = page.evaluate_handle(
        """([map_id, country]) => [...document.querySelectorAll(`${map_id} svg path`)].find((path) => {
            const datum = path.__data__?.datum;
            return datum && (datum.name ?? datum.properties?.name) === country;
        })""",
        [map_id, country],
    ).as_element()
    assert shape is not None
    return shape


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file)


@pytest.fixture
def narrow(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file, viewport={"width": 390, "height": 700})


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
    chooser = page.locator(f"{MAP} [data-role={role}]")
    if role == "country":
        chooser.fill(label)
        return chooser.press("Enter")
    before = legend(page)
    chooser.select_option(label=label)
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
    find_shape(page, MAP, "Chad").click()
    clicked = panel.inner_text()
    assert "Chad (Africa)" in clicked and "City 2 of TD" in clicked
    assert panel.evaluate("panel => panel === document.activeElement")
    said = list[str]()
    for title in ("More likely", "Less likely"):
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
    cells = page.eval_on_selector_all("#names-heat-0 svg .mark-rect.role-mark path", fills)
    texts = page.eval_on_selector_all("#names-heat-0 svg .mark-text.role-mark text", fills)
    contents = "all => all.map(one => one.textContent)"
    words = page.eval_on_selector_all("#names-heat-0 svg .mark-text.role-mark text", contents)
    assert len(texts) == len(words) == len(PEOPLE) * len(LABELS)
    assert len(cells) == sum(any(map(str.isdigit, word)) for word in words) > 3  # "too few" has no colour
    assert set(texts) <= {"#000000", "#ffffff", "#595955"} and len(set(cells)) > 3


def test_a_choice_shows_the_other_chart(page: Page) -> None:
    first, second = page.locator("#regions-continents-balanced-choice figure").all()
    page.locator("#regions-continents-balanced-choice input").nth(1).check()
    second.locator("svg").first.wait_for()
    assert first.is_hidden() and second.is_visible()


def test_one_control_switches_the_model_of_every_chart(page: Page) -> None:
    assert page.locator(".models").count() == 1 and page.locator("#names-heat input").count() == 0
    page.locator(".models input").first.focus()
    page.keyboard.press("ArrowRight")
    for choice in ("names-heat", "names-delta", "names-correlations"):
        first, second = page.locator(f"#{choice} figure").all()
        second.locator(".live svg").wait_for()
        assert first.is_hidden() and second.is_visible()
    assert page.evaluate("location.hash") == "#model=judges%3Atwo"
    page.evaluate("location.hash = '#model=%'")  # neither a name nor an encoding: nothing happens
    page.evaluate("location.hash = '#model=judges%3Aone'")
    expect(page.locator("#names-heat-0")).to_be_visible()
    assert page.locator(".models input").first.is_checked()


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


def test_verdict_and_findings_come_first(page: Page) -> None:
    text = page.inner_text("body")
    places = [
        text.index(part) for part in ("Clear differences in 1 of 5 tests", "Overall", "What stands out", "Cautions")
    ]
    assert places == sorted(places) and places[-1] < text.rindex("Regions: how")
    labels = page.locator(".finding .label").all_inner_texts()
    assert [", ".join(label.split("\n")) for label in labels] == [
        "no evidence",
        *(each.label_with_size for each in invent_findings()),
    ]
    clear = page.locator(".finding.clear").first
    assert page.locator(".group > .next code").first.inner_text() == "geobias names --texts more.csv"
    assert clear.locator(".example").is_hidden()
    clear.locator("summary").click()
    assert "95 % interval −3.4 to −0.2) · adjusted p = 0.001" in clear.inner_text()
    assert clear.locator("mark").all_inner_texts() == ["Mary", "Cxma"] and "may offend" in clear.inner_text()
    page.locator("#hide-texts").check()
    assert "is rude" not in clear.inner_text() and "Hidden by the switch" in clear.inner_text()


@pytest.mark.parametrize("view", ["page", "dark", "narrow"])
def test_axe_finds_no_violation(view: str, request: pytest.FixtureRequest) -> None:
    shown: Page = request.getfixturevalue(view)
    choose(shown, "country", "France")
    shown.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    shown.locator("#findings dfn").first.focus()
    results = Axe().run(shown)
    assert results.response["violations"] == [], results.generate_report()


def test_terms_are_explained_on_hover_and_focus(page: Page) -> None:
    tip, term = page.locator(".tip"), page.locator("dfn", has_text="adjusted p").first
    described_by = term.get_attribute("aria-describedby")
    definition = page.locator(f"#{described_by}").text_content() or ""
    assert "if there were none" in definition and tip.is_hidden()
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
    def cells(column: int) -> list[str]:
        return table_page.locator(f"#long tbody tr:not([hidden]) td:nth-child({column})").all_inner_texts()

    table_page.locator("#long th button", has_text="value").press("Enter")
    assert cells(2)[:5] == ["−3.0", "< 0.001", "2 to 4", "+10.5*", "20.5"] and cells(2)[-2:] == ["1,200", "–"]
    heading = table_page.locator("#long th", has_text="value")
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert cells(2)[0] == "1,200" and cells(2)[-1] == "–" and heading.get_attribute("aria-sort") == "descending"
    table_page.locator("#long th button", has_text="place").click()
    assert cells(1)[:3] == ["place 0", "place 1", "place 2"] and heading.get_attribute("aria-sort") is None
    assert table_page.locator("#short input").count() == 0
    table_page.locator("#long input").fill("PLACE 6 20")
    assert cells(2) == ["20.5"] and "1 of 18 rows" in table_page.inner_text("#long")
    table_page.locator("#choice label", has_text="other").click()
    assert table_page.locator("#other").is_visible() and table_page.locator("#short").is_hidden()
    assert "This audit draws no conclusions" in table_page.inner_text("#findings")


def test_without_scripts_every_chart_is_a_still_picture(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    charts = page.locator("[data-chart]").count()
    assert charts > 7 and page.locator(".still svg").count() == charts
    assert all(still.is_visible() for still in page.locator(".still").all())
    controls = page.locator("button:not(.world *), input:not(.world *)").all()
    assert len(controls) > 20 and not any(control.is_visible() for control in controls)
    context.close()


def test_a_narrow_screen(narrow: Page) -> None:
    choose(narrow, "country", "France")
    narrow.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    assert narrow.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    overlapping = """all => all.filter((one, k) => k && one.closest("g") === all[k - 1].closest("g")
        && one.getBoundingClientRect().left < all[k - 1].getBoundingClientRect().right).length"""
    labels = ".chart:not(.world) svg .mark-group.role-axis[aria-label^='X-axis'] .role-axis-label text[opacity='1']"
    assert narrow.locator(labels).count() > 6
    assert narrow.eval_on_selector_all(labels, overlapping) == 0


def test_on_paper_there_are_two_pages_for_all_models(dark: Page) -> None:
    dark.emulate_media(media="print", color_scheme="dark")
    assert [one for one in dark.locator("button, select, input, nav").all() if one.is_visible()] == []
    assert dark.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown = [figure.get_attribute("id") for figure in dark.locator("figure").all() if figure.is_visible()]
    assert shown == ["regions-continents-balanced", "names-delta-0", "names-delta-1"]
    assert not dark.locator(".live").first.is_visible()
    text = dark.inner_text("body")
    assert "Cautions" in text and "Main numbers" in text and "Methods and limits" not in text
    pdf = dark.pdf(prefer_css_page_size=True)
    assert re.findall(rb"/Count (\d+)", pdf) == [b"2"]


def test_the_keyboard_alone_reaches_everything_in_order(page: Page) -> None:
    choose(page, "country", "France")
    page.evaluate("scrollTo(0, 0)")
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


def test_the_switch_hides_texts_words_and_sentences(page: Page) -> None:
    choose(page, "measure", "How likely words are")
    choose(page, "topic", "work")
    choose(page, "word", "thief")
    choose(page, "country", "France")
    assert "thief" in page.inner_text(PANEL) and page.locator("#names .example").first.is_visible()
    page.locator("#hide-texts").check()
    shown = page.inner_text("main")
    assert "thief" not in shown and "was here" not in shown and "Hidden by the switch" in shown
    assert "City 1 of FR" in page.inner_text(PANEL)
    page.locator("#hide-texts").uncheck()
    assert "thief" in legend(page) and "was here" in page.inner_text("main")


def test_every_chart_offers_its_rows(page: Page, file: Path, tmp_path: Path) -> None:
    def rows(of: str) -> list[dict[str, str]]:
        with page.expect_download() as started:
            page.locator(f"[data-csv='{of}'], [data-download=csv][data-of='{of}']").click()
        started.value.save_as(tmp_path / "rows.csv")
        return list(csv.DictReader((tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()))

    found = rows("regions-map")
    assert [row["code"] for row in found] == list(COUNTRIES) and found[0]["continent"] == "Europe"
    cells = rows("names-heat-0")
    assert len(cells) == len(PEOPLE) * len(LABELS)
    effects = {(row.place, row.label): row for row in read_runs(file.parent)[1].result.classes}
    assert float(cells[0]["value"]) == effects[cells[0]["country"], LABELS[0]].against_mean.value
    assert cells[0]["text"].startswith(("'+", "'-"))  # no formula


def test_every_chart_is_saved_as_an_image(dark: Page) -> None:
    contents = {}
    for kind in ("svg", "png"):
        with dark.expect_download() as started:
            dark.locator(f"#names-delta-0 [data-download={kind}]").click()
        assert started.value.suggested_filename == f"names-delta-0.{kind}"
        contents[kind] = started.value.path().read_bytes()
    assert contents["png"].startswith(b"\x89PNG") and len(contents["png"]) > 5_000
    svg = contents["svg"].decode()
    title = dark.locator("#names-delta-0 h3").inner_text()
    assert title[:20] in svg and 'fill="white"' in svg and "#595955" in svg  # the light page's colours


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
    return page_with_findings(tmp_path_factory.mktemp("hostile"), HOSTILE)


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
        "a country": ".example .renamed span",
        "a label": ".example .scores th",
        "a model": ".models label",
        "a finding": ".finding .sentence",
        "its limit": ".remark.limit",
        "its command": ".remark.next",
        "an example": ".finding .example",
        "the settings": "details",
    }
    for what, selector in shown.items():
        text = hostile.locator(selector).first.text_content() or ""
        assert '<img src=x onerror="window.pwned=1"> <b>\'"&amp; $& ' in text, what
        assert "{{7*7}}" in text, what
    assert "“People in Chad" + HOSTILE + " are " in (hostile.locator(PANEL).text_content() or "")
    for mark in (f"{MAP} svg .layer_1_marks path", "#names-heat-0 svg .mark-text.role-mark text"):
        hostile.locator(mark).first.hover()
        tip = hostile.locator("#vg-tooltip-element.visible")
        tip.wait_for()
        assert "<img src=x onerror" in tip.inner_text() and "{{7*7}}" in tip.inner_text()
        hostile.mouse.move(0, 0)
    assert hostile.locator("img, b:not(.question b, .remark b)").count() == 0
    assert hostile.evaluate("window.pwned") is None
    assert hostile.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_no_spreadsheet_runs_the_name_of_a_country(browser: Browser, file: Path, tmp_path: Path) -> None:
    formula = tmp_path / "page.html"
    formula.write_text(file.read_text(encoding="utf-8").replace('"name":"France"', '"name":"=1+1"'), encoding="utf-8")
    for page in opened(browser, formula):
        with page.expect_download() as started:
            page.locator("[data-csv='regions-map']").click()
        assert 'FR,"\'=1+1",' in started.value.path().read_text(encoding="utf-8")
