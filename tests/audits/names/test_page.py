"""The names audit on the page: the order of its blocks, what they say, and which texts are shown."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geobias
from geobias.audits.names.page_examples import has_clear_names
from geobias.audits.names.page_heat_map import describe_cell
from geobias.audits.names.renamed_texts_file import find_most_changed
from geobias.audits.names.result import ChangeFromMean, CountryChange, CountryInference, EstimatesFromMean
from geobias.audits.pages import read_run, run_sections
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Chart, Section, Table
from geobias.report.page.finding_cards import mark_names
from geobias.world.gazetteer import load_gazetteer
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
        ("José, Jose", ["José"], ["", "José", ", Jose"]),
        ("C++ is here", ["C++"], ["", "C++", " is here"]),
        ("nobody", [], ["nobody"]),
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


def test_the_most_changed_texts_by_hand(tmp_path: Path) -> None:
    """Two texts; of the first the second version changed most (0.5), of the second its only one (0.2)."""
    rows = [
        # text, country, first name, text, scores
        ("1", None, None, "Mary sang", 0.2, 0.8),
        ("1", "FR", "Marie", "Marie sang", 0.3, 0.7),
        ("1", "IT", "Maria", "Maria sang", 0.7, 0.3),
        ("2", None, None, "John ran", 0.5, 0.5),
        ("2", "FR", "Jean", "Jean ran", 0.3, 0.7),
        ("3", None, None, "nobody", 0.1, 0.9),
    ]
    table = {
        "text_id": [row[0] for row in rows],
        "country": [row[1] for row in rows],
        "person": [[row[3].split()[0]] if row[1] else [] for row in rows],
        "first_name": [[row[2]] if row[2] else [] for row in rows],
        "last_name": pa.array([[None] if row[2] else [] for row in rows], pa.list_(pa.string())),
        "text": [row[3] for row in rows],
        "m/a": [row[4] for row in rows],
        "m/b": [row[5] for row in rows],
    }
    pq.write_table(pa.table(table), tmp_path / "counterfactuals.parquet")
    first, second = find_most_changed(tmp_path, ["m/a", "m/b"], 5)
    assert (first.text_id, first.country, first.original, first.text) == ("1", "IT", "Mary sang", "Maria sang")
    assert first.original_scores.tolist() == [0.2, 0.8] and first.scores.tolist() == [0.7, 0.3]
    assert (second.text, second.first_name, second.last_name) == ("Jean ran", ["Jean"], [None])
    assert [each.text_id for each in find_most_changed(tmp_path, ["m/a"], 1)] == ["1"]
    assert [each.text_id for each in find_most_changed(tmp_path, ["m/a"], 5, {"1"})] == ["2"]


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


def test_intervals_come_first_then_cells_then_the_table_and_texts(section: Section) -> None:
    assert [block.id.removesuffix("-0") for block in section.blocks][:4] == [
        "names-delta",
        "names-heat",
        "names-countries",
        "names-examples",
    ]


def test_titles_and_alternative_texts_say_the_result(section: Section) -> None:
    delta, heat = section.blocks[:2]
    assert isinstance(delta, Chart) and isinstance(heat, Chart)
    assert "names common in Bland score lower (harsher)" in delta.title
    assert re.search(r"to Bland -\d+\.\d points; \d of 4 are clear", delta.alt)
    assert "predictions of negative" in heat.title and "Bland negative +" in heat.alt


def test_the_table_has_every_country_with_its_evidence(section: Section) -> None:
    table = section.blocks[2]
    assert isinstance(table, Table) and len(table.rows) == 4
    bland = table.rows[-1]
    assert bland["country"] == "Bland" and bland["evidence"] == "clear: harsher" and bland["renamed texts"] == "60"
    assert list(bland)[1:5] == ["Δ, points", "95 % interval", "adjusted p", "evidence"]


def test_classes_without_predictions_and_numbers_from_few_texts_are_words(section: Section) -> None:
    heat = section.blocks[1]
    assert isinstance(heat, Chart)
    assert {row["text"] for row in heat.rows if row["class"] == "neutral"} == {"never predicted"}
    result = country_change(before=4, after=5, change=None)
    assert describe_cell([result], result, "negative", is_clear=False)["text"] == "too few"
    assert not describe_cell([result], result, "negative", is_clear=False)["marked"]


def country_change(before: int, after: int, change: float | None) -> CountryChange:
    """A country of which only one class is known."""
    unknown = Estimate(change, None, None, None, None)
    estimates = EstimatesFromMean(unknown, {"negative": unknown}, unknown)
    return CountryChange(
        country="Aland",
        code="A",
        renamed_texts=48,
        delta=None,
        change={"negative": change},
        kl=None,
        against_mean=ChangeFromMean(None, {"negative": change}, None),
        inference=CountryInference(None, unknown, {"negative": unknown}, unknown, estimates),
        before={"negative": before},
        after={"negative": after},
    )


@pytest.mark.parametrize(
    ("text", "people", "expected"),
    [
        ("I just want to be with bae already", ["bae"], False),
        ("@user kapan?", ["kapan"], False),
        ("@user gavin is here", ["gavin"], True),
        ("Ever done what Ernie just did", ["Ernie"], True),
        ("Kaylie and dude were here", ["Kaylie", "dude"], False),
    ],
)
def test_no_text_is_shown_whose_person_is_a_word(text: str, people: list[str], expected: bool) -> None:
    assert has_clear_names(text, people, load_gazetteer("all")) is expected
