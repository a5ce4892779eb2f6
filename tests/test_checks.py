"""Suggestions for misspelt names."""

from __future__ import annotations

from geobias.checks import suggest


def test_only_near_names_are_suggested() -> None:
    names = ["russia", "greenland", "austria", "australia", "iran", "iraq"]
    assert suggest("usa", names) == suggest("england", names) == suggest("", names) == []
    assert suggest("austalia", names, most=3) == ["australia"]
    assert suggest("autsria", names) == ["austria"] and suggest("iraw", names) == []
