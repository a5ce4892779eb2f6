"""Texts, a finder that never fails, and classifiers with planted effects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from geobias.world.gazetteer import KINDS, load_gazetteer

COUNTRIES = ("PL", "FR", "IT", "DE", "ES", "TR")
PLACES = ["at work", "in the park", "by the river", "at home", "in town", "on the train", "at school", "on the coast"]
MOODS = ["It was a good day.", "It was an awful day.", "Nothing else happened.", "We had lunch.", "It rained a lot."]
NAMED = re.compile(r"(?<=met )(.+?)(?= (?:at|in|by|on) )")


def make_texts(count: int = 40, names: Sequence[str] = ("Mary Smith", "John Brown")) -> list[str]:
    return [
        f"Today I met {names[i % len(names)]} {PLACES[i % len(PLACES)]} {i} times. {MOODS[i % len(MOODS)]}"
        for i in range(count)
    ]


def find_everybody(texts: list[str]) -> list[list[tuple[int, int]]]:
    return [[match.span() for match in NAMED.finditer(text)] for text in texts]


find_everybody.fingerprint = "1"  # type: ignore[attr-defined]


@cache
def own_names(code: str) -> frozenset[str]:
    """Words of names that no other of the countries has."""
    gazetteer = load_gazetteer()
    words = {
        country: {word for kind in KINDS for name in gazetteer.names(country, kind) for word in name.split()}
        for country in COUNTRIES
    }
    return frozenset(words[code].difference(*(words[other] for other in COUNTRIES if other != code)))


def name_of(text: str) -> str:
    match = NAMED.search(text)
    return match[0] if match else ""


def has_name_of(text: str, code: str) -> bool:
    return any(word in own_names(code) for word in name_of(text).split())


def dislikes(code: str, amount: float) -> Callable[[list[str]], np.ndarray]:
    """A classifier of moods that takes `amount` of probability away from texts with names of one country."""

    def judge(texts: list[str]) -> np.ndarray:
        good = np.array([0.85 if "good" in text else 0.15 if "awful" in text else 0.55 for text in texts])
        good = good - amount * np.array([has_name_of(text, code) for text in texts])
        return np.column_stack([1 - good, good])

    judge.labels = ["negative", "positive"]  # type: ignore[attr-defined]
    judge.fingerprint = f"{code} {amount}"  # type: ignore[attr-defined]
    return judge


dislike_poland = dislikes("PL", 0.1)
