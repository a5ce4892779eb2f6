"""Scenarios: the bundled ones keep their promises, and the user's are read from every format or refused in one line."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geobias.errors import InputError
from geobias.texts.scenarios import (
    KINDS,
    digest_scenarios,
    load_scenarios,
    read_scenarios,
    select_scenarios,
)

DOMAINS = {
    *("hiring", "lending", "housing", "visas", "medical triage", "moderation", "education", "policing", "insurance"),
    "customer service",
}
ROWS: list[dict[str, Any]] = [
    {"text": "May {person} join?", "favourable": "yes", "domain": "clubs", "paraphrase_of": "join", "mirror_of": None},
    {"text": "Can {person} join?", "favourable": "yes", "domain": "clubs", "paraphrase_of": "join", "mirror_of": None},
    {"text": "Must {person} go?", "favourable": "no", "domain": "clubs", "paraphrase_of": "go", "mirror_of": "join"},
]


def test_bundled_scenarios_cover_every_domain_and_are_mirrored() -> None:
    scenarios = load_scenarios()
    assert len({scenario.id for scenario in scenarios}) == len(scenarios)
    assert Counter(scenario.kind for scenario in scenarios) == {"yes_no": 60, "number": 10, "choice": 10}
    for kind in KINDS:
        of_kind = select_scenarios(scenarios, kind=kind)
        assert {scenario.domain for scenario in of_kind} == DOMAINS
    yes_no = {scenario.id: scenario for scenario in select_scenarios(scenarios, kind="yes_no")}
    assert Counter(scenario.domain for scenario in yes_no.values()) == dict.fromkeys(DOMAINS, 6)
    mirrors = [scenario for scenario in yes_no.values() if scenario.mirror_of]
    assert len(mirrors) * 2 == len(yes_no)
    for mirror in mirrors:
        original = yes_no[mirror.mirror_of or ""]
        assert (original.favourable, mirror.favourable) == ("yes", "no") and original.role == mirror.role
        assert original.texts[0].rpartition(". ")[0] == mirror.texts[0].rpartition(". ")[0]  # the same case


def test_bundled_scenarios_are_short_neutral_and_name_the_person_late() -> None:
    for scenario in load_scenarios():
        assert len(set(scenario.texts)) == 3
        for text in scenario.texts:
            assert len(text.split()) <= 100 and text.endswith("?")
            assert not re.search(r"\b(he|she|his|her|him|man|woman|immigrant|foreign\w*|accent)\b", text, re.IGNORECASE)
            places = ["{first}", "{second}"] if scenario.kind == "choice" else ["{person}"]
            assert re.findall(r"{\w+}", text) == places
            assert len(text.partition(places[-1])[2].split()) <= 4


def test_domains_and_kinds_are_selected() -> None:
    visas = select_scenarios(load_scenarios(), kind="yes_no", domains=["visas"])
    assert len(visas) == 6 and {scenario.domain for scenario in visas} == {"visas"}
    with pytest.raises(InputError, match=r"Unknown domain 'hirring'. Did you mean 'hiring'"):
        select_scenarios(load_scenarios(), domains=["hirring"])


def write(folder: Path, suffix: str) -> Path:
    path = folder / f"own{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    else:
        mark = "\t" if suffix == ".tsv" else ","
        lines = [mark.join(ROWS[0]), *(mark.join(value or "" for value in row.values()) for row in ROWS)]
        path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_the_same_scenarios_from_every_format(tmp_path: Path, suffix: str) -> None:
    scenarios = read_scenarios(write(tmp_path, suffix))
    assert scenarios == read_scenarios(ROWS) and digest_scenarios(scenarios) == digest_scenarios(read_scenarios(ROWS))
    join, go = scenarios
    assert (join.id, join.texts, join.kind, join.role) == (
        "join",
        (ROWS[0]["text"], ROWS[1]["text"]),
        "yes_no",
        "person",
    )
    assert (go.case, go.sign, join.case, join.sign) == ("join", -1, "join", 1)


def test_kinds_follow_from_the_row() -> None:
    rows = [
        {"text": "How many for {person}?", "favourable": "low"},
        {"text": "{first} or {second}?", "favourable": "yes"},
        {"text": "", "favourable": ""},
        {"text": "May {person} go?", "favourable": "Yes"},
    ]
    scenarios = read_scenarios(rows)
    assert [(scenario.id, scenario.kind, scenario.sign) for scenario in scenarios] == [
        ("row 1", "number", -1),
        ("row 2", "choice", 1),
        ("row 4", "yes_no", 1),
    ]
    assert {scenario.domain for scenario in scenarios} == {"other"}


def test_only_paraphrase_of_joins_rows() -> None:
    rows = [
        {"text": "May {person} go?", "favourable": "yes", "id": 1.0, "paraphrase_of": None},  # as in a data frame
        {"text": "Can {person} go?", "favourable": "yes", "id": None, "paraphrase_of": "1"},
        {"text": "Can {person} stay?", "favourable": "yes", "id": None, "paraphrase_of": None},
    ]
    assert [(scenario.id, len(scenario.texts)) for scenario in read_scenarios(rows)] == [("1", 2), ("row 3", 1)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "May {person} go?"}], "has no column 'favourable'. Its columns: text"),
        ([{"text": "May I go?", "favourable": "yes"}], r"row 1: the text .* must contain \{person\} exactly once"),
        ([{"text": "{first}?", "favourable": "yes"}], r"must contain \{first\} and \{second\} exactly once"),
        ([{"text": "May {person} go?", "favourable": "maybe"}], "favourable must be 'yes' or 'no', not 'maybe'"),
        ([{"text": "", "favourable": ""}], "no scenarios: all rows are blank"),
        (
            [{"text": "{person}?", "favourable": "yes", "kind": "chioce"}],
            "unknown kind 'chioce'. Did you mean 'choice'",
        ),
        ([ROWS[0], ROWS[1] | {"domain": "sport"}], "row 2: domain differs from row 1"),
        (
            [{"text": "May {person} go?", "favourable": "yes", "id": 1}, ROWS[0] | {"paraphrase_of": "", "id": "1"}],
            "row 2 has the id '1' of row 1. Give it another id",
        ),
        (ROWS[2:], "mirrors 'join', which is not a scenario"),
        ([*ROWS[:2], ROWS[2] | {"favourable": "yes"}], "must be of one kind and differ in favourable"),
    ],
)
def test_bad_scenarios_are_refused_in_one_line(rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_scenarios(rows)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["May {person} join?", "Somebody who came in spring wants to join the club of the town"]
)
def test_a_text_is_no_id(name: str) -> None:
    row = {"text": "May {person} join?", "favourable": "yes", "paraphrase_of": name}
    with pytest.raises(InputError, match=r"row 1: paraphrase_of .+ is a text\. Use a number or a short name"):
        read_scenarios([row])
