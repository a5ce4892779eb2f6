from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from geobias.errors import InputError
from geobias.world.countries import load_country_names
from geobias.world.known_stereotypes import OWN_REGION_IS_NORTH_AMERICA, KnownStereotype, load_known_stereotypes
from geobias.world.words import Word, herb_words, load_valence, rate_words, read_words


def test_the_papers_words() -> None:
    words = herb_words()
    assert len(words) == 112
    topics = Counter(word.topic for word in words)
    assert topics == {"occupation": 20, "intelligence": 25, "appearance": 25, "strength": 23, "morality": 19}
    twice = [word for word, count in Counter(w.word for w in words).items() if count == 2]
    assert sorted(twice) == ["strong", "weak"]
    assert words[0] == Word("homemaker", "occupation", "housewife", "noun")


def test_the_papers_words_have_parts_of_speech() -> None:
    words = herb_words()
    assert Counter(word.part_of_speech for word in words) == {"adjective": 82, "noun": 25, "verb": 5}
    verbs = [word.word for word in words if word.part_of_speech == "verb"]
    assert verbs == ["command", "assert", "succeed", "triumph", "surrender"]
    assert {word.part_of_speech for word in words if word.topic == "occupation"} == {"noun"}


def test_the_papers_words_have_the_lexicons_ratings() -> None:
    valences = {word.word: word.valence for word in herb_words()}
    assert valences["kind"] == 2.4 and valences["ugly"] == -2.3 and valences["nurse"] is None
    ratings = [word.valence for word in herb_words() if word.valence is not None]
    assert (len(ratings), sum(rating > 0 for rating in ratings)) == (40, 31)


def test_the_lexicon_has_single_words_and_its_scale() -> None:
    ratings = load_valence()
    assert len(ratings) == 7217
    assert all(word == word.lower() and word.replace("-", "").isalpha() for word in ratings)
    assert -4 <= min(ratings.values()) < -3 and 3 < max(ratings.values()) <= 4


def test_csv_with_topics(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text('Topic,Word\nmanners,kind\nmanners,"polite, mostly"\n,loud\n', encoding="utf-8")
    assert read_words(file) == (
        Word("kind", "manners", valence=2.4),
        Word("polite, mostly", "manners"),
        Word("loud", "words"),
    )


def test_csv_with_parts_of_speech_and_valence(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("word,part_of_speech,valence\nkind,,-1\nnurse,Noun,1.5\nsucceed,verb,\n", encoding="utf-8")
    assert read_words(file) == (
        Word("kind", valence=-1.0),
        Word("nurse", part_of_speech="noun", valence=1.5),
        Word("succeed", part_of_speech="verb", valence=2.2),
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("rude,adverb,", r"line 3: unknown part of speech 'adverb'\. .*adjective, noun, verb"),
        ("rude,,bad", r"line 3: the valence 'bad' is not a number\. Use one from -4 to 4"),
        ("rude,,5", r"line 3: the valence must be between -4 and 4, not 5\.0"),
        ("kind,noun,", r"two parts of speech for 'kind'"),
    ],
)
def test_bad_parts_of_speech_and_valences_are_refused(tmp_path: Path, row: str, message: str) -> None:
    file = tmp_path / "words.csv"
    file.write_text(f"word,part_of_speech,valence\nkind,,\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_words(file)


@pytest.mark.parametrize(
    "text",
    ['"word","topic"\n"kind","a"\n"rude","b"\n', "word;topic\nkind;a\nrude;b\n", "\nword\ttopic\nkind\ta\nrude\tb\n"],
)
def test_tables_as_other_programs_write_them(tmp_path: Path, text: str) -> None:
    file = tmp_path / "words.csv"
    file.write_text(text, encoding="utf-8")
    assert read_words(file) == rate_words([Word("kind", "a"), Word("rude", "b")])


def count_votes(pair: KnownStereotype) -> tuple[int, int, int, int]:
    return (
        pair.region_stereotype,
        pair.region_other,
        pair.north_america_stereotype,
        pair.north_america_other,
    )


def test_every_pair_is_of_a_country_and_stands_once() -> None:
    pairs = load_known_stereotypes()
    assert len(pairs) == len({(pair.code, pair.attribute) for pair in pairs}) == 6700
    codes = Counter(pair.code for pair in pairs)
    assert len(codes) == 168 and set(codes) <= set(load_country_names())
    assert all(pair.attribute.strip() == pair.attribute != "" for pair in pairs)


def test_votes_and_ratings_are_on_their_scales() -> None:
    pairs = load_known_stereotypes()
    assert min(min(count_votes(pair)) for pair in pairs) == 0
    assert sum(sum(count_votes(pair)[:2]) == 0 for pair in pairs) == 3
    ratings = [pair.offensiveness for pair in pairs if pair.offensiveness is not None]
    assert (len(pairs) - len(ratings), min(ratings), max(ratings)) == (1179, -1, 4)


def test_north_americas_own_votes_are_repeated() -> None:
    votes = [count_votes(pair) for pair in load_known_stereotypes() if pair.code in OWN_REGION_IS_NORTH_AMERICA]
    assert len(votes) == 316 and all(row[:2] == row[2:] for row in votes)


def test_the_attribute_is_not_in_the_repr() -> None:
    pair = load_known_stereotypes()[0]
    assert pair.attribute not in repr(pair) and pair.code in repr(pair)
