"""Numbers and lists in tables and sentences."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import geobias
from geobias.measures.estimates import Estimate
from geobias.report.declarations import Column
from geobias.report.results import NO_INTERVAL, Interval
from geobias.report.runs import slug
from geobias.report.sentences import format_number, say_missed
from geobias.report.tables import csv_text, digits


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])
def test_no_cell_runs_as_a_formula(text: str) -> None:
    (row,) = csv.DictReader(io.StringIO(csv_text([{"name": text}])))
    assert row["name"] == "'" + text


def test_numbers_and_absent_values_stay_what_they_are() -> None:
    rows = csv_text([{"a": -1.5, "b": None}, {"a": 2, "c": "x,y"}])
    assert rows == 'a,b,c\n-1.5,,\n2,,"x,y"\n'


@pytest.mark.parametrize(
    ("value", "factor", "shown"),
    [
        (0.03214, 1, "0.0321"),
        (0.0, 1, "0.0000"),
        (2.5e-5, 1, "2.5e-05"),
        (2.5e-5, 1000, "0.0250"),
        (None, 1, "no data"),
    ],
)
def test_digits(value: float | None, factor: float, shown: str) -> None:
    assert digits(value, factor) == shown


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("bert-base-cased", "bert-base-cased"),
        ("xlm/roberta-base", "xlm-roberta-base"),
        ("/home/me/models/my model", "models-my-model"),
        ("..", "model"),
    ],
)
def test_model_names_as_folders(name: str, folder: str) -> None:
    assert slug(name) == folder


def test_what_could_be_missed_is_never_less_than_what_was() -> None:
    assert say_missed("24 texts", 3.0, [1.8, -2.0], format_number) == (
        " With these 24 texts a difference under 3.0 could be missed."
    )
    assert "under 5.0 could" in say_missed("24 texts", 3.0, [1.8, -5.0], format_number)
    assert say_missed("24 texts", None, [1.8], format_number) == say_missed("words", 0.0, [], format_number) == ""


def test_sentences_and_tables_print_adjusted_p_values_only() -> None:
    """The same test must not have one p in a caution and another in the table beside it."""
    raw = re.compile(r"format_p\((\w+\.)+p\)|format_evidence\([^()]+, (\w+\.)+p[,)]|\{(\w+\.)*difference\.p:")
    source = Path(geobias.__file__).parent
    modules = [path for path in source.rglob("*.py") if path.parent.name != "regions"]
    assert [path.name for path in modules if raw.search(path.read_text(encoding="utf-8"))] == []


def test_a_column_shows_an_estimate_with_its_interval() -> None:
    row = SimpleNamespace(share=Interval(0.5, 0.4, 0.6), change=Estimate(-1.23, -2, -0.4, 0.01, 0.02), none=NO_INTERVAL)
    columns = [Column("", "share", ".1f", times=100), Column("", "change", "+.1f"), Column("", "none", ".1f")]
    assert [column.show(row) for column in columns] == ["50.0 (40.0 to 60.0)", "-1.2* (-2.0 to -0.4)", "–"]
