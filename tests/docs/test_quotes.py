"""Figures that a reader may quote: those of docs/reading.md are marked as made up, others stand in an output."""

from __future__ import annotations

import re
from pathlib import Path

from geobias.models.sources import embedded_models
from geobias.world.countries import load_country_names

DOCS = Path(__file__).parents[2] / "docs"
SAY = re.compile(r"^ *- Say: (.*(?:\n {2,}(?!-).*)*)", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"\d+(?:\.\d+)?")


def test_the_examples_of_reading_are_made_up_and_say_so() -> None:
    page = (DOCS / "reading.md").read_text(encoding="utf-8")
    examples = page.split("\n## Quote the numbers\n", 1)[1]
    assert "**Every example is made up**" in examples and "do not quote them" in examples
    continents = ("Africa", "America", "Asia", "Europe", "Oceania")
    real = [*(model.name for model in embedded_models()), "embedded/", *load_country_names().values(), *continents]
    assert [name for name in real if re.search(rf"\b{re.escape(name)}", examples)] == []
    assert len(SAY.findall(page)) >= 14


def test_every_other_figure_to_say_is_in_an_output_of_its_page() -> None:
    pages = [page for page in sorted(DOCS.rglob("*.md")) if page.name != "reading.md"]
    checked = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        outputs = FIGURE.findall("\n".join(FENCE.findall(text)))
        for sentence in SAY.findall(text):
            figures = FIGURE.findall(sentence)
            assert [figure for figure in figures if figure not in outputs] == [], f"{page.name}: {sentence}"
            checked += len(figures)
    assert checked >= 4
