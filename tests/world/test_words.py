from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from geobias.errors import InputError
from geobias.world.words import Word, check_words, herb_words, read_words


def test_the_papers_words() -> None:
    words = herb_words()
    assert len(words) == 112
    topics = Counter(word.topic for word in words)
    assert topics == {"occupation": 20, "intelligence": 25, "appearance": 25, "strength": 23, "morality": 19}
    twice = [word for word, count in Counter(w.word for w in words).items() if count == 2]
    assert sorted(twice) == ["strong", "weak"]
    assert words[0] == Word("homemaker", "occupation", "housewife")


def test_a_word_a_line(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("\ufeffkind\n\n rude \nkind\n", encoding="utf-8")
    assert [word.word for word in read_words(file)] == ["kind", "rude"]


def test_csv_with_topics(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text('Topic,Word\nmanners,kind\nmanners,"polite, mostly"\n,loud\n', encoding="utf-8")
    assert read_words(file) == (Word("kind", "manners"), Word("polite, mostly", "manners"), Word("loud", "words"))


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("\n \n", "is empty"), ("kind\nkind\n", "1 word")])
def test_too_few_words_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_words(file)


@pytest.mark.parametrize(
    "text",
    ['"word","topic"\n"kind","a"\n"rude","b"\n', "word;topic\nkind;a\nrude;b\n", "\nword\ttopic\nkind\ta\nrude\tb\n"],
)
def test_tables_as_other_programs_write_them(tmp_path: Path, text: str) -> None:
    file = tmp_path / "words.csv"
    file.write_text(text, encoding="utf-8")
    assert read_words(file) == (Word("kind", "a"), Word("rude", "b"))


@pytest.mark.parametrize("text", ["id,name,parent\na,A,\n", "topic;adjective\na;kind\n", '"kind"\n"rude"\n'])
def test_a_table_without_words_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no column 'word'"):
        read_words(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt does not exist"):
        read_words(tmp_path / "none.txt")


def test_the_same_word_in_two_topics_is_two_dimensions() -> None:
    assert len(check_words([Word("strong", "a"), Word("strong", "b"), Word("strong", "a")])) == 2
