"""Numbers and lists in the sentences of findings."""

from __future__ import annotations

from geobias.report.sentences import format_number, say_missed


def test_what_could_be_missed_is_never_less_than_what_was() -> None:
    assert say_missed("24 texts", 3.0, [1.8, -2.0], format_number) == (
        " With these 24 texts a difference under 3.0 could be missed."
    )
    assert "under 5.0 could" in say_missed("24 texts", 3.0, [1.8, -5.0], format_number)
    assert say_missed("24 texts", None, [1.8], format_number) == say_missed("words", 0.0, [], format_number) == ""
