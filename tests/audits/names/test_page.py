"""The names audit on the page: the order of its blocks, what they say, and which texts are shown."""

from __future__ import annotations

import random
import re

import numpy as np
import pandas as pd
import pytest

import geobias
from geobias.audits.names.answers import ClassifierAnswers, RenamedTextCounts
from geobias.audits.names.blocks import has_clear_names, list_changed_texts
from geobias.audits.pages import read_run, run_sections
from geobias.audits.study import prepare
from geobias.models.scorer import ModelIdentity
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
    assert bland["country"] == "Bland" and bland["evidence"] == "clear: harsher" and bland["renamed\ntexts"] == "60"
    assert list(bland)[1:5] == ["Δ", "95 % interval", "adj. p", "evidence"]


def test_classes_without_predictions_and_numbers_from_few_texts_are_words(section: Section) -> None:
    heat = section.blocks[1]
    assert isinstance(heat, Chart)
    assert {row["text"] for row in heat.rows if row["class"] == "neutral"} == {"never predicted"}


def test_the_most_changed_texts_by_hand() -> None:
    """Each version that changes most: of Mary's text by 0.5, of John's by 0.2; nothing changes for Emma."""
    frame = pd.DataFrame({"text": ["Mary sang", "John ran", "Emma left"], "spans": [[[0, 4]]] * 3})
    design = prepare(geobias.audit_names, texts=frame, spans="spans", countries=["FR", "IT"], draws=1).design
    renamed = np.array([[[0.3], [0.7]], [[0.3], [0.5]], [[0.1], [0.1]]])
    original = np.array([0.2, 0.5, 0.1])
    answers = ClassifierAnswers(
        model=ModelIdentity("m", "probabilities", None),
        labels=("a", "b"),
        multi_label=False,
        positive=[],
        negative=[],
        threshold=None,
        original=np.stack([original, 1 - original], axis=-1),
        renamed=np.stack([renamed, 1 - renamed], axis=-1),
        truth=None,
        counts=RenamedTextCounts(0, 6, 6, 0),
        work={},
    )
    first, second = list_changed_texts(design, answers)
    assert (first.place, first.original, first.original_names) == ("Italy", "Mary sang", ["Mary"])
    assert first.changed == f"{first.changed_names[0]} sang" and first.before == pytest.approx({"a": 0.2, "b": 0.8})
    assert second.place == "France" and second.after == pytest.approx({"a": 0.3, "b": 0.7})


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
