"""Suggestions for misspelt names."""

from __future__ import annotations

from functools import cache
from itertools import product

from geobias.checks import _edit_distance, suggest


@cache
def brute_force_distance(first: str, second: str) -> int:
    """The textbook recursion of the distance with swaps of neighbours (optimal string alignment)."""
    if not first or not second:
        return len(first) + len(second)
    costs = [
        brute_force_distance(first[:-1], second) + 1,
        brute_force_distance(first, second[:-1]) + 1,
        brute_force_distance(first[:-1], second[:-1]) + (first[-1] != second[-1]),
    ]
    if len(first) > 1 and len(second) > 1 and first[-2:] == second[-2:][::-1]:
        costs.append(brute_force_distance(first[:-2], second[:-2]) + 1)
    return min(costs)


def test_the_distance_is_that_of_brute_force() -> None:
    texts = ["".join(letters) for length in range(5) for letters in product("abc", repeat=length)]
    for first in texts:
        for second in texts[::3]:
            assert _edit_distance(first, second) == brute_force_distance(first, second)


def test_only_near_names_are_suggested() -> None:
    names = ["russia", "greenland", "austria", "australia", "iran", "iraq"]
    assert suggest("usa", names) == suggest("england", names) == suggest("", names) == []
    assert suggest("austalia", names, most=3) == ["australia"]
    assert suggest("iraw", names, most=3) == ["iran", "iraq"] and suggest("iraw", names) == ["iran"]
