"""What becomes of a mention, case by case."""

from __future__ import annotations

import pytest

from geobias.audits.find.answers import Outcome, judge_mentions, judge_predictions
from geobias.models.finders import PERSON, Entity

TEXT = "Dr. Ada Lovelace's dog met Prince Okafor Jr. and @ada in Lagos"
ADA, PRINCE = (4, 16), (27, 40)  # Ada Lovelace, Prince Okafor


def person(start: int, end: int) -> Entity:
    return Entity(start, end, PERSON)


@pytest.mark.parametrize(
    ("entities", "expected"),
    [
        ([person(4, 16), person(27, 40)], [Outcome.RECALL, Outcome.RECALL]),
        ([person(0, 18), person(27, 44)], [Outcome.RECALL, Outcome.RECALL]),  # title, possessive, suffix
        ([person(4, 40)], [Outcome.PARTIAL, Outcome.PARTIAL]),
        ([person(34, 44)], [Outcome.MISS, Outcome.PARTIAL]),  # a prince by name
        ([person(8, 16), person(20, 44)], [Outcome.PARTIAL, Outcome.PARTIAL]),
        ([Entity(4, 16, "place"), Entity(34, 40, "ORG")], [Outcome.WRONG_TYPE, Outcome.WRONG_TYPE]),
        ([Entity(4, 16, "place"), person(4, 7)], [Outcome.PARTIAL, Outcome.MISS]),
        ([Entity(4, 16, "place"), person(4, 16)], [Outcome.RECALL, Outcome.MISS]),
        ([person(16, 27)], [Outcome.MISS, Outcome.MISS]),  # touches both, overlaps neither
        ([], [Outcome.MISS, Outcome.MISS]),
    ],
)
def test_outcomes_by_hand(entities: list[Entity], expected: list[Outcome]) -> None:
    assert judge_mentions(TEXT, [ADA, PRINCE], entities) == expected
    assert judge_mentions(TEXT, [ADA, PRINCE], entities[::-1]) == expected


def test_predictions_by_hand() -> None:
    at = TEXT.index("@ada")
    entities = [person(0, 18), person(27, 40), person(at, at + 4), person(57, 62), Entity(57, 62, "place")]
    assert judge_predictions(TEXT, [ADA, PRINCE], entities) == (3, 2)  # the handle is not counted, Lagos is wrong
    assert judge_predictions(TEXT, [ADA, PRINCE], [person(4, 40)]) == (1, 0)
    assert judge_predictions(TEXT, [], []) == (0, 0)
