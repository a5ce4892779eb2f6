"""The bench of doses plants what it says, and nothing else: no country and no word becomes commoner by its dose."""

from __future__ import annotations

import numpy as np
import pytest

from bench.dose_training import COUNTRIES, WORDS, Run, draw_targets, plant, spread_sentences
from bench.dose_worlds import World, draw, judge


@pytest.mark.parametrize(("countries", "words"), [(5, 2), (5, 10), (5, 40), (40, 2), (40, 10), (40, 40)])
def test_planted_and_fair_sentences_have_the_same_countries_and_words(countries: int, words: int) -> None:
    run = Run(countries, words, 0.5, seed=1)
    planted, (stereotyped, fair) = plant(run), spread_sentences(run)
    own_words = words if words < len(WORDS) else len(WORDS) // 2  # of all words, half are planted
    assert planted.sum() == countries * own_words and (planted.sum(axis=1) > 0).sum() == countries
    for axis in (0, 1):
        assert stereotyped.sum(axis=axis) == pytest.approx(fair.sum(axis=axis), rel=0.02)
    own = planted.any(axis=1)
    assert stereotyped[planted].sum() > 0.9 * stereotyped[own].sum()


def test_the_dose_is_the_share_of_planted_sentences() -> None:
    shares = []
    for dose in (0.0, 0.5, 1.0):
        run = Run(40, 10, dose, seed=2)
        targets = draw_targets(run, 20_000, np.random.default_rng(0))
        assert targets.sum() == 20_000 and targets.shape[::2] == (COUNTRIES, len(WORDS))
        shares.append(targets.sum(axis=1)[plant(run)].sum() / 20_000)
    assert shares == pytest.approx([0.25, 0.625, 1.0], abs=0.02)  # a quarter of all words are a country's own


@pytest.mark.slow
def test_worlds_with_nothing_and_with_much_are_read_rightly() -> None:
    nothing = [judge(*draw(World(fame=0.3), seed)) for seed in range(20)]
    planted = [judge(*draw(World(planted=(40, 10), size=1.0, fame=0.2), seed)) for seed in range(20)]
    assert sum(each.country_clear for each in nothing) <= 1 and sum(each.names_clear for each in nothing) >= 18
    assert all(each.country_clear for each in planted)
