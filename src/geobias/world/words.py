"""The words that describe people: HERB's 112 in five topics, each with its substitute; or the user's own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from geobias.errors import InputError, read_text

NO_TOPIC = "words"


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
    """The user's words: one a line, or CSV with the columns word and (optionally) topic."""
    lines = read_text(path, "word file").splitlines()
    header = [cell.strip().lower() for cell in lines[0].split(",")]
    if "word" in header:
        rows = csv.DictReader(io.StringIO("\n".join([",".join(header), *lines[1:]])))
        words = [Word((row["word"] or "").strip(), (row.get("topic") or "").strip() or NO_TOPIC) for row in rows]
    else:
        words = [Word(line.strip()) for line in lines]
    return checked([word for word in words if word.word], f"The word file {path}")


def checked(words: Iterable[Word], source: str = "The list of words") -> tuple[Word, ...]:
    """Words without repeats within a topic; at least two, since a normalised vector of one number says nothing."""
    distinct = tuple(dict.fromkeys(words))
    if len(distinct) < 2:
        raise InputError(f"{source} has {len(distinct)} word(s): a comparison needs at least two different ones.")
    return distinct
