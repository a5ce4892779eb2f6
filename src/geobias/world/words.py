"""The words that describe people: HERB's 112 in five topics, each with its substitute; or the user's own."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

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
    lines = [line for line in read_text(path, "word file").splitlines() if line.strip()]
    for delimiter in (",", ";", "\t"):
        rows = list(csv.reader(lines, delimiter=delimiter))
        header = [cell.strip().lower() for cell in rows[0]]
        if "word" in header:
            table = [dict(zip(header, row, strict=False)) for row in rows[1:]]
            words = [
                Word(
                    row["word"].strip(),
                    row.get("topic", "").strip() or NO_TOPIC,
                    row.get("substitute", "").strip() or None,
                )
                for row in table
                if row.get("word")
            ]
            break
    else:
        if any(mark in lines[0] for mark in ',;\t"'):
            raise InputError(f"The word file {path} has no column 'word': its first line is {lines[0]!r}.")
        words = [Word(line.strip()) for line in lines]
    distinct = checked(words, f"The word file {path}")
    if len(distinct) < len(words):
        log.warning("%d repeated word(s) in %s count once.", len(words) - len(distinct), path)
    return distinct


def checked(words: Iterable[Word], source: str = "The list of words") -> tuple[Word, ...]:
    """Words without repeats within a topic; at least two, since a normalised vector of one number says nothing."""
    by_name: dict[tuple[str, str], Word] = {}
    for word in words:
        if by_name.setdefault((word.word, word.topic), word) != word:
            raise InputError(f"{source} gives {word.word!r} ({word.topic}) two substitutes: keep one.")
    distinct = tuple(by_name.values())
    empty = [word for word in distinct if not isinstance(word.word, str) or not word.word.strip()]
    if empty:
        raise InputError(f"{source} holds something that is no word: {empty[0].word!r}.")
    if len(distinct) < 2:
        raise InputError(f"{source} has {len(distinct)} word(s): a comparison needs at least two different ones.")
    return distinct
