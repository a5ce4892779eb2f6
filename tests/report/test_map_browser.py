"""The world map in a real browser: search, ranking, tooltips, what is certain, cautions, downloads, paper."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import geobias
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import MapCountry, MapMeasure, Section, WorldMap
from geobias.report.page.build import Background, render
from geobias.report.page.world_map import draw_still_map
from geobias.world.countries import load_countries
from tests.conftest import spell
from tests.report.test_page_browser import browser, find_shape, opened

__all__ = ["browser"]  # a fixture
pytestmark = pytest.mark.slow
CODES = "VA BO TD FR DE IT NG KE MM UA GB US MX AN".split()
MAP, LIST = "#places-map", "#places-map [data-role=ranking]"
LARGEST_STILL = 150_000  # bytes


def estimate(rank: int) -> Estimate:
    """The lower half is not distinguishable from the mean; the tenth country is not tested."""
    value = 2 - rank / 10
    p = None if rank == 9 else 0.0001 if rank < 7 else 0.4
    return Estimate(value, value - 0.05, value + 0.05, p, p)


def world(**changes: object) -> WorldMap:
    known = load_countries()
    places = {
        code: MapCountry(known[code].name, known[code].continent_name, unranked="dissolved in 2010" * (code == "AN"))
        for code in CODES
    }
    measures = [
        MapMeasure("First", "unit", "Higher is farther.", {c: estimate(k) for k, c in enumerate(CODES)}, "the mean"),
        MapMeasure("Second", "unit", "The other way.", {"FR": estimate(2), "DE": estimate(0)}, "the mean", centre=1),
    ]
    block = WorldMap(
        "places-map", "Places", "How to read it.", "A map.", measures, places, caution="It is an artefact."
    )
    return replace(block, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("map") / "page.html"
    section = Section("places", "Places", "", [world(is_hero=False)])
    path.write_text(render([section], [], description="A map.", background=Background([], [], [])), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def wide(browser: Browser, file: Path) -> Iterator[Page]:
    yield from opened(browser, file)


@pytest.fixture
def page(wide: Page) -> Page:
    """Loading takes seconds: all tests share a page, and each starts without a country."""
    wide.locator(f"{MAP} [data-role=country]").press("Escape")
    return wide


def search(page: Page, text: str, key: str = "Enter") -> None:
    page.locator(f"{MAP} [data-role=country]").fill(text)
    page.keyboard.press(key)


def names(page: Page) -> list[str]:
    return page.locator(f"{LIST} .name").all_inner_texts()


def test_search_finds_a_country_by_any_of_its_names(page: Page) -> None:
    panel, outlines = page.locator(f"{MAP} .panel"), page.locator(f"{MAP} svg .layer_3_marks path")
    for text, country in {
        "burma": "Myanmar",
        "ukraine": "Ukraine",
        "uk": "United Kingdom",  # not Ukraine, which is open and matches too
        "England": "United Kingdom",
        "usa": "United States",
        "FRÁNCE": "France",
        "germ": "Germany",
    }.items():
        search(page, text)
        assert panel.locator("h4").inner_text().startswith(f"{country} ("), text
        expect(outlines).to_have_count(1)
        assert page.locator(f"{LIST} [aria-selected=true] .name").inner_text() == country
    page.keyboard.press("Escape")
    expect(outlines).to_have_count(0)
    search(page, "atlantis")
    assert panel.is_hidden() and page.inner_text(f"{MAP} [data-role=order]") == "No countries match."


def test_the_ranking_follows_the_measure_and_the_keys(page: Page) -> None:
    known = load_countries()
    ends = [known[code].name for code in (*CODES[:5], *CODES[-5:])]
    assert names(page) == ends  # the fourteenth is not ranked, and listed by its value
    page.locator(f"{MAP} [data-role=all]").click()
    assert names(page) == [known[code].name for code in CODES]
    page.locator(f"{LIST} li").nth(2).click()
    assert page.locator(f"{MAP} .panel h4").inner_text() == "Chad (Africa)"
    page.locator(LIST).press("ArrowDown")
    assert page.locator(f"{MAP} .panel h4").inner_text() == "France (Europe)"
    page.locator(LIST).press("End")
    panel = page.inner_text(f"{MAP} .panel")
    assert "0.700, 95 % interval 0.650 to 0.750, rank not ranked (dissolved in 2010)" in panel
    page.locator(f"{MAP} [data-role=measure]").select_option(label="Second")
    expect(page.locator(f"{LIST} .name").first).to_have_text("Germany")
    assert names(page)[1] == "France" and page.locator(f"{LIST} .value").nth(2).inner_text() == "no data"
    page.locator(f"{MAP} [data-role=measure]").select_option(label="First")
    expect(page.locator(f"{LIST} .name").first).to_have_text("Vatican")


def test_the_tooltip_has_value_interval_rank_and_test(page: Page) -> None:
    def tip(country: str) -> str:
        find_shape(page, MAP, country).hover()
        shown = page.locator("#vg-tooltip-element.visible", has_text=country)
        shown.wait_for()
        text = " ".join(shown.inner_text().split())
        page.mouse.move(0, 0)
        return text

    assert tip("Chad") == (
        "Chad value 1.80 95 % interval 1.75 to 1.85 rank 3 of 13 test differs from the mean (adjusted p < 0.001)"
    )
    assert "not distinguishable from the mean (adjusted p = 0.4)" in tip("Kenya")
    assert tip("Ukraine").endswith("rank 10 of 13 test not tested")
    assert tip("Brazil") == "Brazil value no data 95 % interval none rank none test not tested"


def test_only_what_is_certain_has_full_colour(page: Page) -> None:
    def opacity(country: str) -> str:
        return find_shape(page, MAP, country).get_attribute("fill-opacity") or "1"

    assert opacity("France") == "1" and float(opacity("Kenya")) < 0.5 and float(opacity("Ukraine")) < 0.5
    key = page.inner_text(f"{MAP} .map-key")
    assert "Full colour: differs from the mean, adjusted p < 0.05 (7 of 14)" in key
    assert "Pale: not distinguishable from the mean, or not tested (7)" in key


def test_a_caution_stands_above_the_map(page: Page) -> None:
    caution = page.locator(f"{MAP} [data-role=caution]")
    assert caution.is_visible() and "It is an artefact." in caution.inner_text()
    above, drawing = caution.bounding_box(), page.locator(f"{MAP} .drawing").bounding_box()
    assert above and drawing and above["y"] + above["height"] <= drawing["y"]


def test_the_map_is_not_printed(page: Page) -> None:
    page.emulate_media(media="print")
    hidden = page.locator(MAP).is_hidden()
    page.emulate_media(media="screen")
    assert hidden and page.locator(MAP).is_visible()


def test_the_map_can_be_downloaded_as_it_is_shown(page: Page, tmp_path: Path) -> None:
    def download(button: str) -> bytes:
        with page.expect_download() as started:
            page.locator(f"{MAP} {button}").click()
        started.value.save_as(tmp_path / "file")
        return (tmp_path / "file").read_bytes()

    svg, png = download("[data-image=svg]").decode(), download("[data-image=png]")
    assert "Higher is farther." in svg and "It is an artefact." in svg and svg.count("<path") > 200
    assert png.startswith(b"\x89PNG") and len(png) > 50_000
    rows = list(csv.DictReader(download("[data-csv]").decode().splitlines()))
    assert (rows[0]["First"], rows[0]["low"], rows[0]["rank"]) == ("2", "1.95", "1") and rows[-1]["rank"] == ""


def test_a_narrow_screen_shows_the_ranking_below_the_map(page: Page) -> None:
    for width in (390, 768):
        page.set_viewport_size({"width": width, "height": 800})
        search(page, "Chad")
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        drawing, ranking = (page.locator(f"{MAP} {part}").bounding_box() for part in (".drawing", ".ranking"))
        assert drawing and ranking and drawing["y"] + drawing["height"] <= ranking["y"]
    page.set_viewport_size({"width": 1200, "height": 900})


def test_without_scripts_there_is_a_still_map_and_nothing_to_press(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    still = page.locator(f"{MAP} .map svg")
    assert still.is_visible() and still.locator("path[fill-opacity]").count() > 0
    assert page.locator(f"{MAP} .choosers").is_hidden() and page.locator(f"{MAP} .ranking").is_hidden()
    context.close()


def test_the_still_map_is_small_and_shows_what_users_wrote_as_text() -> None:
    still = draw_still_map(world(alt='<b>"', title="<i>"))
    assert len(still.encode()) < LARGEST_STILL and "<b>" not in still and "&lt;b&gt;" in still
    assert draw_still_map(world(measures=[])) == ""


def dislike(place: str, name: str) -> Any:
    """A classifier that finds texts from a place worse."""

    def judge(texts: list[str]) -> list[dict[str, float]]:
        bad = [0.3 + 0.3 * (place in text) + 0.01 * (len(text) % 3) for text in texts]
        return [{"negative": p, "positive": 1 - p} for p in bad]

    judge.__module__, judge.__qualname__ = "judges", name
    return judge


@pytest.fixture
def two_models(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    models = [dislike("Mexico", "one"), dislike("France", "two")]
    texts = [f"text number {spell(n)}" for n in range(12)]
    geobias.audit_downstream(models, texts=texts, countries="MX,FR,DE,KE,IT,CA", out=tmp_path / "run")
    yield from opened(browser, tmp_path / "run/report.html")


def test_the_map_follows_the_choice_of_a_model(two_models: Page) -> None:
    page, world = two_models, "#downstream-map"
    first_name = page.locator(f"{world} [data-role=ranking] .name").first
    expect(first_name).to_have_text("Mexico")
    page.locator(".models input[value='judges:two']").check()
    expect(first_name).to_have_text("France")
    assert "judges:two" in page.inner_text(f"{world} [data-role=legend]")
    assert page.locator(f"{world} [data-role=measure] option:checked").inner_text().startswith("judges:two: ")
    pale, full = (find_shape(page, world, country).get_attribute("fill-opacity") for country in ("Mexico", "France"))
    assert float(pale or 1) < 0.5 and full in (None, "1")  # the drawing follows too
    page.locator(f"{world} [data-role=measure]").select_option(index=0)  # the map can still show the other model
    expect(first_name).to_have_text("Mexico")
    page.locator(".models input[value='judges:one']").check()
    page.evaluate("location.hash = 'model=judges%3Atwo'")  # as a link to the page may have it
    expect(first_name).to_have_text("France")
