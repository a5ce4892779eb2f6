"""Marked texts, names of made-up countries, and finders that know them by their letters."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import geobias
from geobias.audits.find.answers import OUTCOMES
from geobias.audits.find.result import FactorLevel, FindResult
from tests.conftest import made_up_names

COUNTRIES = [f"{letter}land" for letter in "ABCDEFGH"]
NAME = re.compile("[A-H](?:male|female|last)[a-t]", re.IGNORECASE)
FULL_NAME = re.compile(rf"{NAME.pattern}(?: {NAME.pattern})?", re.IGNORECASE)
ENDINGS = [
    f"{what} {when}"
    for what in ("was late", "sang", "won")
    for when in ("today", "at last", "in town", "again", "in May")
]
MARKS = ["Mary", "John Drake", "Dr. Drake's"] * 5
TEXTS = pd.DataFrame(
    [
        {"id": f"t{n}", "text": f"{mark}{' dog' * mark.endswith('s')} {ending}.", "people": [[0, len(mark)]]}
        for n, (ending, mark) in enumerate(zip(ENDINGS, MARKS, strict=True))
    ]
)

Find = Callable[[Sequence[str]], list[list[Any]]]


def find_all(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Every name, with the right ends."""
    return [[match.span() for match in FULL_NAME.finditer(text)] for text in texts]


def make_finder(keep: Callable[[str, str], bool]) -> Find:
    """A finder of those names that `keep(name, text)` accepts."""

    def find(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [[m.span() for m in FULL_NAME.finditer(text) if keep(m[0], text)] for text in texts]

    return find


def chance(seed: str) -> float:
    """Between 0 and 1, the same for the same words."""
    return random.Random(seed).random()


def audit(find: Find, folder: Path, **options: Any) -> FindResult:
    """A finder of made-up names, audited."""
    defaults: dict[str, Any] = {"texts": TEXTS, "spans": "people", "draws": 6}
    gazetteer = made_up_names(folder, COUNTRIES)
    return geobias.audit_finders(find, **{**defaults, "gazetteer": gazetteer, **options})


def get_shares(result: FindResult, country: str) -> dict[str, float | None]:
    """What becomes of the names of a country, by outcome."""
    rows = {row.label: row.share.value for row in result.effects if row.place == country}
    assert list(rows) == list(OUTCOMES)
    return rows


def get_level(result: FindResult, level: str) -> FactorLevel:
    return next(row for row in result.factors if row.level == level)
