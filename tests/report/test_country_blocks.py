"""Titles in words: never stronger than the tests behind them."""

from __future__ import annotations

from typing import Any

import pytest

from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import Evidence, Finding
from geobias.report.page.effect_blocks import Difference, title_differences

MODEL = ModelIdentity(name="a/long/path/judge", fingerprint=None, score="classes")
TESTED = [Estimate(-3.0, -4.0, -2.0, 0.001, 0.004), Estimate(0.1, -1.0, 1.2, 0.5, 0.9)]
HARSHER = [Difference("names from", ["Poland"], "are judged more harshly")]


def title(differences: list[Difference], estimates: list[Estimate] = TESTED, findings: Any = ()) -> str:
    return title_differences(MODEL, estimates, differences, "no country's names stand out", findings)


def overall(evidence: Evidence) -> Finding:
    return Finding(
        role="overall", audit="names", model=MODEL.name, question="", evidence=evidence, sentence="", limit="",
        next_step="",
    )  # fmt: skip


def test_titles_name_the_countries_and_count_them_where_they_are_many() -> None:
    assert title(HARSHER) == "path/judge: names from Poland are judged more harshly"
    many = [Difference("names from", list("ABCDE"), "are judged more kindly")]
    assert title([*HARSHER, *many]).endswith("; names from A, B and 3 other countries are judged more kindly")
    assert title([Difference("names from", [], "x")]) == "path/judge: no country's names stand out"


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("clear", "names from Poland are judged more harshly"),
        ("suggestive", "no country's names stand out"),
        ("none", "no country's names stand out"),
        ("not testable", "too little data to tell"),
    ],
)
def test_a_title_is_no_stronger_than_the_finding(evidence: Evidence, expected: str) -> None:
    assert title(HARSHER, findings=[overall(evidence)]) == f"path/judge: {expected}"


def test_without_a_test_the_title_says_so() -> None:
    assert title([], [Estimate(5.0, None, None, None, None)]) == "path/judge: too little data to tell"
