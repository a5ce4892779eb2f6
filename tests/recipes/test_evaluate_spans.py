"""The finder on the texts marked by hand: the figures that are shown are measured, and the marks are sound."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from geobias.audits.names.phrases import EMBEDDED_PRECISION
from geobias.models.finders import load_finder
from geobias.world.gazetteer import load_gazetteer
from recipes.entities.evaluate_spans import KINDS, MARKED, find_mentions, overlaps, read_marked, score_mentions

CARD = Path(__file__).parents[2] / "src/geobias/models/bundled/weights/entities/README.md"


def test_marks_are_sound() -> None:
    rows = read_marked()
    assert MARKED.stat().st_size < 50_000
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["kind"] for row in rows} == set(KINDS) and {row["part"] for row in rows} == {"dev", "test"}
    assert sum(len(row["persons"]) for row in rows) >= 300
    for row in rows:
        assert row["source"] and row["licence"] in ("MIT", "CC BY 4.0")
        spans = sorted(map(tuple, row["persons"] + row["eponyms"]))
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        for start, end in spans:
            assert row["text"][start:end].strip() == row["text"][start:end] != ""
            assert not re.match(r"\w", row["text"][end : end + 1]) and not re.search(r"\w$", row["text"][:start])


def test_scores_by_hand() -> None:
    rows = [
        {"persons": [[0, 4], [10, 14]], "eponyms": []},
        {"persons": [], "eponyms": [[5, 9]]},
    ]
    scores = score_mentions(rows, [[(0, 4), (11, 20), (30, 31)], [(5, 9), (0, 2)]])
    assert (scores.mentions, scores.right, scores.exact, scores.eponyms) == (5, 2, 1, 1)
    assert (scores.persons, scores.persons_found) == (2, 2)
    assert (scores.precision, scores.exact_precision, scores.recall) == (0.4, 0.2, 1.0)
    assert overlaps((0, 1), [[0, 4]]) and not overlaps((4, 5), [[0, 4]])


@pytest.mark.slow
def test_the_figures_that_are_shown() -> None:
    """On the held-out part: recall falls by at most 2 points, precision rises, and the card has these numbers."""
    rows = read_marked("test")
    kept, dropped = (
        score_mentions(rows, mentions)
        for mentions in find_mentions(load_finder(), load_gazetteer(), [row["text"] for row in rows])
    )
    assert kept.recall - dropped.recall <= 0.02
    assert dropped.precision - kept.precision >= 0.05
    assert round(dropped.precision, 2) == EMBEDDED_PRECISION
    card = CARD.read_text(encoding="utf-8")
    assert f"| all | dropped | {dropped.mentions} | {dropped.precision:.3f} |" in card
    assert f"| all | kept | {kept.mentions} | {kept.precision:.3f} |" in card
