"""What is trained on is never what is audited."""

from __future__ import annotations

from collections import Counter

import pytest

from geobias.errors import InputError
from geobias.models.training.alignment_split import split_for_alignment
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.paraphrases import paraphrase_templates
from geobias.world.regions import Region, load_world
from geobias.world.words import Word, herb_words

COUNTRIES = [region for region in load_world(cities=0, dissolved=False).regions if region.level == "country"]
TEMPLATES = paraphrase_templates(Word("kind"))


@pytest.mark.parametrize("seed", range(3))
def test_halves_share_nothing_and_cover_everything(seed: int) -> None:
    split = split_for_alignment(COUNTRIES, herb_words(), TEMPLATES, seed=seed)
    train, held_out = split.train, split.held_out
    assert {*train.regions, *held_out.regions} == set(COUNTRIES)
    assert not {region.name for region in train.regions} & {region.name for region in held_out.regions}
    assert not {word.word for word in train.words} & {word.word for word in held_out.words}
    assert {*train.templates, *held_out.templates} == set(TEMPLATES) and not {*train.templates} & {*held_out.templates}
    assert held_out.templates[0] == DEFAULT_TEMPLATE  # the audit's own
    assert abs(len(train.words) - len(held_out.words)) <= 6
    by_continent = [Counter(region.parent for region in part.regions) for part in (train, held_out)]
    assert all(abs(by_continent[0][parent] - by_continent[1][parent]) <= 4 for parent in by_continent[0])


@pytest.mark.parametrize("seed", range(5))
def test_what_gives_each_other_away_stays_together(seed: int) -> None:
    split = split_for_alignment(COUNTRIES, herb_words(), TEMPLATES, seed=seed)
    names = {region.name for region in split.train.regions}
    for group in (
        ("Guinea", "Papua New Guinea", "Guinea-Bissau"),
        ("Samoa", "American Samoa"),
        ("Sudan", "South Sudan"),
    ):
        assert len({name in names for name in group}) == 1
    words = {word.word for word in split.train.words}
    assert ("inquiring" in words) == ("inquisitive" in words)
    assert len({(word.word, word.topic) for word in split.train.words if word.word == "strong"}) in (0, 2)


def test_seeds_differ_and_repeat() -> None:
    first, again, other = (split_for_alignment(COUNTRIES, herb_words(), TEMPLATES, seed=seed) for seed in (0, 0, 1))
    assert first == again and first.train.words != other.train.words


def test_too_few_are_refused() -> None:
    words = [Word(name) for name in "abcdefghij"]
    regions = [Region(name, name, "country", 0) for name in ("Kenya", "France", "Chad", "Peru")]
    split_for_alignment(regions, words, TEMPLATES)
    for few in ((regions[:3], words, TEMPLATES), (regions, words[:9], TEMPLATES), (regions, words, TEMPLATES[:1])):
        with pytest.raises(InputError, match="too few"):
            split_for_alignment(*few)
