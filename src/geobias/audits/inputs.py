"""What a user gave, as several audits read it: texts, lists of names, a number of cities."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.checks import MOST_ROWS, check_number, shorten
from geobias.errors import InputError
from geobias.texts.user_texts import Texts, join_texts, read_texts, sample_texts

MOST_CITIES = 100_000  # of a country: more than the world has
SAMPLE = 100  # of the tweets inside, where no texts are given and no limit is set


def given_texts(
    source: Any,
    *,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    subsets: str | Sequence[str] = (),
    limit: int | None = None,
    entity: str = "person",
    sample: int = SAMPLE,
) -> Texts:
    """The user's texts, {language: texts} or not; without any the first tweets inside that name such an entity."""
    if limit is not None:
        check_number("--limit", limit, 1, MOST_ROWS)
    if source is None:
        options = {"--column": column != "text", "--spans": spans, "--label": label, "--subset": subsets}
        for option in (option for option, given in options.items() if given):
            raise InputError(f"{option} names a column of texts of your own: give --texts.")
        return sample_texts(entity).head(limit or sample)
    subsets = [subsets] if isinstance(subsets, str) else subsets
    parts = source.items() if isinstance(source, Mapping) else [("", source)]
    read = [
        read_texts(part, column=column, spans=spans, label=label, subsets=subsets, language=language)
        for language, part in parts
    ]
    found = join_texts([part.head(limit) if limit else part for part in read])
    if len(set(found.languages)) > 1 and "language" in found.groups:
        raise InputError("The languages that --texts names are a subset already: leave out --subset language.")
    return found


def sources(given: Sequence[str] | None) -> dict[str, Path] | None:
    """FILE, or several LANGUAGE=FILE; a file whose name has a "=" is still a file."""
    if not given:
        return None
    tagged: dict[str, Path] = {}
    for text in given:
        language, found, path = text.partition("=")
        if not found or os.path.exists(text):  # which is False for a name too long to be a file's
            language, path = "", text
        if language in tagged:
            raise InputError("Several --texts need a language each, for example: --texts en=a.csv --texts eu=b.csv.")
        tagged[language] = Path(path)
    return tagged


def listed(names: str | Sequence[str], option: str) -> list[str]:
    """Names given one by one, or as one text with commas; a text without a name is a slip (an unset variable)."""
    if not isinstance(names, str):
        return list(names)
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise InputError(f"{option} is empty: leave it out, or name at least one.")
    return found


def city_count(cities: int | str, *, fewest: int = 0) -> int | None:
    """How many cities of each country; None for all of them."""
    if cities == "all":
        return None
    try:
        count = int(cities)
    except (TypeError, ValueError):
        raise InputError(f"--cities takes a number or 'all', not {shorten(str(cities))!r}.") from None
    check_number("--cities", count, fewest, MOST_CITIES)
    return count
