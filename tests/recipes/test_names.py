"""How often a text has a name."""

from __future__ import annotations

from recipes.names.make import count_names


def test_names_are_counted_as_whole_words() -> None:
    lines = ["Ann met Anna and Ann-Marie.", "da Silva, O'Brien and O'Brien's Da Silva; Annette da Silvas; ann"]
    names = ["Ann", "Anna", "Ann-Marie", "da Silva", "O'Brien", "Marie", "Zoë"]
    counts = count_names(names, lines)
    assert [counts[name] for name in names] == [2, 1, 1, 1, 2, 1, 0]


def test_a_name_that_begins_with_a_mark() -> None:
    assert count_names(["'Abd", "Abd"], ["He met 'Abd.", "Abd"]) == {"'Abd": 1, "Abd": 2}
