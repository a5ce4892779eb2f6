"""How a classifier's answers are read: which labels are positive or negative, which one to show, which are true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.models.scorer import ModelIdentity
from geobias.texts.user_texts import Texts

POSITIVE = frozenset(
    "positive pos good joy happy happiness love optimism admiration gratitude approval caring amusement excitement "
    "pride relief trust clean safe acceptable nontoxic harmless".split()
) | {"4 stars", "5 stars"}
NEGATIVE = frozenset(
    "negative neg bad anger angry sadness sad fear disgust hate hateful hatespeech offensive offense abusive toxic "
    "toxicity insult obscene threat profanity spam grief disappointment disapproval annoyance harassment "
    "nervousness remorse embarrassment racism sexism harmful unsafe".split()
) | {"1 star", "2 stars", "severe toxic", "identity hate", "hate speech", "offensive language"}
NEUTRAL = frozenset("neutral normal neither none".split())  # positive only where all other labels are negative
HAS_DIGIT = re.compile(r"\d")  # "4 stars": a number could mean this label, or its position
NEGATION = re.compile(r"^(?:not|non|no)[ -]?(?P<rest>.+)$")
INTENSIFIER = re.compile(r"^(?:very|extremely|highly|strongly|mostly|slightly|somewhat|rather|weakly) ")
EMOTIONS = frozenset(  # what a text expresses, which is no judgement of a person
    "joy happy happiness love optimism admiration gratitude approval caring amusement excitement pride relief trust "
    "anger angry sadness sad fear disgust grief disappointment disapproval annoyance nervousness remorse "
    "embarrassment".split()
)


def find_label_tones(
    classifier: str, labels: Sequence[str], positive: Sequence[str], negative: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Positions of the positive and the negative labels: those the user names, else those known by their names."""
    if bool(positive) != bool(negative):
        raise InputError("Use both --positive and --negative, or neither.")
    if positive:
        positions = _find_labels(classifier, labels, positive), _find_labels(classifier, labels, negative)
        if set(positions[0]) & set(positions[1]):
            raise InputError("A label cannot be both positive and negative. Change --positive or --negative.")
        return positions
    tones = [label_tone(label) for label in labels]
    if min(tones) < 0 and max(tones) <= 0:
        tones = [1 if label.casefold() in NEUTRAL else tone for label, tone in zip(labels, tones, strict=True)]
    return [k for k, tone in enumerate(tones) if tone > 0], [k for k, tone in enumerate(tones) if tone < 0]


def find_main_label(classifier: str, labels: Sequence[str], name: str | None) -> int:
    """Position of the label to show: the one the user names, else the only negative one (such as hate).

    Else the only positive one, else the last.
    """
    if name is not None:
        return _find_labels(classifier, labels, [name])[0]
    for sign in (-1, 1):
        positions = [k for k, label in enumerate(labels) if label_tone(label) == sign]
        if len(positions) == 1:
            return positions[0]
    return len(labels) - 1


def is_emotion(label: str) -> bool:
    """Whether a label is an emotion that a text expresses: it is neither better nor worse for a person in the text."""
    word = _fold_label(label)
    negation = NEGATION.match(word)
    return word in EMOTIONS or (negation is not None and is_emotion(negation["rest"]))


def label_tone(label: str) -> int:
    """1 for a positive label, -1 for a negative one, 0 for any other."""
    word = _fold_label(label)
    if word in POSITIVE:
        return 1
    if word in NEGATIVE:
        return -1
    negation = NEGATION.match(word)
    return -label_tone(negation["rest"]) if negation else 0


def _fold_label(label: str) -> str:
    """ "Very_Sad" as "sad"."""
    return INTENSIFIER.sub("", re.sub(r"[\s_-]+", " ", label).strip().casefold())


def _find_labels(classifier: str, labels: Sequence[str], names: Sequence[str]) -> list[int]:
    positions = []
    for name in names:
        position = find_label(labels, name)
        if position is None:
            raise InputError(f"{classifier} has no label {name!r}. {describe_choices(name, labels, 'Its labels')}")
        positions.append(position)
    return positions


def find_label(labels: Sequence[str], name: str) -> int | None:
    """Position of a label by its exact name, else by its name in another case where only one label fits."""
    if name in labels:
        return list(labels).index(name)
    positions = [k for k, label in enumerate(labels) if label.casefold() == name.casefold()]
    return positions[0] if len(positions) == 1 else None


def read_true_labels(
    texts: Texts, classifier: str, labels: Sequence[str], *, several_fit: bool
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """texts x labels: which labels are true of each text, and a note on how they were read where that is a guess.

    None without true labels. They are names of labels; where none of them is, they are positions that start at 0.
    """
    if texts.labels is None:
        return None, ()
    names = dict.fromkeys(name for row in texts.labels for name in row)
    positions = {name: find_label(labels, name) for name in names}
    notes: tuple[str, ...] = ()
    may_be_positions = all(label == f"LABEL_{k}" or not HAS_DIGIT.search(label) for k, label in enumerate(labels))
    if names and may_be_positions and all(position is None for position in positions.values()):
        by_number = {str(k): k for k in range(len(labels))}
        positions = {name: by_number.get(name) for name in names}
        reading = ", ".join(f"{name} as {labels[k]}" for name, k in sorted(positions.items()) if k is not None)
        notes = (f"true labels were read by number: {reading}.",) if reading else ()
    truth = np.zeros((len(texts), len(labels)), dtype=bool)
    for row, row_names in enumerate(texts.labels):
        if len(row_names) != 1 and not several_fit:
            raise InputError(
                f"The text {texts.ids[row]} has {len(row_names)} true labels, but {classifier} predicts one per text. "
                "Fix the text, or give `threshold` from Python."
            )
        for name in row_names:
            column = positions[name]
            if column is None:
                choices = describe_choices(name, labels, "Its labels")
                raise InputError(f"{classifier} has no label {name!r} (text {texts.ids[row]}). {choices}")
            truth[row, column] = True
    return truth, notes


@dataclass(frozen=True, kw_only=True)
class AuditedClassifier:
    """A classifier, and how its answers were read."""

    model: str
    labels: list[str]
    multi_label: bool
    """Whether a text may have several labels, or none."""
    threshold: float | None
    """A class is predicted from this probability on; null for the likeliest one."""
    texts_cut: int
    """Texts truncated to the model's maximum length."""
    notes: list[str]
    """How labels were read and models chosen where the user did not say."""


@dataclass(frozen=True, kw_only=True)
class ReadAnswers:
    """The probabilities of one classifier; an audit adds those for its changed texts."""

    model: ModelIdentity
    labels: tuple[str, ...]
    multi_label: bool
    threshold: float | None
    original: np.ndarray = field(repr=False)  # all texts x labels
    truth: np.ndarray | None = field(default=None, repr=False)  # all texts x labels
    counts: dict[str, int]  # of texts cut and scored, by the fields of the row of the classifier
    work: dict[str, int]
    notes: tuple[str, ...] = ()
    name_tokens: np.ndarray | None = field(default=None, repr=False)  # of the names that are put into texts

    def describe(self) -> dict[str, Any]:
        """What the row of the classifier says."""
        return {
            "model": self.model.name,
            "labels": list(self.labels),
            "multi_label": self.multi_label,
            "threshold": self.threshold,
            "notes": list(self.notes),
            **self.counts,
        }
