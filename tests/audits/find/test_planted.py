"""What is planted in a finder is measured: countries, ends, types, genders, parts, case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from geobias.audits.find import study
from geobias.audits.find.result import OUTCOMES, FinderMeasures
from geobias.report.tables import is_marked
from tests.audits.find.finders import FULL_NAME, NAME, TEXTS, audit, chance, find_all, make_finder


def shares(entry: FinderMeasures, country: str) -> dict[str, Any]:
    row = next(row for row in entry.countries if row.country == country)
    return {name: getattr(row, name).value for name in OUTCOMES}


def marked_countries(entry: FinderMeasures) -> list[str]:
    return [row.country for row in entry.countries if is_marked(row.recall.against_mean)]


def recall_of(entry: FinderMeasures, level: str) -> float:
    value = next(row.recall.value for row in entry.factors if row.level == level)
    assert value is not None
    return value


def test_a_country_whose_names_are_all_missed(tmp_path: Path) -> None:
    entry = audit(make_finder(lambda name, text: not name.startswith("B") and chance(text) < 0.9), tmp_path)
    assert shares(entry, "Bland") == {"recall": 0, "partial": 0, "wrong_type": 0, "misses": 1}
    assert entry.any_country_p is not None and entry.any_country_p < 0.01
    assert "Bland" in marked_countries(entry)
    differences = {row.country: row.recall.against_mean.value or 0 for row in entry.countries}
    assert [country for country, difference in differences.items() if difference < 0] == ["Bland"]
    assert entry.lowest.country == "Bland" and entry.lowest.value == 0 == entry.lowest.low
    assert entry.gap.lowest == "Bland" and entry.gap.low is not None and entry.gap.low > 0.6
    others = [shares(entry, row.country)["recall"] for row in entry.countries if row.country != "Bland"]
    assert sum(others) / 7 == pytest.approx(0.9, abs=0.03)


def test_a_perfect_finder_has_exact_bounds(tmp_path: Path) -> None:
    entry = audit(find_all, tmp_path)
    assert entry.recall.value == 1 and not marked_countries(entry)
    row = entry.countries[0].recall
    assert row.value == row.high == 1 and row.low is not None
    assert row.low == pytest.approx(0.025 ** (1 / 15))  # Clopper and Pearson: 15 of 15 texts
    assert entry.gap.value == 0 == entry.gap.low and entry.gap.high is not None and entry.gap.high > 0.2
    assert entry.weakest_names == [] and all(level.recall.value == 1 for level in entry.factors)
    assert entry.originals.predictions == 0 and entry.originals.precision.value is None


def test_a_finder_that_shifts_ends(tmp_path: Path) -> None:
    def shift(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [[(start, end + 2) for start, end in spans] for spans in find_all(texts)]

    entry = audit(shift, tmp_path)
    for country in ("Aland", "Hland"):  # a possessive 's belongs to no name, so one text of three is right
        assert shares(entry, country) == pytest.approx(
            {"recall": 1 / 3, "partial": 2 / 3, "wrong_type": 0, "misses": 0}
        )


def test_a_finder_that_takes_the_names_of_a_country_for_places(tmp_path: Path) -> None:
    def find(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        return [
            [(*match.span(), "LOC" if match[0].startswith("C") else "PER") for match in FULL_NAME.finditer(text)]
            for text in texts
        ]

    entry = audit(find, tmp_path)
    assert shares(entry, "Cland") == {"recall": 0, "partial": 0, "wrong_type": 1, "misses": 0}
    assert shares(entry, "Dland")["recall"] == 1


def test_kinds_of_names(tmp_path: Path) -> None:
    """Women's first names are missed alone; nothing is found in lower case; upper case costs every second text."""

    def keep(name: str, text: str) -> bool:
        if name.islower() or (name.isupper() and chance(text) < 0.5):
            return False
        return not ("female" in name.lower() and len(NAME.findall(name)) == 1)

    twice = pd.concat([TEXTS, TEXTS.assign(id=TEXTS["id"] + " b", text=TEXTS["text"] + " b")])
    entry = audit(make_finder(keep), tmp_path, texts=twice)
    assert recall_of(entry, "first and last") == recall_of(entry, "last") == recall_of(entry, "male") == 1
    assert recall_of(entry, "first") < 0.6  # Mary stays a woman, so all her names are missed
    assert recall_of(entry, "female") < 1 and recall_of(entry, "lower") == 0
    assert 0.2 < recall_of(entry, "upper") < recall_of(entry, "as written")
    lower = next(level for level in entry.factors if level.level == "lower")
    assert lower.misses == 1 and lower.difference is not None and is_marked(lower.difference)
    few = next(
        level for level in audit(make_finder(keep), tmp_path, texts=TEXTS.head(14)).factors if level.level == "lower"
    )
    assert few.difference is not None and few.difference.p is None
    assert {level.factor for level in entry.factors} == {"gender", "part", "case"}


def test_single_names_are_no_countries(tmp_path: Path) -> None:
    """A finder that misses names, and texts, at random: no country is marked."""
    entry = audit(make_finder(lambda name, text: chance(name) < 0.7 and chance(text) < 0.9), tmp_path)
    assert marked_countries(entry) == [] and entry.gap.low == 0 < entry.gap.value


def test_a_name_that_is_always_missed_is_listed(tmp_path: Path) -> None:
    entry = audit(make_finder(lambda name, text: "Blastc" not in name), tmp_path, draws=40)
    (weakest,) = [name for name in entry.weakest_names if name.kind == "last"]
    assert (weakest.name, weakest.country, weakest.recall) == ("Blastc", "Bland", 0) and weakest.mentions >= 10
    assert all(name.recall > 0 for name in entry.weakest_names if name != weakest)


def test_batches_and_order_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = make_finder(lambda name, text: chance(name) < 0.7)
    whole = audit(find, tmp_path)
    monkeypatch.setattr(study, "TEXTS_AT_ONCE", 7)
    assert audit(find, tmp_path) == whole
    backwards = audit(find, tmp_path, countries=["Hland", "Cland", "Aland"])
    for row in backwards.countries:
        same = next(each for each in whole.countries if each.code == row.code)
        assert row.recall.value == pytest.approx(same.recall.value) and row.names == same.names


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
    entry = audit(find, tmp_path, **options)
    levels = {level.level: level.misses for level in entry.factors if level.factor == "script"}
    assert list(levels) == ["Latin", "Cyrillic"] and levels["Cyrillic"] == 1 and levels["Latin"] != 1
