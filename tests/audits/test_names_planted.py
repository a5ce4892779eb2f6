"""The names audit end to end: texts are renamed, and what was planted is found, with its size and how sure it is."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geobias

COUNTRIES = [f"{letter}land" for letter in "ABCDEFGH"]
PLANTED = {"Bland": -8.0, "Gland": 8.0}  # points of Delta; together 0, so the mean of countries stays where it was
TEXTS = [
    f"{{}} {verb} {where}"
    for verb in ("was late", "is here", "sang", "won again", "left")
    for where in ("today", "in town", "at last", "for once")
]


@pytest.fixture
def gazetteer(tmp_path: Path) -> Path:
    """Made-up countries without a name in common, and of each name one can tell whose it is: Amalea, Bmalea, ..."""
    rows = [
        f"{country},{kind},{country[0]}{kind}{chr(97 + i)}"
        for country in COUNTRIES
        for kind in ("male", "female", "last")
        for i in range(20)
    ]
    file = tmp_path / "names.csv"
    file.write_text("country,kind,name\n" + "\n".join(rows), encoding="utf-8")
    return file


def chance(of: str, size: float) -> float:
    """Between -size and size, always the same for the same words."""
    return random.Random(of).uniform(-size, size)


def opinion(texts: list[str], effects: dict[str, float]) -> list[dict[str, float]]:
    """Likes and dislikes texts, single names and their meeting by chance, and whole countries by `effects`."""
    of_letter = {country[0]: points / 100 for country, points in effects.items()}
    found = []
    for text in texts:
        names = re.findall("[A-H](?:male|female|last)[a-z]", text)
        tone = chance(re.sub(r"[A-Z]\w+ ", "", text), 0.2) + sum(chance(name, 0.06) for name in names)
        if names:  # not for the texts as they were
            tone += chance(text, 0.05) + of_letter.get(names[0][0], 0.0)
        found.append({"negative": 0.5 - tone / 2, "positive": 0.5 + tone / 2})
    return found


def planted(texts: list[str]) -> list[dict[str, float]]:
    return opinion(texts, PLANTED)


def impartial(texts: list[str]) -> list[dict[str, float]]:
    """Names matter, countries do not."""
    return opinion(texts, {})


def audit(classifier: Any, gazetteer: Path) -> dict[str, Any]:
    who = ["Mary", "John Drake"] * (len(TEXTS) // 2)
    texts = pd.DataFrame(
        {
            "text": [text.format(name) for text, name in zip(TEXTS, who, strict=True)],
            "spans": [f"[[0, {len(name)}]]" for name in who],
        }
    )
    options: dict[str, Any] = {"spans": "spans", "draws": 10, "perplexity_draws": 0}
    return geobias.audit_names(classifier, texts, gazetteer=gazetteer, **options).classifiers[0]


def judged(entry: dict[str, Any], truth: dict[str, float]) -> None:
    """Against the originals and against the mean: marks stand where the truth is not 0, and intervals hold it."""
    sure = [row["inference"] for row in entry["countries"]]
    sizes = [truth.get(row["country"], 0.0) for row in entry["countries"]]
    for measure in ([one["delta"] for one in sure], [one["against_mean"]["delta"] for one in sure]):
        held = [found["low"] <= size <= found["high"] for found, size in zip(measure, sizes, strict=True)]
        assert all(one for one, size in zip(held, sizes, strict=True) if size)
        assert sum(held) >= len(held) - 1  # 95 of 100 do: more than one miss among eight would be odd
        assert [found["p_adjusted"] < 0.05 for found in measure] == [size != 0 for size in sizes]
        assert [found["value"] for found in measure] == pytest.approx(sizes, abs=2)


def test_planted_countries_are_found_with_their_size_and_no_others(gazetteer: Path) -> None:
    entry = audit(planted, gazetteer)
    judged(entry, PLANTED)
    assert entry["any_country_differs"]["p"] < 0.01
    worst = entry["worst"]["delta"]
    assert worst["country"] in PLANTED and worst["low"] < 8 < worst["high"]


def test_names_that_matter_are_no_countries(gazetteer: Path) -> None:
    entry = audit(impartial, gazetteer)
    judged(entry, {})
    assert entry["any_country_differs"]["p"] > 0.05 and entry["worst"]["delta"]["low"] == 0
