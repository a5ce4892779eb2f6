"""Checks of what users give (numbers, names, characters), shared by files, options and the Python interface."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Sequence

from geobias.errors import InputError

LONGEST_NAME = 1_000  # characters of a word, a region or a person's name
SHOWN = 60  # characters of a user's text that an error repeats
MOST_LISTED = 20  # valid values that an error lists
LETTERS_PER_EDIT = 4  # letters of a misspelt name for which a suggestion may differ by one more edit
HIGHEST_SEED = 2**32 - 1  # what every random number generator here accepts
MOST_ROWS = 1_000_000_000  # texts of a file, or texts that one run scores: the scores alone take 8 GB for each label
MOST_CITIES = 100_000  # per country: more than the world has
MOST_EPOCHS = 10_000  # of a training
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def need(*packages: str, extra: str, user: str) -> None:
    """Refuse what the user asks for if a package of an extra, which it needs, is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise InputError(f"{user} needs the package {package}: pip install '.[{extra}]'.")


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
        raise InputError(f"This run would score {count:,} {what}; the limit is {MOST_ROWS:,}. {remedy}.")


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
    if problem := find_unusable_character(text):
        raise InputError(f"{what} has {problem}: remove it.")


def check_name(name: str, where: str) -> None:
    """Refuse a name that is too long or has control characters; `where` says which file and line, or which list."""
    subject = f"{where}: {shorten(name)!r}"
    if len(name) > LONGEST_NAME:
        raise InputError(
            f"{subject} has {len(name):,} characters; the limit for a name is {LONGEST_NAME:,}. Shorten it."
        )
    check_characters(name, subject)
    if control := _CONTROL.search(name):
        code = f"U+{ord(control[0]):04X}"
        raise InputError(f"{subject} has a control character at position {control.start()} ({code}): remove it.")


def escape(text: str) -> str:
    """The text with control characters and undecodable bytes spelled out, so that any terminal can show it."""

    def spell(match: re.Match[str]) -> str:
        code = ord(match[0])
        if 0xDC80 <= code <= 0xDCFF:  # how Python holds a byte of a file name that is not UTF-8
            code -= 0xDC00
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return _UNPRINTABLE.sub(spell, text)


def suggest(text: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """The names nearest to a misspelt one, at most `most` that are equally near: one edit for every four letters.

    Shorter texts get no suggestion: one edit turns a code into many others.
    """
    limit = len(text) // LETTERS_PER_EDIT
    similar = [name for name in known if limit and abs(len(name) - len(text)) <= limit]
    distances = {name: _edit_distance(text, name) for name in similar}
    nearest = min(distances.values(), default=limit + 1)
    return [name for name, distance in distances.items() if distance == nearest <= limit][:most]


def describe_choices(value: str, valid: Iterable[str], label: str = "Choose from") -> str:
    """End the error about an unknown value: the nearest valid value, if one is near, and the list of valid values."""
    names = list(valid)
    originals = {name.casefold(): name for name in names}
    near = suggest(value.casefold(), originals)
    hint = f"Did you mean {originals[near[0]]!r}? " if near else ""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"{hint}{label}: {', '.join(map(shorten, names[:MOST_LISTED])) or 'none'}{more}."


def _edit_distance(first: str, second: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other."""
    before_last, last = [0], list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        row = [i]
        for k, other in enumerate(second, start=1):
            row.append(min(last[k] + 1, row[k - 1] + 1, last[k - 1] + (letter != other)))
            if i > 1 and k > 1 and letter == second[k - 2] and first[i - 2] == other:
                row[k] = min(row[k], before_last[k - 2] + 1)
        before_last, last = last, row
    return last[-1]


def shorten(text: str, limit: int = SHOWN) -> str:
    """The beginning of a text, with an ellipsis where something is left out."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def shorten_middle(text: str, limit: int) -> str:
    """Both ends of a text: an error names the file at its beginning and the remedy at its end."""
    if len(text) <= limit:
        return text
    head = (limit - 3) * 2 // 3
    return f"{text[:head]} … {text[len(text) - (limit - 3 - head) :]}"


def split_list(names: str | Sequence[str], option: str) -> list[str]:
    """A list of names, or one string of them with commas between; an empty string is refused (an unset variable)."""
    if not isinstance(names, str):
        return list(names)
    parts = [name.strip() for name in names.split(",") if name.strip()]
    if not parts:
        raise InputError(f"{option} is empty. Add at least one value, or remove it.")
    return parts


def parse_city_count(cities: int | str, *, fewest: int = 0) -> int | None:
    """How many cities of each country; None for all of them."""
    if cities == "all":
        return None
    try:
        count = int(cities)
    except (TypeError, ValueError):
        raise InputError(f"--cities must be a number or 'all', not {shorten(str(cities))!r}.") from None
    check_number("--cities", count, fewest, MOST_CITIES)
    return count
