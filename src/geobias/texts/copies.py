"""Copies of one text: the same row again, or another filling of the same template.

Copies answer alike, so the second one adds nothing to what is known of other texts: a test that counts it as a new text
finds differences where there are none. Every audit uses the first of them and counts the others.

Two texts are copies if they are equal but for names, numbers, handles, links, and upper and lower case. Names are the
spans that the audit has, and words that look like names: capitalised inside a sentence, or a listed name at its start.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from geobias.texts.people import Span
from geobias.world.gazetteer import Gazetteer, load_gazetteer

NAME = "\x00"  # stands for a name, a handle or a link; no text has this character
_UNIQUE = re.compile(r"(?:https?:|www\.)\S+|[\w.+-]{1,64}@[\w-]+\.\w+|[@＠]\w+")
_TOKEN = re.compile(rf"{NAME}|[^\W\d_]+|\d+|[^\w\s]|_")
_SENTENCE_END = frozenset('.!?…:"“”„«»()\n')


def find_first_copies(texts: Sequence[str], spans: Sequence[Sequence[Span]] | None = None) -> list[int]:
    """Return the position of every text that is no copy of an earlier one."""
    seen: set[bytes] = set()
    first = []
    for row, text in enumerate(texts):
        key = copy_key(text, () if spans is None else spans[row])
        if key not in seen:
            seen.add(key)
            first.append(row)
    return first


def copy_key(text: str, spans: Sequence[Span] = ()) -> bytes:
    """Return what copies of a text have in common, as a digest."""
    return hashlib.blake2b(_mask_fillings(text, spans).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _mask_fillings(text: str, spans: Sequence[Span]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {NAME} {text[end:]}"
    text = _UNIQUE.sub(f" {NAME} ", unicodedata.normalize("NFKC", text))
    tokens = [token for token in _TOKEN.findall(text) if not token.isdigit()]
    looks_like_name = [_looks_like_name(tokens, i) for i in range(len(tokens))]
    words = sum(token[0].isalpha() for token in tokens)
    if text.isupper() or 2 * sum(looks_like_name) > words:  # in capitals, or a headline: capitals mark no names
        looks_like_name = [False] * len(tokens)
    masked = [NAME if is_name else token.casefold() for token, is_name in zip(tokens, looks_like_name, strict=True)]
    # A name of two words and one of three fill the same place.
    kept = [token for i, token in enumerate(masked) if token != NAME or masked[i - 1 : i] != [NAME]]
    return " ".join(kept)


def _looks_like_name(tokens: Sequence[str], position: int) -> bool:
    word = tokens[position]
    if not word[0].isupper():
        return False
    if position > 0 and tokens[position - 1] not in _SENTENCE_END:
        return len(word) > 1 or not word.isascii()  # "I" is no name
    return _is_listed_name(word)


@cache
def _load_names() -> Gazetteer:
    return load_gazetteer("all")


def _is_listed_name(word: str) -> bool:
    return _load_names().is_first(word) or _load_names().is_last(word)
