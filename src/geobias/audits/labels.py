"""How a classifier's labels are read: which speak well of a text and which ill, which one matters, which are true."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from geobias.errors import InputError
from geobias.texts.user_texts import Texts

GOOD = frozenset(
    "positive pos good joy happy happiness love optimism admiration gratitude approval caring amusement excitement "
    "pride relief trust clean safe acceptable nontoxic harmless".split()
) | {"4 stars", "5 stars"}
BAD = frozenset(
    "negative neg bad anger angry sadness sad fear disgust hate hateful hatespeech offensive offense abusive toxic "
    "toxicity insult obscene threat profanity spam grief disappointment disapproval annoyance harassment "
    "nervousness remorse embarrassment racism sexism harmful unsafe".split()
) | {"1 star", "2 stars", "severe toxic", "identity hate", "hate speech", "offensive language"}
PLAIN = frozenset("neutral normal neither none other".split())  # good only beside labels that are bad
HAS_DIGIT = re.compile(r"\d")  # "4 stars": a number would mean something else than its position
NOT = re.compile(r"^(?:not|non|no)[ -]?(?P<rest>.+)$")


def toned_labels(
    classifier: str, labels: Sequence[str], positive: Sequence[str], negative: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Positions of the positive and of the negative labels: those asked for, else those known by their names."""
    if bool(positive) != bool(negative):
        raise InputError("Give both --positive and --negative, or neither.")
    if positive:
        chosen = _positions(classifier, labels, positive), _positions(classifier, labels, negative)
        if set(chosen[0]) & set(chosen[1]):
            raise InputError("A label cannot be both positive and negative: mend --positive or --negative.")
        return chosen
    tones = [tone(label) for label in labels]
    if min(tones) < 0 and max(tones) <= 0:
        tones = [1 if label.casefold() in PLAIN else said for label, said in zip(labels, tones, strict=True)]
    return [k for k, said in enumerate(tones) if said > 0], [k for k, said in enumerate(tones) if said < 0]


def main_label(classifier: str, labels: Sequence[str], wanted: str | None) -> int:
    """The class that a study of one class is about: the one asked for, else the only one that speaks ill (hate).

    Else the only one that speaks well, else the last.
    """
    if wanted is not None:
        return _positions(classifier, labels, [wanted])[0]
    for sign in (-1, 1):
        toned = [k for k, label in enumerate(labels) if tone(label) == sign]
        if len(toned) == 1:
            return toned[0]
    return len(labels) - 1


def tone(label: str) -> int:
    """1 for a label that speaks well, -1 for one that speaks ill, 0 for any other."""
    word = re.sub(r"[\s_-]+", " ", label).strip().casefold()
    if word in GOOD:
        return 1
    if word in BAD:
        return -1
    denied = NOT.match(word)
    return -tone(denied["rest"]) if denied and tone(denied["rest"]) < 0 else 0


def _positions(classifier: str, labels: Sequence[str], wanted: Sequence[str]) -> list[int]:
    found = [label_position(labels, label) for label in wanted]
    for label, position in zip(wanted, found, strict=True):
        if position is None:
            raise InputError(f"{classifier} has no label {label!r}: its labels are {', '.join(labels)}.")
    return [position for position in found if position is not None]


def label_position(labels: Sequence[str], wanted: str) -> int | None:
    """Where a label stands: as it is written, else without regard to case where that leaves one."""
    if wanted in labels:
        return list(labels).index(wanted)
    alike = [k for k, label in enumerate(labels) if label.casefold() == wanted.casefold()]
    return alike[0] if len(alike) == 1 else None


def true_labels(
    texts: Texts, classifier: str, labels: Sequence[str], *, several_fit: bool
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """texts x labels: which labels are true of each text, and a word on how they were read where that is a guess.

    None without any. True labels are names; or, where none is one, numbers that count the classifier's labels from 0.
    """
    if texts.labels is None:
        return None, ()
    given = dict.fromkeys(label for several in texts.labels for label in several)
    position = {label: label_position(labels, label) for label in given}
    notes: tuple[str, ...] = ()
    by_number = all(label == f"LABEL_{k}" or not HAS_DIGIT.search(label) for k, label in enumerate(labels))
    if given and by_number and all(found is None for found in position.values()):
        numbers = {str(k): k for k in range(len(labels))}
        position = {label: numbers.get(label) for label in given}
        read = ", ".join(f"{label} as {labels[k]}" for label, k in sorted(position.items()) if k is not None)
        notes = (f"true labels were read by number: {read}.",) if read else ()
    truth = np.zeros((len(texts), len(labels)), dtype=bool)
    for row, several in enumerate(texts.labels):
        if len(several) != 1 and not several_fit:
            raise InputError(
                f"The text {texts.ids[row]} has {len(several)} true labels, but {classifier} gives every text one: "
                "mend it, or set --threshold."
            )
        for label in several:
            column = position[label]
            if column is None:
                raise InputError(
                    f"{classifier} has no label {label!r} (text {texts.ids[row]}): its labels are {', '.join(labels)}."
                )
            truth[row, column] = True
    return truth, notes
