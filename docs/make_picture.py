"""The picture of a page for the README: what Chromium shows of a report.html, as a small PNG.

    python docs/make_picture.py PAGE PICTURE          # or: make picture

Needs Playwright and Pillow (in the extra "dev") and a Chromium: its own, or the one on the path. Texts and words that
may offend are hidden.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH, HEIGHT, MARGIN = 1200, 1500, 8
COLOURS = 256  # a third of the bytes
MOST = 200_000  # bytes


def take(page_file: Path, picture: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_file.resolve().as_uri())
        page.get_by_label("Hide texts").check()
        page.wait_for_selector("html[data-drawn=yes]", state="attached")  # the page says so when all of it is drawn
        last = page.locator(".hero figure").bounding_box()
        height = HEIGHT if last is None else int(last["y"] + last["height"]) + MARGIN
        page.screenshot(path=str(picture), full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()
    few_colours = (
        Image.open(picture).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    few_colours.save(picture, optimize=True)
    size = picture.stat().st_size
    print(f"{picture}: {WIDTH} x {height}, {size / 1000:.0f} kB")
    if size > MOST:
        sys.exit(f"The picture is larger than {MOST / 1000:.0f} kB.")


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
