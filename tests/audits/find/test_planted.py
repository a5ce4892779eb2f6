"""What is planted in a finder is measured: countries, ends, types, genders, parts, case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from geobias.audits.find import design
from geobias.audits.find.result import FindResult
from geobias.report.tables import is_marked
from tests.audits.find.finders import (
    FULL_NAME,
    NAME,
    TEXTS,
    audit,
    chance,
    find_all,
    get_level,
    get_shares,
    make_finder,
)


def list_marked(result: FindResult) -> list[str]:
    return [row.place for row in result.effects if row.label == "recall" and is_marked(row.against_mean)]


def get_recall(result: FindResult, level: str) -> float:
    return get_level(result, level).recall.value or 0.0


def test_a_country_whose_names_are_all_missed(tmp_path: Path) -> None:
    result = audit(make_finder(lambda name, text: not name.startswith("B") and chance(text) < 0.9), tmp_path)
    assert get_shares(result, "Bland") == {"recall": 0, "partial": 0, "wrong_type": 0, "misses": 1}
    recalls = result.list_effects(result.finders[0].model)
    for places in ([row.place for row in recalls if row.stands_out], [row.place for row in recalls if row.value < 0]):
        assert places == ["Bland"]
    assert {row.mirrors for row in recalls if is_marked(row.against_mean)} <= {"Bland", None}
    (finder,) = result.finders
    assert finder.lowest.value == 0 == finder.lowest.low and finder.gap.low is not None and finder.gap.low > 0.6
    others = [row.share.value or 0 for row in recalls if row.place != "Bland"]
    assert sum(others) / 7 == pytest.approx(0.9, abs=0.03)


def test_a_perfect_finder_has_exact_bounds(tmp_path: Path) -> None:
    result = audit(find_all, tmp_path)
    (finder,), recall = result.finders, result.effects[0].share
    assert finder.recall.value == 1 and not list_marked(result)
    assert recall.value == recall.high == 1 and recall.low == pytest.approx(0.025 ** (1 / 15))  # 15 of 15 texts
    assert finder.gap.value == 0 == finder.gap.low and finder.gap.high is not None and finder.gap.high > 0.2
    assert result.weakest_names == [] and all(level.recall.value == 1 for level in result.factors)
    assert finder.precision.value is None


def test_a_finder_that_shifts_ends(tmp_path: Path) -> None:
    def shift(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [[(start, end + 2) for start, end in spans] for spans in find_all(texts)]

    result = audit(shift, tmp_path)
    for country in ("Aland", "Hland"):  # a possessive 's belongs to no name, so one text of three is right
        assert get_shares(result, country) == pytest.approx(
            {"recall": 1 / 3, "partial": 2 / 3, "wrong_type": 0, "misses": 0}
        )


def test_a_finder_that_takes_the_names_of_a_country_for_places(tmp_path: Path) -> None:
    def find(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        return [
            [(*match.span(), "LOC" if match[0].startswith("C") else "PER") for match in FULL_NAME.finditer(text)]
            for text in texts
        ]

    result = audit(find, tmp_path)
    assert get_shares(result, "Cland") == {"recall": 0, "partial": 0, "wrong_type": 1, "misses": 0}
    assert get_shares(result, "Dland")["recall"] == 1


def test_kinds_of_names(tmp_path: Path) -> None:
    """Women's first names are missed alone; nothing is found in lower case; upper case costs every second text."""

    def keep(name: str, text: str) -> bool:
        if name.islower() or (name.isupper() and chance(text) < 0.5):
            return False
        return not ("female" in name.lower() and len(NAME.findall(name)) == 1)

    twice = pd.concat([TEXTS, TEXTS.assign(id=TEXTS["id"] + " b", text=TEXTS["text"] + " b")])
    result = audit(make_finder(keep), tmp_path, texts=twice)
    assert get_recall(result, "first and last") == get_recall(result, "last") == get_recall(result, "male") == 1
    assert get_recall(result, "first") < 0.6  # Mary stays a woman, so all her names are missed
    assert get_recall(result, "female") < 1 and get_recall(result, "lower") == 0
    assert 0.2 < get_recall(result, "upper") < get_recall(result, "as written")
    lower = get_level(result, "lower")
    assert lower.misses == 1 and lower.is_marked
    few = get_level(audit(make_finder(keep), tmp_path, texts=TEXTS.head(14)), "lower")
    assert few.difference is not None and few.difference.p is None
    assert {level.factor for level in result.factors} == {"gender", "part", "case"}


def test_single_names_are_no_countries(tmp_path: Path) -> None:
    """A finder that misses names, and texts, at random: no country is marked."""
    result = audit(make_finder(lambda name, text: chance(name) < 0.7 and chance(text) < 0.9), tmp_path)
    assert list_marked(result) == [] and result.finders[0].gap.low == 0 < (result.finders[0].gap.value or 0)


def test_a_name_that_is_always_missed_is_listed(tmp_path: Path) -> None:
    result = audit(make_finder(lambda name, text: "Blastc" not in name), tmp_path, draws=40)
    (weakest,) = [name for name in result.weakest_names if name.kind == "last"]
    assert (weakest.name, weakest.country, weakest.recall) == ("Blastc", "Bland", 0) and weakest.mentions >= 10
    assert all(name.recall > 0 for name in result.weakest_names if name != weakest)


def test_batches_and_order_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = make_finder(lambda name, text: chance(name) < 0.7)
    whole = audit(find, tmp_path)
    monkeypatch.setattr(design, "TEXTS_AT_ONCE", 7)
    assert audit(find, tmp_path) == whole
    for row in audit(find, tmp_path, countries=["Hland", "Cland", "Aland"]).effects:
        same = next(each for each in whole.effects if (each.code, each.label) == (row.code, row.label))
        assert row.share.value == pytest.approx(same.share.value) and row.fewest_names == same.fewest_names


def test_scripts_are_told_apart(tmp_path: Path) -> None:
    names = {"Aland": "Nora Lina Ada", "Bland": "Нина Ольга Вера"}
    rows = [
        f"{country},{kind},{name}{letter}"
        for country, listed in names.items()
        for kind, name in zip(("male", "female", "last"), listed.split(), strict=True)
        for letter in ("bcdfghklmnprstvz" if country == "Aland" else "бвгджзклмнпрстфх")
    ]
    (tmp_path / "scripts.csv").write_text("country,kind,name\n" + "\n".join(rows), encoding="utf-8")

    def find(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [[(0, text.index(" "))] if text[0].isascii() else [] for text in texts]

    options = {"scripts": "all", "gazetteer": tmp_path / "scripts.csv", "countries": "all"}
    result = audit(find, tmp_path, **options)
    levels = {level.level: level.misses for level in result.factors if level.factor == "script"}
    assert list(levels) == ["Latin", "Cyrillic"] and levels["Cyrillic"] == 1 and levels["Latin"] != 1
