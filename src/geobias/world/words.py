"""The words that describe people: HERB's 112 in five topics, each with its substitute; or the user's.

How favourable they are: people's ratings from the VADER lexicon (Hutto and Gilbert 2014).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from geobias.checks import check_name, check_number, describe_choices, shorten
from geobias.errors import InputError
from geobias.files import DELIMITERS, find_delimiter, first_line, parse_lines, parse_named_rows, read_text
from geobias.world import read_data, read_rows

NO_TOPIC = "words"
PARTS_OF_SPEECH = ("adjective", "noun", "verb")
PROPERTIES = {"substitute": "substitutes", "part_of_speech": "parts of speech", "valence": "valences"}
log = logging.getLogger("geobias")
HIGHEST_VALENCE = 4


@dataclass(frozen=True)
class Word:
    """One description. The same word may stand in two topics ("strong", "weak"): those are two dimensions.

    The part of speech says which sentence the word fits (`texts/paraphrases.py`); the valence, from -4 to 4, how
    favourable the word is, and is None if nobody rated it.
    """

    word: str
    topic: str = NO_TOPIC
    substitute: str | None = None
    part_of_speech: str = "adjective"
    valence: float | None = None


def herb_words() -> tuple[Word, ...]:
    """The paper's 112 words (HERB, appendices A and B), with their parts of speech and ratings."""
    return rate_words(
        Word(entry["word"], topic, entry["substitute"], entry["part_of_speech"])
        for topic, entries in json.loads(read_data("descriptions.json")).items()
        for entry in entries
    )


def rate_words(words: Iterable[Word]) -> tuple[Word, ...]:
    """Return the words with the lexicon's rating as the valence of those that have none and are in the lexicon."""
    ratings = load_valence()
    return tuple(
        replace(word, valence=ratings.get(word.word.lower())) if word.valence is None else word for word in words
    )


def read_words(path: Path) -> tuple[Word, ...]:
    """The user's words: one a line, or a table separated by commas, semicolons or tabs.

    The table needs the column word; topic, substitute, part_of_speech and valence are optional. A word without a
    valence gets the lexicon's.
    """
    title = f"The word file {path}"
    text = read_text(path, "word file")
    if find_delimiter(text, ["word"]) is not None:
        rows = parse_named_rows(text, title, ["word"])
    else:
        first = first_line(text)
        if any(mark in first for mark in f'{DELIMITERS}"'):
            raise InputError(f"{title} has no column 'word'. Its first line is {shorten(first)!r}.")
        rows = [(line, {"word": name}) for line, name in parse_lines(text, title)]
    if line := next((line for line, row in rows if not row["word"]), None):
        raise InputError(f"{title} has no word in line {line}. Fill it in, or remove the line.")
    words = [_parse_word(row, f"{title}, line {line}") for line, row in rows]
    distinct = check_words(rate_words(words), title)
    if len(distinct) < len(words):
        log.warning("%s repeats %d word(s); each is used once.", path, len(words) - len(distinct))
    return distinct


def _parse_word(row: dict[str, str], where: str) -> Word:
    rating = row.get("valence") or None
    try:
        valence = None if rating is None else float(rating)
    except ValueError:
        raise InputError(
            f"{where}: the valence {shorten(str(rating))!r} is not a number. Use one from -{HIGHEST_VALENCE} to "
            f"{HIGHEST_VALENCE}, or leave it empty."
        ) from None
    part_of_speech = (row.get("part_of_speech") or "adjective").lower()
    word = Word(row["word"], row.get("topic") or NO_TOPIC, row.get("substitute") or None, part_of_speech, valence)
    _check_word(word, where)
    return word


def _check_word(word: Word, where: str) -> None:
    for name in (word.word, word.topic, word.substitute or ""):
        check_name(name, where)
    if word.part_of_speech not in PARTS_OF_SPEECH:
        hint = describe_choices(word.part_of_speech, PARTS_OF_SPEECH)
        raise InputError(f"{where}: unknown part of speech {shorten(word.part_of_speech)!r}. {hint}")
    if word.valence is not None:
        check_number(f"{where}: the valence", word.valence, -HIGHEST_VALENCE, HIGHEST_VALENCE)


def check_words(words: Iterable[Word], source: str = "The list of words") -> tuple[Word, ...]:
    """Return the words without repeats within a topic; refuse fewer than two, whose normalised vector is constant."""
    by_name: dict[tuple[str, str], Word] = {}
    for word in words:
        first = by_name.setdefault((word.word, word.topic), word)
        if first != word:
            differing = next(each for each in PROPERTIES if getattr(first, each) != getattr(word, each))
            raise InputError(f"{source} has two {PROPERTIES[differing]} for {word.word!r} ({word.topic}). Keep one.")
    distinct = tuple(by_name.values())
    for number, word in enumerate(distinct, 1):
        if not isinstance(word.word, str) or not word.word.strip():
            raise InputError(f"{source} has a word that is empty or not a text: {word.word!r}.")
        _check_word(word, f"{source}, word {number}")
    if len(distinct) < 2:
        raise InputError(f"{source} has {len(distinct)} distinct word(s). At least two are needed.")
    return distinct


@cache
def load_valence() -> dict[str, float]:
    """The mean rating of each word in lower case, from -4 (most unfavourable) to 4 (most favourable)."""
    return {word: float(rating) for word, rating in read_rows("valence.tsv.xz")}
