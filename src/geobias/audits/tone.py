"""Which labels of a classifier speak well of a text and which ill: what Delta weighs against each other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from geobias.errors import InputError

GOOD = frozenset(
    "positive pos good joy happy happiness love optimism admiration gratitude approval caring amusement excitement "
    "pride relief trust neither clean safe acceptable nontoxic harmless".split()
) | {"4 stars", "5 stars"}
BAD = frozenset(
    "negative neg bad anger angry sadness sad fear disgust hate hateful hatespeech offensive offense abusive toxic "
    "toxicity insult obscene threat profanity spam grief disappointment disapproval annoyance harassment "
    "racism sexism harmful unsafe".split()
) | {"1 star", "2 stars", "severe toxic", "identity hate", "hate speech", "offensive language"}
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
    known = {label.casefold(): k for k, label in enumerate(labels)}
    for label in wanted:
        if label.casefold() not in known:
            raise InputError(f"{classifier} has no label {label!r}: its labels are {', '.join(labels)}.")
    return [known[label.casefold()] for label in wanted]
