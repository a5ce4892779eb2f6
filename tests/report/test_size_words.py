"""One word for how large a difference is, by hand-worked limits, and where it is said."""

from __future__ import annotations

import re
from dataclasses import replace
from math import log, nan
from pathlib import Path

import pytest

import geobias
from geobias.audits.compare.result import WORDS
from geobias.report.findings import Size, grade_size
from geobias.report.results import from_json, to_json
from tests.report.pages import finding


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("points", {0.29: "tiny", -1.99: "tiny", 2: "small", -9.9: "small", 10: "moderate", -30: "large"}),
        ("percentage points", {0.9: "tiny", 1: "small", -4.9: "small", 5: "moderate", -15: "large"}),
        ("probability", {0.009: "tiny", -0.01: "small", 0.05: "moderate", 0.15: "large"}),
        ("difference of AUC", {0.009: "tiny", -0.05: "moderate"}),
        ("AUC", {0.5: "tiny", 0.509: "tiny", 0.49: "small", 0.55: "moderate", 0.3: "large"}),
        ("times", {1: "tiny", 1.09: "tiny", 1.1: "small", 1.5: "moderate", 3: "large", 1 / 3: "large", 0: "large"}),
        ("ratio", {0.95: "tiny", 0.8: "small", 0.6: "moderate", 0.2: "large"}),
        ("per cent", {9: "tiny", 10: "small", -40: "moderate", 50: "moderate", 200: "large", -100: "large"}),
        ("nats", {0: "tiny", log(1.1): "small", -log(1.5): "moderate", 900: "large"}),
        ("C_w", {0.2: None}),
        ("points", {nan: None}),
    ],
)
def test_the_limits_of_each_unit(unit: str, words: dict[float, str | None]) -> None:
    assert {value: grade_size(value, unit) for value in words} == words or words == {nan: grade_size(nan, unit)}


def test_results_have_the_word_also_those_written_without_it() -> None:
    size = Size(-12.0, -16.0, -8.0, "points")
    assert to_json(size)["word"] == "moderate"
    assert from_json(Size, {"value": 0.5, "low": None, "high": None, "unit": "points"}).word == "tiny"
    assert replace(size, value=0.1).word == "tiny"


def test_only_differences_are_said_to_be_large_or_small() -> None:
    size = Size(12.0, 8.0, 16.0, "points")
    assert finding(p=0.001, size=size).label_with_size == "clear, moderate"
    assert finding(p=0.07, size=size).label_with_size == "suggestive, moderate"
    assert finding(p=0.5, size=size).label_with_size == "no evidence"
    assert finding(role="caution", p=0.001, size=size).label_with_size == "caution"
    assert finding(p=0.001, size=Size(0.2, None, None, "C_w")).label_with_size == "clear"
    assert finding(p=0.001, size=None).size_word is None


UNSIZED = {  # of cautions, of runs without a test, and distances
    "between two answers", "reliability", "distance", "Spearman correlation", "Kendall's W", "score", "C_w",
    "per cent of labels",
}  # fmt: skip


def test_every_unit_of_a_finding_is_graded_or_known_to_have_no_scale() -> None:
    """A unit that nobody thought of would count as moderate at a gate."""
    unit = re.compile(
        r'(?:\bSize\([^"\n)]*|auc,\s+|measure_size\([^"\n)]*|\bUNIT(?:, \w+)? = |POINTS: Final = |PER_CENT: Final = )'
        r'"([^"]+)"'
    )
    source = Path(geobias.__file__).parent
    units = {name for path in source.rglob("*.py") for name in unit.findall(path.read_text(encoding="utf-8"))}
    units |= {words.unit for words in WORDS.values()}
    assert {"points", "times", "percentage points", "AUC", "nats"} <= units
    assert {name for name in units if grade_size(0.7, name) is None} <= UNSIZED
