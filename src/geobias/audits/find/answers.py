"""What finders answer: the outcome of every mention, and arrays of them (numbers of `Outcome`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from geobias.engine.answer_checks import NondeterministicModel
from geobias.models.finders import PERSON, Entity, Span
from geobias.models.scorer import ModelIdentity
from geobias.texts.people import list_name_spans, trim_spans


@dataclass(frozen=True)
class FinderAnswers:
    """What became of every mention in the texts that one finder read."""

    model: ModelIdentity
    renamed: np.ndarray = field(repr=False)  # mentions x countries x draws
    recased: dict[str, np.ndarray] = field(repr=False)  # "lower", "upper": mentions x countries x recased draws
    original: np.ndarray = field(repr=False)  # mentions
    prediction_counts: np.ndarray = field(repr=False)  # all texts: people that the finder marks in the original
    correct_counts: np.ndarray = field(repr=False)  # all texts: those that are mentions
    nondeterministic: NondeterministicModel | None = None


class Outcome(IntEnum):
    """Exactly one holds for every mention; the first that fits."""

    RECALL = 0  # a person, with these ends
    PARTIAL = 1  # a person that overlaps it, with other ends
    WRONG_TYPE = 2  # no person overlaps it, but something else does
    MISS = 3  # nothing overlaps it


class Predictions(NamedTuple):
    """How many people a finder marks in a text, and how many of them are right."""

    total: int
    correct: int


def judge_mentions(text: str, mentions: Sequence[Span], entities: Sequence[Entity]) -> list[Outcome]:
    """The outcome of every mention.

    Corpora differ in whether a title ("Dr."), a suffix ("Jr.") or a possessive belongs to a name: an entity with one of
    them around the mention has the right ends.
    """
    persons = [entity.span for entity in entities if entity.label == PERSON]
    exact = set(persons)
    if not exact.issuperset(mentions):
        exact.update(*(list_name_spans(text, span) for span in persons))
    others = [entity.span for entity in entities if entity.label != PERSON]
    return [_judge(mention, exact, persons, others) for mention in mentions]


def _judge(mention: Span, exact: Collection[Span], persons: Iterable[Span], others: Iterable[Span]) -> Outcome:
    if mention in exact:
        return Outcome.RECALL
    if any(_overlap(mention, span) for span in persons):
        return Outcome.PARTIAL
    return Outcome.WRONG_TYPE if any(_overlap(mention, span) for span in others) else Outcome.MISS


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def judge_predictions(text: str, mentions: Collection[Span], entities: Iterable[Entity]) -> Predictions:
    """How many of the people that a finder marks are mentions; handles, hashtags and links are not counted."""
    total = correct = 0
    for entity in entities:
        if entity.label != PERSON:
            continue
        if trim_spans(text, [entity.span]):
            total += 1
            correct += any(span in mentions for span in {entity.span, *list_name_spans(text, entity.span)})
    return Predictions(total, correct)
