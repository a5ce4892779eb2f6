from __future__ import annotations

import lzma
from collections import defaultdict
from importlib import resources
from pathlib import Path

import pytest

from geobias.errors import InputError
from geobias.world.countries import load_entries
from geobias.world.gazetteer import (
    KINDS,
    PAPER_COUNTRIES,
    Gazetteer,
    is_latin,
    load_gazetteer,
    load_name_counts,
    read_gazetteer,
)
from geobias.world.regions import load_world


def shipped_lines() -> list[list[str]]:
    packed = resources.files("geobias.world").joinpath("data/names.tsv.xz").read_bytes()
    return [line.split("\t") for line in lzma.decompress(packed).decode().splitlines()]


def own(tmp_path: Path, text: str, scripts: str = "latin") -> Gazetteer:
    file = tmp_path / "names.csv"
    file.write_text(text, encoding="utf-8")
    return read_gazetteer(file, scripts)


def test_the_file_holds_what_the_paper_counts() -> None:
    header, *lines = shipped_lines()
    assert header == ["code", "country", "kind", "names", "counts"]
    assert len({country for _, country, *_ in lines}) == 194
    names: dict[str, list[str]] = defaultdict(list)
    for _, _, kind, listed, counts in lines:
        names[kind] += listed.split("|")
        assert counts.count("|") == listed.count("|")
    assert {kind: len(names[kind]) for kind in KINDS} == {"male": 16771, "female": 12737, "last": 14797}
    male, female, last = (set(names[kind]) for kind in KINDS)
    assert len(male & female) == 239
    assert len((male | female) & last) == 803


def test_countries_are_those_of_the_regions() -> None:
    known = load_entries()
    countries = {(code, country) for code, country, *_ in shipped_lines()[1:]}
    codes = [code for code, _ in countries if code]
    assert len(codes) == len(set(codes)) == 193
    assert {country for code, country in countries if not code} == {"Orange Free State"}
    assert all(code in known for code in codes)
    named = {region.id: region.name for region in load_world(cities=0).regions if region.level == "country"}
    names = load_gazetteer()
    assert all(names.country(code) == named[code] for code in codes)


def test_counts_and_what_is_lacking() -> None:
    names = load_gazetteer()
    everything = load_gazetteer("all")
    assert [[len(each.names("MA", kind)) for each in (names, everything)] for kind in KINDS] == [
        [19, 92], [32, 91], [77, 98]
    ]  # fmt: skip
    assert names.find_short_lists("CN") == [("male", 5), ("female", 14), ("last", 0)]
    assert names.find_short_lists("KR") == [("male", 0), ("female", 0), ("last", 5)]
    assert load_gazetteer("all").find_short_lists("CN") == []
    assert [names.country(code) for code in PAPER_COUNTRIES] == [
        *("United Kingdom", "Ireland", "United States", "Canada", "Australia", "New Zealand", "South Africa", "India"),
        *("Germany", "France", "Spain", "Italy", "Portugal", "Hungary", "Poland", "Turkey", "Morocco"),
    ]
    assert not any(names.find_short_lists(code) for code in PAPER_COUNTRIES)


@pytest.mark.parametrize("name", ["Anna", "Łukasz", "Nguyễn", "O'Brien", "D’Angelo", "Jean-Luc", "Kahalepuna ʻIolani"])
def test_latin_names(name: str) -> None:
    assert is_latin(name)


@pytest.mark.parametrize("name", ["Иван", "محمد", "राम", "김", "佐々木", "Ivаn", "Maryna Марына", "Γεωργία"])
def test_names_with_other_letters(name: str) -> None:
    assert not is_latin(name)  # in "Ivаn" the third letter is Cyrillic


def test_a_country_without_names_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no names for Taiwan \(TW\). Remove it, or add your own names with --gaz"):
        load_gazetteer().find("taiwan")
    names = own(tmp_path, "country,kind,name\nEngland,last,Smith\nFRA,last,Martin\nA+,last,Moss\na-,last,Ness\n")
    assert (names.find("england"), names.find("France"), names.find("a+")) == ("England", "FR", "A+")
    assert names.codes == ("A+", "a-", "England", "FR")  # entries that are not countries stand for themselves
    with pytest.raises(InputError, match=r"names.csv has no names for Spain \(ES\)\. Add"):
        names.find("ESP")


def test_shipped_names_are_clean() -> None:
    names = load_gazetteer("all")
    assert "Guedes" in names.names("PT", "last")
    assert "Ioannou" in names.names("CY", "last")
    assert "Pols" in names.names("LV", "male")
    assert "da Silva" in names.names("PT", "last")
    for code in names.codes:
        for kind in KINDS:
            listed = names.names(code, kind)
            assert len(listed) == len(set(listed))
            assert not [name for name in listed if set("(),/|") & set(name) or name != name.strip() or not name]
    assert names.names("RO", "male").count("Ion") == 1  # the file has Ion and ion
    assert (
        sum(len(names.names(code, kind)) for code in names.codes for kind in KINDS) == 44281
    )  # 20 doubles and 4 entries that are no names


def test_own_names_are_cleaned_alike(tmp_path: Path) -> None:
    text = (
        "country\tkind\tname\nX\tmale\tion (nume)\nX\tmale\tIon\nX\tmale\tPols, Pauls\nX\tmale\tეკა\n"
        "X\tlast\tda Silva\nX\tlast\tIoannou/Joannou\n"
    )
    names = own(tmp_path, text, scripts="all")
    assert names.names("X", "male") == ("Ion", "Pols", "ეკა")  # Georgian has no capitals in names
    assert names.names("X", "last") == ("da Silva", "Ioannou")


def test_gender_of_shipped_names() -> None:
    names = load_gazetteer()
    assert names.gender("John") == names.gender("JOHN") == "male"
    assert names.gender("mary") == "female"
    assert names.gender("Иван") == "male"  # in any script, whatever is drawn
    assert names.gender("Dominique") is None  # equally common as both
    assert names.gender("Xyzzy") is None
    assert names.is_first("john") and not names.is_first("Obama")
    assert names.is_last("o’brien") and not names.is_last("Xyzzy")
    assert names.is_first("James") and names.is_last("james")


def test_gender_is_the_better_rank_over_countries(tmp_path: Path) -> None:
    names = own(
        tmp_path,
        """country,kind,name
A,male,Aqqa
A,male,Beqqo
A,male,Ceqqe
A,female,Ceqqe
A,female,Beqqo
B,female,Deqqi
B,female,Aqqa
B,male,Deqqu
B,male,Deqqi
C,female,Beqqa
C,female,Ceqqo
C,male,Ceqqe
B,last,Zeqqa
""",
    )
    assert names.gender("AQQA") == "male"  # first among men, second among women
    assert names.gender("Deqqi") == "female"  # first among women, second among men
    assert names.gender("Beqqo") is None  # second among both
    assert names.gender("Ceqqe") is None  # first among women, and first among men in another country
    assert names.gender("Mary") == "female"  # the shipped names are known too
    assert names.is_last("zeqqa") and not names.is_first("zeqqa")
    assert load_gazetteer().gender("Aqqa") is None  # and these stay with their file


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_own_names(tmp_path: Path, separator: str) -> None:
    text = """
Name,Country,Kind,note

Hans,germany,Male,
Jürgen,DE,male,x
Иван,DE,male,
Mei,Taiwan,female,
Huber,Bavaria,last,
Maier,bavaria,last,
"""
    names = own(tmp_path, "\ufeff" + text.replace(",", separator))
    assert names.codes == ("Bavaria", "DE", "TW")
    assert [names.country(code) for code in names.codes] == ["Bavaria", "Germany", "Taiwan"]
    assert names.names("DE", "male") == ("Hans", "Jürgen")
    assert names.names("DE", "female") == ()
    assert names.names("Bavaria", "last") == ("Huber", "Maier")
    assert names.find("BAVARIA") == "Bavaria"
    with pytest.raises(InputError, match=r"no names for France \(FR\)"):
        names.find("France")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("country,name\nFR,Martin\n", "has no column kind"),
        ("country,kind,name\nFR,last,Martin\n\nFR,boy,Luc\n", "kind 'boy' in line 4. Use male, female or last"),
        ("country,kind,name\nFR,last,\n", "no name in line 2"),
        ("country,kind,name\n,last,Martin\n", "no country or no name in line 2"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        own(tmp_path, text)


def test_every_bundled_name_has_a_count() -> None:
    counts, names = load_name_counts(), load_gazetteer("all")
    assert all(name in counts for code in names.codes for kind in KINDS for name in names.names(code, kind))
    assert counts["John"] > counts["Peter"] > counts["Ilham"]
    assert counts["John"] > 10_000 and counts["Smith"] > counts["Szabó"] > 0
