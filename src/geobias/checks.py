"""Checks of what users give (numbers, names, characters), shared by files, options and the Python interface."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from geobias.errors import InputError

LONGEST_NAME = 1_000  # characters of a word, a region or a person's name
SHOWN = 60  # characters of a user's text that an error repeats
HIGHEST_SEED = 2**32 - 1  # what every random number generator here accepts
MOST_ROWS = 1_000_000_000  # texts of a file, or texts that one run scores: the scores alone take 8 GB for each label
MOST_EPOCHS, LARGEST_BATCH = 10_000, 10_000  # of a training
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_number(option: str, value: float, lowest: float, highest: float) -> None:
    """Refuse a number outside of a range, and NaN, which is outside of every range."""
    if not lowest <= value <= highest:
        raise InputError(f"{option} must be between {lowest:,} and {highest:,}, not {shorten(str(value))}.")


def check_probability(option: str, value: float | None) -> None:
    """Refuse a threshold that every probability passes, or none."""
    if value is not None and not 0 < value < 1:
        raise InputError(f"{option} must be above 0 and below 1, not {value}.")


def check_size(count: int, what: str, remedy: str) -> None:
    """Refuse a run of more texts than any machine scores."""
    if count > MOST_ROWS:
        raise InputError(f"This run would score {count:,} {what}, and {MOST_ROWS:,} is the limit: {remedy}.")


def find_unusable_character(text: str) -> str | None:
    """Describe the first character that no tokenizer and no file takes: half of a surrogate pair, or NUL."""
    match = _UNUSABLE.search(text)
    if match is None:
        return None
    if match[0] == "\0":
        return f"a NUL character at position {match.start()}"
    return f"half a character at position {match.start()} (the lone surrogate U+{ord(match[0]):04X})"


def check_characters(text: str, what: str) -> None:
    """Refuse a text with an unusable character; `what` begins the sentence."""
    problem = find_unusable_character(text)
    if problem:
        raise InputError(f"{what} has {problem}: remove it.")


def check_name(name: str, where: str) -> None:
    """Refuse a name that is too long or has control characters; `where` says which file and line, or which list."""
    if len(name) > LONGEST_NAME:
        raise InputError(
            f"{where}: {shorten(name)!r} has {len(name):,} characters, and {LONGEST_NAME:,} is the limit for a name: "
            "shorten it."
        )
    check_characters(name, f"{where}: {shorten(name)!r}")
    control = _CONTROL.search(name)
    if control:
        raise InputError(
            f"{where}: {shorten(name)!r} has a control character at position {control.start()} "
            f"(U+{ord(control[0]):04X}): remove it."
        )


def check_path(path: str) -> None:
    """Refuse a path that results.json could not name, or that no system takes."""
    if "\0" in path:
        raise InputError(f"The path '{escape(shorten(path))}' has a NUL character: remove it.")
    if _UNUSABLE.search(path):
        raise InputError(f"The path '{escape(shorten(path))}' is not valid UTF-8: rename it.")


def escape(text: str) -> str:
    """The text with control characters and undecodable bytes spelled out, so that any terminal can show it."""
    return _UNPRINTABLE.sub(lambda match: _spell(ord(match[0])), text)


def _spell(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # how Python holds a byte of a file name that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def suggest(text: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names nearest to a misspelt one, nearest first, at most `most`; difflib's similarity reaches `cutoff`."""
    return difflib.get_close_matches(text, list(known), n=most, cutoff=cutoff)


def shorten(text: str, limit: int = SHOWN) -> str:
    """The beginning of a text, with an ellipsis where something is left out."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def shorten_middle(text: str, limit: int) -> str:
    """Both ends of a text: an error names the file at its beginning and the remedy at its end."""
    if len(text) <= limit:
        return text
    head = (limit - 3) * 2 // 3
    return f"{text[:head]} … {text[len(text) - (limit - 3 - head) :]}"
