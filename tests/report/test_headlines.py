"""Which test leads, and its answer in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from geobias.report.findings import Finding, Size
from geobias.report.headlines import choose_hero, count_answers, name_model, say_answer, say_size, state_headline
from tests.report.pages import finding


def answer(name: str, p: float | None, value: float, unit: str = "points", **fields: Any) -> Finding:
    return finding(p=p, size=Size(value, None, None, unit), sentence=name, subject="Chad", **fields)


def test_evidence_leads_then_the_size_word_then_the_share_of_the_scale() -> None:
    tiny, small = answer("tiny", 0.001, 1.0), answer("small", 0.04, 9.0)
    smaller, possible = answer("smaller", 0.001, 3.0), answer("possible", 0.07, 90.0)
    null, untested = answer("null", 0.9, 50.0), answer("untested", None, 50.0)
    several = [untested, null, possible, tiny, smaller, small]
    for count in range(len(several), 0, -1):
        hero = choose_hero(several[:count])
        assert hero is not None and hero.sentence == several[count - 1].sentence
    assert choose_hero([finding("detail", 0.001)]) is None and state_headline([]) == count_answers([]) == ""


def test_the_headline_is_the_sentence_where_an_audit_words_none() -> None:
    assert state_headline([answer("A sentence.", 0.01, 1)]) == "A sentence."
    assert state_headline([answer("A sentence.", 0.01, 1, headline="In everyday words.")]) == "In everyday words."


@pytest.mark.parametrize(
    ("p", "value", "unit", "answered", "size"),
    [
        (0.01, 3.0, "points", "Yes, the difference is small.", "small: 3.0 points"),
        (0.01, -0.2, "probability", "Yes, the difference is large.", "large: 20 percentage points"),
        (0.07, 3.0, "points", "Perhaps: not certain.", "small: 3.0 points"),
        (0.5, 3.0, "points", "No sign of it.", "none found; the largest gap is 3.0 points"),
        (None, 3.0, "points", "Cannot tell.", "3.0 points"),
    ],
)
def test_answers_and_sizes(p: float | None, value: float, unit: str, answered: str, size: str) -> None:
    assert (say_answer(answer("", p, value, unit)), say_size(answer("", p, value, unit))) == (answered, size)


def test_tests_are_counted_and_demonstration_models_are_called_so() -> None:
    assert count_answers([answer("", 0.01, 1), answer("", 0.9, 1)]) == "2 tests: 1 clear and 1 without evidence."
    assert name_model("embedded/hate") == "the demonstration model hate" and name_model("/a/b/c") == "b/c"
