"""The names audit on the page: the order of its blocks, what they say, and which texts are shown."""

from __future__ import annotations

import random
import re

import pandas as pd
import pytest

import geobias
from geobias.audits.pages import read_run, run_sections
from geobias.report.page.blocks import Chart, Section, Table
from geobias.report.page.finding_cards import mark_names
from tests.conftest import made_up_names, spell


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Mary's dog saw Mary.", ["Mary"], ["", "Mary", "'s dog saw ", "Mary", "."]),
        ("May will see Will, who may mark it", ["Will May"], ["", "May", " will see ", "Will", ", who may mark it"]),
        ("Marianne and Rosemary", ["Mary", "Mari"], ["Marianne and Rosemary"]),
        ("Mary Ann Lee came", ["Mary Ann", "Lee"], ["", "Mary Ann Lee", " came"]),
        ("Ann-Marie, Ann", ["Ann", "Ann-Marie"], ["", "Ann-Marie", ", ", "Ann"]),
        ("Dr. Lee (Lee)", ["Lee", None], ["Dr. ", "Lee", " (", "Lee", ")"]),
        ("C++ is here", ["C++"], ["", "C++", " is here"]),
        ("nobody", [None, ""], ["nobody"]),
    ],
)
def test_names_are_marked_where_they_stand_alone(text: str, names: list[str | None], expected: list[str]) -> None:
    found = mark_names(text, names, "was")
    assert found == [(piece, "was" if k % 2 else None) for k, piece in enumerate(expected) if piece]
    assert "".join(piece for piece, _ in found) == text


def test_new_names_are_marked_as_the_old_ones_were_written() -> None:
    assert mark_names("RAJ saw raj", ["Raj"], "is", ["BAE", "bae"]) == [("RAJ", "is"), (" saw ", None), ("raj", "is")]
    assert mark_names("Raj saw raj", ["Raj"], "is", ["Bae"]) == [("Raj", "is"), (" saw raj", None)]


def harsh_with_bland(texts: list[str]) -> list[dict[str, float]]:
    """Harsh with the made-up names of Bland, never neutral, and a little by chance."""
    rows = []
    for text in texts:
        p = (0.8 if re.search(r"\bB(?:male|female|last)", text) else 0.1) + 0.1 * random.Random(text).random()
        rows.append({"negative": p, "neutral": 0.0, "positive": 1 - p})
    return rows


@pytest.fixture(scope="module")
def section(tmp_path_factory: pytest.TempPathFactory) -> Section:
    folder = tmp_path_factory.mktemp("names")
    texts = pd.DataFrame({"text": [f"Mary Smith was here {spell(n)}" for n in range(15)], "spans": [[[0, 10]]] * 15})
    gazetteer = made_up_names(folder, ["Aland", "Bland", "Cland", "Dland"])
    geobias.audit_names(harsh_with_bland, texts, spans="spans", gazetteer=gazetteer, draws=4, out=folder / "run")
    (only,) = run_sections([read_run(folder / "run")])
    return only


def test_intervals_come_first_then_cells_then_the_table(section: Section) -> None:
    delta, heat, table = section.blocks[:3]
    assert isinstance(delta, Chart) and isinstance(heat, Chart) and isinstance(table, Table)
    assert [block.id.removesuffix("-0") for block in (delta, heat)] == ["names-delta", "names-heat"]
    assert "names common in Bland score lower (harsher)" in delta.title
    assert re.search(r"to Bland -\d+\.\d points; \d of 4 are clear", delta.alt)
    assert "predictions of negative" in heat.title and "Bland negative +" in heat.alt
    assert {row["text"] for row in heat.rows if row["class"] == "neutral"} == {"never predicted"}
    assert len(table.rows) == 4 and list(table.rows[-1])[1:5] == ["Δ", "95 % interval", "adj. p", "evidence"]
    bland = table.rows[-1]
    assert bland["country"] == "Bland" and bland["evidence"] == "clear: harsher" and bland["renamed\ntexts"] == "60"
