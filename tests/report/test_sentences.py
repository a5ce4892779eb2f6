"""Numbers and lists in the sentences of findings."""

from __future__ import annotations

import re
from pathlib import Path

import geobias
from geobias.report.sentences import format_number, say_missed


def test_what_could_be_missed_is_never_less_than_what_was() -> None:
    assert say_missed("24 texts", 3.0, [1.8, -2.0], format_number) == (
        " With these 24 texts a difference under 3.0 could be missed."
    )
    assert "under 5.0 could" in say_missed("24 texts", 3.0, [1.8, -5.0], format_number)
    assert say_missed("24 texts", None, [1.8], format_number) == say_missed("words", 0.0, [], format_number) == ""


def test_sentences_and_tables_print_adjusted_p_values_only() -> None:
    """The same test must not have one p in a caution and another in the table beside it."""
    raw = re.compile(r"format_p\((\w+\.)+p\)|format_evidence\([^()]+, (\w+\.)+p[,)]|\{(\w+\.)*difference\.p:")
    source = Path(geobias.__file__).parent
    modules = [path for path in source.rglob("*.py") if path.parent.name != "regions"]
    assert [path.name for path in modules if raw.search(path.read_text(encoding="utf-8"))] == []
