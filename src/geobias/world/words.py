"""The words that describe people: HERB's 112 in five topics, each with its substitute; or the user's."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from geobias.checks import check_name, shorten
from geobias.delimited import DELIMITERS, find_delimiter, first_line, parse_lines, parse_named_rows
from geobias.errors import InputError
from geobias.files import read_text

NO_TOPIC = "words"
log = logging.getLogger("geobias")


@dataclass(frozen=True)
class Word:
    """One description. The same word may stand in two topics ("strong", "weak"): those are two dimensions."""

    word: str
    topic: str = NO_TOPIC
    substitute: str | None = None


def herb_words() -> tuple[Word, ...]:
    """The paper's 112 words (HERB, appendices A and B)."""
    text = resources.files("geobias.world").joinpath("data/descriptions.json").read_text(encoding="utf-8")
    return tuple(
        Word(entry["word"], topic, entry["substitute"])
        for topic, entries in json.loads(text).items()
        for entry in entries
    )


def read_words(path: Path) -> tuple[Word, ...]:
    """The user's words: one a line, or a table (commas, semicolons or tabs) with the columns word, topic, substitute.

    Only the column word is needed.
    """
    title = f"The word file {path}"
    text = read_text(path, "word file")
    if find_delimiter(text, ["word"]) is not None:
        rows = parse_named_rows(text, title, ["word"])
        for line, row in rows:
            if not row["word"]:
                raise InputError(f"{title} has no word in line {line}: fill it in, or remove the line.")
        words = [Word(row["word"], row.get("topic") or NO_TOPIC, row.get("substitute") or None) for _, row in rows]
        lines = [line for line, _ in rows]
    else:
        first = first_line(text)
        if any(mark in first for mark in f'{DELIMITERS}"'):
            raise InputError(f"{title} has no column 'word': its first line is {shorten(first)!r}.")
        numbered_lines = parse_lines(text, title)
        words, lines = [Word(name) for _, name in numbered_lines], [line for line, _ in numbered_lines]
    for line, word in zip(lines, words, strict=True):
        _check_names(word, f"{title}, line {line}")
    distinct = check_words(words, title)
    if len(distinct) < len(words):
        log.warning("%d repeated word(s) in %s count once.", len(words) - len(distinct), path)
    return distinct


def _check_names(word: Word, where: str) -> None:
    for name in (word.word, word.topic, word.substitute or ""):
        check_name(name, where)


def check_words(words: Iterable[Word], source: str = "The list of words") -> tuple[Word, ...]:
    """Return the words without repeats within a topic; refuse fewer than two, whose normalised vector is constant."""
    by_name: dict[tuple[str, str], Word] = {}
    for word in words:
        if by_name.setdefault((word.word, word.topic), word) != word:
            raise InputError(f"{source} gives {word.word!r} ({word.topic}) two substitutes: keep one.")
    distinct = tuple(by_name.values())
    empty = [word for word in distinct if not isinstance(word.word, str) or not word.word.strip()]
    if empty:
        raise InputError(f"{source} holds something that is no word: {empty[0].word!r}.")
    for number, word in enumerate(distinct, 1):
        _check_names(word, f"{source}, word {number}")
    if len(distinct) < 2:
        raise InputError(f"{source} has {len(distinct)} word(s): a comparison needs at least two different ones.")
    return distinct
