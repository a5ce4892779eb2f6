"""Two small runs: the names audit of a function that answers with labels, and the regions audit of a function."""

from __future__ import annotations

import zlib
from pathlib import Path

import geobias

WORDS = ("negative", "neutral", "positive")
LABELS = ",".join(WORDS)
COUNTRIES = ["ES", "FR", "KE", "MA"]
REGIONS = ["DE", "ES", "FR", "GH", "KE", "NG"]
DRAWS = 4
TEXTS = [
    *("Mary was late again.", "Thanks, John!", "Emma called.", "Peter left.", "Where is Anna?", "David won."),
    *("Laura is here.", "I met Paul.", "James lost.", "Sarah wrote to me.", "Robert sings.", "Call Linda."),
    *("Michael waits.", "Susan paints.", "We saw Karen.", "Thomas moved."),
]


def judge(texts: list[str]) -> list[str]:
    """A label that depends on every letter of the text."""
    return [WORDS[zlib.crc32(text.encode()) % len(WORDS)] for text in texts]


def answer(prompts: list[str]) -> list[str]:
    """An answer in words that depends on every letter of the prompt; one in eleven decides nothing."""
    return [_answer_question(prompt, zlib.crc32(prompt.encode())) for prompt in prompts]


def _answer_question(prompt: str, number: int) -> str:
    if number % 11 == 0:
        return "I cannot say."
    if "one number" in prompt:
        return str(1 + number % 9)
    return ("A" if number % 2 else "B") if "A or B" in prompt else ("Yes." if number % 2 else "No, I would not.")


def guess(texts: list[str]) -> list[float]:
    """A log-likelihood that depends on every letter of the text."""
    return [-10 - zlib.crc32(text.encode()) % 1000 / 100 for text in texts]


def save_names(folder: Path) -> geobias.NamesResult:
    return geobias.audit_names(
        judge,
        TEXTS,
        labels=LABELS,
        countries=COUNTRIES,
        draws=DRAWS,
        out=folder,
        progress=False,
    )


def save_regions(folder: Path) -> geobias.RegionsResult:
    return geobias.audit_regions(
        guess, cities=0, countries=REGIONS, placebo=False, paraphrases=0, out=folder, progress=False
    )
