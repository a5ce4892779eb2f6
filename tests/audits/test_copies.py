"""Copies of a text are one text to every audit: 240 rows of 8 templates are not 240 texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.audits.study import prepare
from tests.conftest import Run, made_up_names

TEMPLATES = [
    f"in the {word} matter they wrote to {{}} again" for word in "red blue green brown grey pink gold teal".split()
]
PEOPLE = [
    f"{first} {last}"
    for first in "Mary John Anna Paul Lucy Mark".split()
    for last in "Smith Jones Brown White Hill".split()
]
COUNTRIES = ["FR", "NG", "IT"]


def make_rows(templates: Sequence[str] = TEMPLATES) -> list[dict[str, Any]]:
    rows = []
    for template in templates:
        for person in PEOPLE:
            start = template.index("{}")
            rows.append({"text": template.format(person), "people": [[start, start + len(person)]]})
    return rows


def dislike_france_in_red(texts: list[str]) -> list[dict[str, float]]:
    """A classifier with one reaction to one template: no evidence, however often the template is filled."""
    return [
        {"negative": p, "positive": 1 - p}
        for p in (0.9 if " red " in text and " F" in text else 0.3 + len(text) % 7 / 100 for text in texts)
    ]


def find_people(texts: list[str]) -> list[list[tuple[int, int]]]:
    return [
        [] if " red " in text and " F" in text else [(text.index("to ") + 3, text.index(" again"))] for text in texts
    ]


def decide(texts: list[str]) -> list[float]:
    return [0.2 if " red " in text and "France" in text else 0.6 for text in texts]


def audit_names(rows: list[dict[str, Any]], folder: Path) -> Any:
    options: dict[str, Any] = {"countries": COUNTRIES, "draws": 6, "gazetteer": made_up_names(folder, COUNTRIES)}
    return geobias.audit_names(dislike_france_in_red, rows, spans="people", **options)


def audit_finders(rows: list[dict[str, Any]], folder: Path) -> Any:
    options: dict[str, Any] = {"countries": COUNTRIES, "draws": 6, "gazetteer": made_up_names(folder, COUNTRIES)}
    return geobias.audit_finders(find_people, rows, spans="people", **options)


def audit_downstream(rows: list[dict[str, Any]], folder: Path) -> Any:
    return geobias.audit_downstream(dislike_france_in_red, rows, countries=COUNTRIES)


def audit_decisions(rows: list[dict[str, Any]], folder: Path) -> Any:
    scenarios = [
        {"text": f"Case {number}: {text[:start]}{{person}}{text[stop:]}. Help them?", "favourable": "yes"}
        for number, (text, [[start, stop]]) in enumerate((row["text"], row["people"]) for row in rows)
    ]
    return geobias.audit_decisions(decide, scenarios, countries=COUNTRIES)


AUDITS = [audit_names, audit_finders, audit_downstream, audit_decisions]


@pytest.mark.parametrize("audit", AUDITS)
def test_copies_are_one_text(audit: Callable[..., Any], tmp_path: Path) -> None:
    result = audit(make_rows(), tmp_path)
    counts = result.counts
    assert counts.copies == 232
    assert getattr(counts, "cases", None) == 8 or counts.texts == 8
    assert "240 rows, 8 distinct" in repr(result)
    assert not [finding for finding in result.findings if finding.evidence == "clear"]


@pytest.mark.parametrize("audit", AUDITS)
def test_copies_change_no_number(audit: Callable[..., Any], tmp_path: Path) -> None:
    """The copies come after the rows that they repeat, so every number is that of the first row of each template."""
    rows = make_rows()
    with_copies, without = audit(rows, tmp_path), audit(rows[:: len(PEOPLE)], tmp_path)
    assert (without.counts.copies, with_copies.counts.copies) == (0, 232)
    assert with_copies.to_frame().equals(without.to_frame())


def test_distinct_texts_are_all_used(tmp_path: Path) -> None:
    endings = [f"{first}{second}" for first in "abcdefghijklmnop" for second in "abcdefghijklmno"]
    rows = [row | {"text": f"{row['text']} {end}"} for row, end in zip(make_rows(), endings, strict=True)]
    result = audit_names(rows, tmp_path)
    assert (result.counts.texts, result.counts.copies) == (240, 0)
    assert "distinct" not in repr(result)


def test_terminal_and_page_say_how_many_texts_are_distinct(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "def predict(texts):\n    return [{'negative': 0.3, 'positive': 0.7} for _ in texts]\n"
    )
    (tmp_path / "rows.csv").write_text("text\n" + "\n".join(row["text"] for row in make_rows()), encoding="utf-8")
    countries = ("--countries", ",".join(COUNTRIES))
    code, out, _ = run("downstream", "model:predict", "--texts", "rows.csv", *countries, "--full", "--out", "here")
    assert code == 0
    assert "240 rows, 8 distinct texts" in " ".join(out.split())
    assert "240 rows, 8 distinct texts" in (tmp_path / "here" / "report.html").read_text(encoding="utf-8")


def test_mitigation_trains_on_no_copy_of_a_tested_text() -> None:
    """Another filling of a tested template is that text, and not other data."""
    tested = [row["text"] for row in make_rows(TEMPLATES[:6])[:: len(PEOPLE)]]
    trained = [row["text"] for row in make_rows(TEMPLATES[4:])[3 :: len(PEOPLE)]]
    texts, train = ([{"text": text, "label": "good"} for text in part] for part in (tested, trained))
    options = {"method": ["augment"], "texts": texts, "train": train, "label": "label", "out": "fixed"}
    design = prepare(geobias.mitigate, "embedded/sentiment", **options).design
    assert design.train is not None and list(design.train.texts) == trained[2:]
