"""Word vectors in text form (word2vec's with a first line of counts, GloVe's without): the nearest neighbour of a word.

The file is read twice and never held: once for the vectors of the given words, once to compare all others
with them. Files of this kind have gigabytes.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from geobias.errors import InputError

WORDS_AT_ONCE = 20_000
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")  # letters; files also list marks, and words with marks at their ends


def nearest_words(path: Path, words: Sequence[str]) -> dict[str, str]:
    """For each word that the file has, the other word whose vector is nearest (cosine); capitals make no other word."""
    folded = {word.casefold() for word in words}
    known: dict[str, np.ndarray] = {}
    for listed, vectors in _read_blocks(path):
        for word, vector in zip(listed, vectors, strict=True):
            if word.casefold() in folded:
                known.setdefault(word.casefold(), vector)
    targets = [word for word in dict.fromkeys(words) if word.casefold() in known]
    if not targets:
        raise InputError(
            f"The vector file {path} has none of the {len(folded)} words. Check the file and its language."
        )
    queries = _normalize(np.array([known[word.casefold()] for word in targets]))
    best = np.full(len(targets), -np.inf)
    nearest = [""] * len(targets)
    for listed, vectors in _read_blocks(path):
        similarity = queries @ _normalize(vectors).T
        position: dict[str, list[int]] = {}
        for i, word in enumerate(listed):
            position.setdefault(word.casefold(), []).append(i)
        similarity[:, [not WORD.fullmatch(word) for word in listed]] = -np.inf
        for t, target in enumerate(targets):
            similarity[t, position.get(target.casefold(), [])] = -np.inf
        positions = similarity.argmax(axis=1)
        for t in np.flatnonzero(similarity.max(axis=1) > best).tolist():
            best[t], nearest[t] = similarity[t, positions[t]], listed[int(positions[t])]
    neighbours = {target: other for target, other in zip(targets, nearest, strict=True) if other}
    if not neighbours:
        raise InputError(f"The vector file {path} has no word to substitute. Use a larger file.")
    return neighbours


def _read_blocks(path: Path) -> Iterator[tuple[list[str], np.ndarray]]:
    """Words and their vectors, many at a time."""
    words: list[str] = []
    rows: list[list[str]] = []
    size = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                cells = line.split()
                if number == 1 and len(cells) == 2 and cells[0].isdigit():
                    continue  # word2vec's line of counts
                size = size or len(cells) - 1
                if size < 1 or len(cells) <= size:
                    raise InputError(
                        f"The vector file {path} does not have {max(size, 1)} numbers in line {number}. Fix the line."
                    )
                words.append(" ".join(cells[:-size]))  # a few files have words with blanks
                rows.append(cells[-size:])
                if len(words) == WORDS_AT_ONCE:
                    yield words, _parse_numbers(path, rows)
                    words, rows = [], []
    except FileNotFoundError:
        raise InputError(f"The vector file {path} does not exist. Check the path.") from None
    except UnicodeDecodeError:
        raise InputError(
            f"The vector file {path} is not UTF-8 text. Use the text format of word2vec or GloVe."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"Cannot read the vector file {path}: {reason}.") from None
    if words:
        yield words, _parse_numbers(path, rows)
    elif not size:
        raise InputError(f"The vector file {path} has no vectors.")


def _parse_numbers(path: Path, rows: list[list[str]]) -> np.ndarray:
    try:
        numbers = np.array(rows, dtype=np.float32)
    except ValueError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise InputError(
            f"The vector file {path} has a value that is not a number. Use the text format of word2vec or GloVe."
        )
    return numbers


def _normalize(vectors: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms == 0, 1, norms)
