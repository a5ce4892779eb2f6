"""The generated reference pages say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import geobias
from docs import make_glossary, make_results_page
from geobias.report.glossary import TERMS

API = Path(__file__).parents[2] / "docs" / "reference" / "api.md"


def test_the_glossary_is_up_to_date() -> None:
    page = make_glossary.FILE.read_text(encoding="utf-8")
    assert page == make_glossary.render_glossary(), "docs/glossary.md is stale: run `make docs`"
    assert all(f'<a id="{term.id}"></a>' in page for term in TERMS)


def test_the_page_of_results_is_up_to_date() -> None:
    page = make_results_page.FILE.read_text(encoding="utf-8")
    assert page == make_results_page.render_results(), "docs/reference/results.md is stale: run `make docs`"


def test_links_of_the_page_of_results_have_a_target() -> None:
    page = make_results_page.FILE.read_text(encoding="utf-8")
    headings = {heading.lower() for heading in re.findall(r"^##+ (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\(#(\w+)\)", page)) <= headings


def test_the_api_page_has_every_public_name() -> None:
    assert set(re.findall(r"^::: geobias\.(\w+)$", API.read_text(encoding="utf-8"), re.MULTILINE)) == set(
        geobias.__all__
    )
