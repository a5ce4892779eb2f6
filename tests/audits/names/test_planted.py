"""The names audit end to end: texts are renamed, and what was planted is found, with its size and how sure it is."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geobias
from tests.conftest import made_up_names

COUNTRIES = [f"{letter}land" for letter in "ABCDEFGH"]
PLANTED = {"Bland": -8.0, "Gland": 8.0}  # points of Delta; together 0, so the mean of countries stays where it was
SAID = [
    f"{what} {when}"
    for what in ("was late", "is here", "sang", "won again", "left")
    for when in ("today", "in town", "at last", "for once")
]
NAMES = ["Mary", "John Drake"] * 10
ORIGINALS = {said: f"{name} {said}" for said, name in zip(SAID, NAMES, strict=True)}


@pytest.fixture
def gazetteer(tmp_path: Path) -> Path:
    """Made-up countries without a name in common, and of each name one can tell whose it is: Amalea, Bmalea, ..."""
    return made_up_names(tmp_path, COUNTRIES)


def chance(of: str, size: float) -> float:
    """Between -size and size, always the same for the same words."""
    return random.Random(of).uniform(-size, size)


def without_names(text: str) -> str:
    return re.sub(r"[A-Z]\w+ ", "", text)


def opinion(texts: list[str], effects: dict[str, float]) -> list[dict[str, float]]:
    """Likes and dislikes texts, single names and their meeting by chance, and whole countries by `effects`."""
    of_letter = {country[0]: points / 100 for country, points in effects.items()}
    found = []
    for text in texts:
        names = re.findall("[A-H](?:male|female|last)[a-z]", text)
        tone = chance(without_names(text), 0.2) + sum(chance(name, 0.06) for name in names)
        if names:  # not for the texts as they were
            tone += chance(text, 0.05) + of_letter.get(names[0][0], 0.0)
        found.append({"negative": 0.5 - tone / 2, "positive": 0.5 + tone / 2})
    return found


def planted(texts: list[str]) -> list[dict[str, float]]:
    return opinion(texts, PLANTED)


def impartial(texts: list[str]) -> list[dict[str, float]]:
    """Names matter, countries do not."""
    return opinion(texts, {})


def audit(classifier: Any, gazetteer: Path, **more: Any) -> Any:
    """A NamesResult; not typed, since most of its numbers may be None."""
    texts = pd.DataFrame({"text": ORIGINALS.values(), "spans": [f"[[0, {len(name)}]]" for name in NAMES]})
    options: dict[str, Any] = {"spans": "spans", "draws": 10, **more}
    return geobias.audit_names(classifier, texts, gazetteer=gazetteer, **options)


def check_deltas(result: Any, truth: dict[str, float]) -> None:
    """Against the originals and against the mean: what is not 0 is marked, and intervals cover the truth."""
    sizes = [truth.get(row.place, 0.0) for row in result.effects]
    for estimates in ([row.against_originals for row in result.effects], [row.against_mean for row in result.effects]):
        covered = [estimate.low <= size <= estimate.high for estimate, size in zip(estimates, sizes, strict=True)]
        assert all(covers for covers, size in zip(covered, sizes, strict=True) if size)
        assert sum(covered) >= len(covered) - 1  # 95 of 100 do: more than one miss among eight would be odd
        assert [estimate.p_adjusted < 0.05 for estimate in estimates] == [size != 0 for size in sizes]
        assert [estimate.value for estimate in estimates] == pytest.approx(sizes, abs=2)


def test_planted_countries_are_found_with_their_size_and_no_others(gazetteer: Path) -> None:
    result = audit(planted, gazetteer)
    check_deltas(result, PLANTED)
    assert min(row.p_adjusted for row in result.effects) < 0.01
    worst = next(row for row in result.farthest if row.label is None)
    assert worst.code in PLANTED and worst.low < 8 < worst.high


def test_names_that_matter_are_no_countries(gazetteer: Path) -> None:
    result = audit(impartial, gazetteer)
    check_deltas(result, {})
    assert min(row.p_adjusted for row in result.effects) > 0.05
    assert next(row for row in result.farthest if row.label is None).low == 0


@pytest.mark.slow
def test_a_country_whose_strange_names_are_disliked_is_found(
    gazetteer: Path, small_models: dict[str, Path], tmp_path: Path
) -> None:
    """For one country a classifier follows the perplexity of the renamed text, for others that of the text as it was,
    and chance: that country alone is marked."""
    lm = geobias.load(small_models["roberta"]).scorer("pll")

    def follows(texts: list[str]) -> list[dict[str, float]]:
        listened = [text if text[0] == "B" else ORIGINALS.get(without_names(text), text) for text in texts]
        found = []
        for text, perplexity in zip(texts, -lm.score(listened)[:, 0], strict=True):
            negative = perplexity / 20 + (chance(text, 0.1) if text[0] in "ACDEFGH" else 0)
            found.append({"negative": negative, "positive": 1 - negative})
        return found

    result = audit(follows, gazetteer, perplexity=str(small_models["roberta"]), out=tmp_path / "run")
    table = pd.read_csv(tmp_path / "run/tables/correlations.csv").to_dict("records")
    cells = {(row["over"], row["place"], row["label"]): row for row in table}
    for kind in ("within", "pooled"):
        rows = [row for row in result.correlations if (row.over, row.label) == (kind, "negative") and row.place]
        for row in rows:
            assert (row.correlation.p_adjusted < 0.05) == (row.place == "Bland")
            cell = cells[kind, row.place, "negative"]
            assert cell["correlation"] == pytest.approx(row.correlation.value)
            assert cell["correlation_p_adjusted"] == pytest.approx(row.correlation.p_adjusted)
        assert len(rows) == len(COUNTRIES) and rows[1].correlation.low == pytest.approx(1, abs=0.01)
