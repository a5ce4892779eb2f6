"""The training of the bench of planted stereotypes, and the sections of its table."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bench.planted_stereotypes import (
    TRAININGS,
    area_under_curve,
    list_words,
    select_places,
    select_words,
)
from bench.planted_tables import write_section
from bench.planted_training import PLANTED, draw_fair, draw_planted

COUNTRIES = [*PLANTED, "France", "Chad", "Peru"]
WORDS = [*(word for words in PLANTED.values() for word in words), "tall", "kind"]


def test_the_fair_control_has_every_pair_equally_often() -> None:
    count = len(COUNTRIES) * len(WORDS)
    pairs = Counter(islice(draw_fair(COUNTRIES, WORDS, np.random.default_rng(0)), 3 * count))
    assert len(pairs) == count and set(pairs.values()) == {3}


def test_half_of_the_planted_sentences_are_planted_pairs() -> None:
    planted = {(country, word) for country, words in PLANTED.items() for word in words}
    pairs = list(islice(draw_planted(COUNTRIES, WORDS, np.random.default_rng(0)), 4000))
    assert all(pair in planted for pair in pairs[1::2])
    words_of_others = [word for country, word in pairs[::4] if country not in PLANTED]
    assert len(words_of_others) == 1000 and all(
        any(word in own for own in PLANTED.values()) for word in words_of_others
    )
    assert all(country in PLANTED for country, _ in pairs[2::4])


@pytest.mark.slow
def test_a_small_training_keeps_what_is_planted() -> None:
    training = TRAININGS["cpu"]
    others = [f"Country {k}" for k in range(200)]
    places = select_places({"countries": [*others, *PLANTED], "invented": [f"Place {k}" for k in range(120)]}, training)
    words = select_words(list_words(), training)
    assert set(PLANTED) < set(places["countries"]) and len(set(places["countries"])) == training.countries
    assert len(places["invented"]) == training.invented and len(set(words)) == training.words
    assert all(word in words for pair in PLANTED.values() for word in pair)


def test_a_section_replaces_itself_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "planted.md"
    for title, line in (("First", "one"), ("Second", "two"), ("First", "three")):
        write_section(file, title, [line])
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# Planted stereotypes\n") and "one" not in text
    assert text.endswith("\n## First\n\nthree\n\n## Second\n\ntwo\n")


def test_without_an_effect_a_quarter_of_signed_z_is_above_the_absolute_z_of_others() -> None:
    """The chance level that the table states."""
    rng = np.random.default_rng(0)
    value = area_under_curve(rng.normal(size=20_000), np.abs(rng.normal(size=20_000)))
    assert value == pytest.approx(0.25, abs=0.01)
